"""Everything from a config file: budget, model, strategy. A mistake in it is named with its path."""

from pathlib import Path

from ctxkit import ConfigError, ContextManager

here = Path(__file__).parent
context = ContextManager.from_config(here / "budget.toml")
print(context.budget.limit, context.strategy.kind)
print([step.kind for step in context.strategy.steps])

other = ContextManager.from_config(here / "budget.toml", strategy="drop-oldest")
print(other.strategy.kind)

settings = {
    "budget": {"window": 8_000, "reply": 1_000},
    "strategy": {"kind": "hybrid", "steps": ["drop-media", {"kind": "sliding-window", "keep_turn": 6}]},
}
try:
    ContextManager.from_config(settings)
except ConfigError as error:
    print(error)

# prints:
# 4100 hybrid
# ['keep-key-facts', 'drop-reasoning', 'drop-media', 'digest-tool-results', 'trim-tool-results', 'drop-oldest']
# drop-oldest
# strategy.steps.1.keep_turn: unknown key; did you mean keep_turns?
