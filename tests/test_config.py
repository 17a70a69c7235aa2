"""Config: files and dicts read into it, its errors, its round trip, its schema."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from ctxkit import (
    Budget,
    CompressionStrategy,
    ConfigError,
    ContextManager,
    Plan,
    Services,
    Session,
    UnknownPluginError,
    View,
)
from ctxkit.config import PUT_IN, SESSION_ARGUMENTS, Config, dump, dumps, load, schema
from ctxkit.config_files import FileFormat
from ctxkit.registry import AnyStrategy, installed, strategy_class, strategy_of
from ctxkit.strategies.drop_oldest import DropOldest

STEPS = {
    "kind": "first-that-fits",
    "steps": [{"kind": "drop-oldest"}, {"kind": "sliding-window", "keep_turns": 6}],
}
BUDGET = {"window": 8_000, "reply": 1_000}
PLAIN: dict[str, Any] = {"budget": BUDGET, "strategy": "drop-oldest"}
TOML = """
format = "anthropic"
[budget]
window = 8_000
reply = 1_000
regions = { system = 500, recent = 0.5 }
[strategy]
kind = "first-that-fits"
steps = ["drop-oldest", { kind = "sliding-window", keep_turns = 6 }]
"""
YAML = """
format: anthropic
budget: {window: 8000, reply: 1000, regions: {system: 500, recent: 0.5}}
strategy:
  kind: first-that-fits
  steps: [drop-oldest, {kind: sliding-window, keep_turns: 6}]
"""
EXPECTED = {
    "format": "anthropic",
    "budget": {**BUDGET, "regions": {"system": {"max": 500}, "recent": {"max": 0.5}}},
    "strategy": STEPS,
}


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _error(source: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(source)
    return caught.value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ctxkit.toml", TOML),
        ("ctxkit.yaml", YAML),
        ("ctxkit.YML", YAML),
        ("ctxkit.json", json.dumps(EXPECTED)),
        ("bom.json", "\ufeff" + json.dumps(EXPECTED)),
    ],
)
def test_every_file_format_reads_the_same(tmp_path: Path, name: str, text: str) -> None:
    assert load(_file(tmp_path, name, text)) == load(EXPECTED)
    assert load(str(tmp_path / name)).format == "anthropic"


def test_a_pyproject_is_read_by_its_table_and_found_in_its_directory(tmp_path: Path) -> None:
    text = TOML.replace("[budget]", "[tool.ctxkit.budget]").replace("[strategy]", "[tool.ctxkit.strategy]")
    _file(tmp_path, "pyproject.toml", "[project]\nname = 'x'\n[tool.ctxkit]" + text)
    assert load(tmp_path) == load(tmp_path / "pyproject.toml") == load(EXPECTED)


def test_a_pyproject_without_the_table_says_so(tmp_path: Path) -> None:
    file = _file(tmp_path, "pyproject.toml", "[tool]\nctxkit = 3\n")
    assert str(_error(tmp_path)) == f"{file} has no table [tool.ctxkit]"


def test_errors_in_a_pyproject_have_the_path_in_the_file(tmp_path: Path) -> None:
    file = _file(tmp_path, "pyproject.toml", "[tool.ctxkit.budget]\nwindow = 10\nreplay = 3\n")
    error = _error(file)
    assert error.path == "tool.ctxkit.budget.replay"
    assert str(error).startswith("tool.ctxkit.budget.replay: unknown key; did you mean reply?")
    assert str(error).endswith(f"(in {file})")


class Numbered(CompressionStrategy):
    """A strategy of a plugin with tables by number."""

    kind: Literal["numbered"] = "numbered"
    names: dict[int, str] = Field(default_factory=dict)
    depths: dict[str, dict[int, int]] = Field(default_factory=dict)
    steps: dict[int, AnyStrategy] = Field(default_factory=dict)

    def plan(self, view: View, services: Services) -> Plan:
        return Plan()


NUMBERED = {
    "kind": "numbered",
    "names": {"1": "one"},
    "depths": {"a": {"-2": 3}},
    "steps": {"4": "drop-oldest"},
}
AS_TOML = """
[budget]
window = 9
[strategy]
kind = "numbered"
names = { 1 = "one" }
depths = { a = { -2 = 3 } }
steps = { 4 = "drop-oldest" }
"""


@pytest.fixture
def numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installs it beside the others."""

    def class_of(kind: str, path: str = "") -> type[CompressionStrategy]:
        return Numbered if kind == "numbered" else strategy_class(kind, path)

    monkeypatch.setattr("ctxkit.registry.strategy_class", class_of)


@pytest.mark.usefixtures("numbered")
def test_keys_of_tables_may_be_numbers_though_files_have_texts(tmp_path: Path) -> None:
    meant = Numbered(names={1: "one"}, depths={"a": {-2: 3}}, steps={4: DropOldest()})
    as_json = json.dumps({"budget": {"window": 9}, "strategy": NUMBERED})
    formats: dict[FileFormat, str] = {"json": as_json, "toml": AS_TOML}
    for format, text in formats.items():
        config = load(_file(tmp_path, f"read.{format}", text))
        assert config.strategy == meant
        assert load(_file(tmp_path, f"written.{format}", dumps(config, format))) == config
    assert dump(load({"budget": {"window": 9}, "strategy": meant}))["strategy"]["steps"] == {
        "4": {"kind": "drop-oldest"}
    }


@pytest.mark.usefixtures("numbered")
@pytest.mark.parametrize(
    ("table", "path", "said"),
    [
        ({"names": {"1": 2}}, "strategy.names.1", "should be a valid string, found 2"),
        ({"depths": {"a": {"2": "3"}}}, "strategy.depths.a.2", "should be a valid integer, found '3'"),
        ({"names": {"one": "1"}}, "strategy.names.one", "should be a valid integer, found 'one'"),
    ],
)
def test_what_stands_at_such_a_key_is_what_it_is(table: dict[str, Any], path: str, said: str) -> None:
    error = _error({"budget": {"window": 9}, "strategy": {"kind": "numbered", **table}})
    assert str(error) == f"{path}: {said}"


@pytest.mark.parametrize("names", [["a", "b"], ("a", "b")], ids=["list", "tuple"])
def test_plugins_are_a_list_or_a_tuple(names: Any) -> None:
    config = load({**PLAIN, "plugins": names})
    assert config.plugins == ["a", "b"]
    assert load(dump(config)) == config
    assert str(_error({**PLAIN, "plugins": "ab"})) == "plugins: should be a list, found 'ab'"
    assert str(_error({**PLAIN, "plugins": ("a", 3)})) == "plugins.1: should be a valid string, found 3"


def test_a_model_brings_its_budget() -> None:
    config = load({"model": "gpt-5", "strategy": "drop-oldest"})
    assert config.budget == Budget.for_model("gpt-5")


def test_a_model_fills_in_the_window_of_a_budget() -> None:
    known = Budget.for_model("gpt-5")
    config = load({"model": "gpt-5", "budget": {"compact_at": 9_000}, "strategy": "drop-oldest"})
    assert config.budget == known.model_copy(update={"compact_at": 9_000})


def test_overrides_win_and_merge_into_the_budget(tmp_path: Path) -> None:
    file = _file(tmp_path, "a.toml", TOML)
    config = load(file, overrides={"format": "gemini", "budget": {"window": 9_000}})
    assert (config.format, config.budget.window, config.budget.reply) == ("gemini", 9_000, 1_000)


def test_the_manager_has_the_settings_and_overrides_win() -> None:
    config = load({**PLAIN, "strict": True})
    assert config.manager().strategy == strategy_of("drop-oldest")
    assert config.manager().budget == Budget.model_validate(BUDGET)
    other = config.manager(strategy="sliding-window", budget=Budget(window=10))
    assert (other.strategy.kind, other.budget.window) == ("sliding-window", 10)


def test_a_context_manager_reads_a_config_file(tmp_path: Path) -> None:
    manager = ContextManager.from_config(_file(tmp_path, "a.toml", TOML), format="openai-chat")
    manager.add({"role": "user", "content": "hi"})
    assert manager.prepare_sync().report.format == "openai-chat"


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"budget": {"window": 10, "replly": 3}}, "budget.replly", "unknown key; did you mean reply?"),
        ({"budget": {"window": "x"}}, "budget.window", "should be a valid integer"),
        ({"budget": {"reply": 3}}, "budget.window", "missing"),
        ({"budget": 3}, "budget", "should be a table, found 3"),
        ({"budget": {"window": 9, "regions": {"system": 0}}}, "budget.regions.system", "found 0"),
        (
            {"budget": {"window": 9, "regions": {"system": {"maxx": 3}}}},
            "budget.regions.system.maxx",
            "unknown key; did you mean max?",
        ),
        ({"stratgy": "x"}, "stratgy", "unknown key; did you mean strategy?"),
        (
            {"qqqqqq": 1},
            "qqqqqq",
            "known keys: budget, format, model, plugins, reasoning, repair, store, strategy, strict",
        ),
        ({"format": "antropic"}, "format", "found 'antropic'; did you mean anthropic?"),
        ({"strategy": "drop-oldst"}, "strategy", "did you mean drop-oldest?"),
        ({"strategy": {"kind": "drop-oldst"}}, "strategy.kind", "did you mean drop-oldest?"),
        ({"strategy": {}}, "strategy.kind", "it is missing"),
        ({"strategy": {"kind": 3}}, "strategy.kind", "found 3"),
        ({"strategy": 3}, "strategy", "not 3"),
        (
            {"strategy": {"kind": "first-that-fits", "steps": 3}},
            "strategy.steps",
            "should be a list, found 3",
        ),
        ({"strict": "perhaps"}, "strict", "should be true or false, found 'perhaps'"),
        ({"strict": "yes"}, "strict", "should be true or false, found 'yes'"),
        ({"repair": 1}, "repair", "should be true or false, found 1"),
        (
            {"budget": {"window": 9, "regions": {"system": {"max": "3"}}}},
            "budget.regions.system.max",
            "should be a valid integer or a valid number, found '3'",
        ),
        (
            {"budget": {"window": 9, "regions": {"system": {"max": 3, "priority": True}}}},
            "budget.regions.system.priority",
            "should be a valid integer, found True",
        ),
        (
            {"strategy": {"kind": "first-that-fits", "steps": []}},
            "strategy.steps",
            "should have at least 1 item, found []",
        ),
        (
            {"strategy": {"kind": "selective", "markers": [""]}},
            "strategy.markers.0",
            "should have at least 1 character, found ''",
        ),
        *(
            (
                {"budget": {"window": 9, "regions": {"system": {"max": value}}}},
                "budget.regions.system.max",
                f"should be a whole number from 1, or a share above 0 and up to 1, found {value}",
            )
            for value in (2.5, -3, 0, -0.5)
        ),
        (
            {"strategy": {"kind": "summarize", "max_tokens": 1.5}},
            "strategy.max_tokens",
            "should be a whole number from 1, or a share above 0 and up to 1, found 1.5",
        ),
        ({"strategy": "trim"}, "strategy", "is installed; did you mean trim-tool-results? ("),
        ({"strategy": "tool_results"}, "strategy", "did you mean trim-tool-results? ("),
        ({"strategy": "drop"}, "strategy", "did you mean drop-media or drop-oldest or drop-reasoning? ("),
        ({"model": "gpt-nine", "budget": {}}, "model", "no preset for the model 'gpt-nine'"),
        ({"budget": {}}, "budget", "missing; give its `window` and `reply`, or a `model`"),
        (
            {"budget": {"window": 9, "max_tokens": 9}},
            "budget.max_tokens",
            "unknown key; did you mean window (input and reply together) or reply?",
        ),
        (
            {"budget": {"window": 9, "regions": {"system": "10%"}}},
            "budget.regions.system",
            "should be tokens such as 500, a share such as 0.1, or a table, found '10%'",
        ),
        *(
            (
                {"budget": {"window": 9, name: 0.8}},
                f"budget.{name}",
                "is given in tokens, not as a share (0.8)",
            )
            for name in ("window", "reply", "compact_at", "aim_for", "min_gain")
        ),
        (
            {"strategy": ["drop-media", "drop-oldest"]},
            "strategy",
            "not ['drop-media', 'drop-oldest']; steps in a row are {'kind': 'hybrid', 'steps': [...]}",
        ),
        (
            {"strategy": {"steps": ["drop-oldest"]}},
            "strategy.kind",
            "it is missing; steps in a row are of kind 'hybrid'",
        ),
        (
            {"strategy": {"kind": "summarize", "model": {"name": "a", "base_url": "localhost:80"}}},
            "strategy.model.base_url",
            "should begin with http:// or https://, found 'localhost:80'",
        ),
        *(
            (
                settings,
                path,
                "unknown key; a key never stands in a config: put it into an environment variable",
            )
            for settings, path in (
                ({"api_key": "sk-1"}, "api_key"),
                ({"strategy": {"kind": "summarize", "api_key": "sk-1"}}, "strategy.api_key"),
                (
                    {"strategy": {"kind": "summarize", "model": {"name": "a", "api_key": "sk-1"}}},
                    "strategy.model.api_key",
                ),
            )
        ),
    ],
)
def test_errors_say_where_and_what(change: dict[str, Any], path: str, said: str) -> None:
    error = _error({**PLAIN, **change})
    assert error.path == path
    assert str(error).startswith(f"{path}: ")
    assert said in str(error)


@pytest.mark.parametrize(
    ("step", "path", "said"),
    [
        (
            {"kind": "sliding-window", "keep_turn": 3},
            "strategy.steps.1.keep_turn",
            "unknown key; did you mean keep_turns?",
        ),
        ({"kind": "sliding-window", "keep_turns": 0}, "strategy.steps.1.keep_turns", "found 0"),
        ({"kind": "sliding-windw"}, "strategy.steps.1.kind", "did you mean sliding-window?"),
        ("sliding-windw", "strategy.steps.1", "did you mean sliding-window?"),
        (
            {"kind": "first-that-fits", "steps": ["drop-oldest", {"kind": "drop-oldest", "x": 1}]},
            "strategy.steps.1.steps.1.x",
            "unknown key",
        ),
    ],
)
def test_errors_in_steps_have_the_whole_path(step: Any, path: str, said: str) -> None:
    error = _error({**PLAIN, "strategy": {"kind": "first-that-fits", "steps": ["drop-oldest", step]}})
    assert error.path == path
    assert said in str(error)


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"window": 9}, "window", "it belongs into [budget]"),
        (
            {"budget": {"window": 9, "strict": True}},
            "budget.strict",
            "it belongs at the top, above all tables",
        ),
        ({"strategy": {"kind": "drop-oldest", "window": 9}}, "strategy.window", "it belongs into [budget]"),
        (
            {"strategy": {"kind": "hybrid", "steps": [{"kind": "drop-oldest", "window": 9}]}},
            "strategy.steps.0.window",
            "it belongs into [budget]",
        ),
        ({"profile": 300}, "profile", "it is a region: it belongs into [budget.regions]"),
        ({"budget": {"window": 9, "min": 3}}, "budget.min", "it belongs to a region in [budget.regions]"),
        (
            {"budget": {"window": 9, "regions": {"system": {"max": 3, "reply": 1}}}},
            "budget.regions.system.reply",
            "it belongs into [budget]",
        ),
        ({"reanchor_every": 3}, "reanchor_every", f"it is a parameter of summarize{PUT_IN}"),
        ({"budget": {"window": 9, "focus": ""}}, "budget.focus", f"it is a parameter of summarize{PUT_IN}"),
        ({"timeout_s": 3}, "timeout_s", f"every strategy has it{PUT_IN}"),
        ({"retries": 3}, "retries", "it belongs to the `model` of summarize"),
        (
            {"strategy": {"kind": "summarize", "api_key_env": "KEY"}},
            "strategy.api_key_env",
            "it belongs to the `model` of summarize",
        ),
        (
            {"budget": {"window": 9, "model": "x"}},
            "budget.model",
            f"it belongs at the top, above all tables, or it is a parameter of summarize{PUT_IN}",
        ),
        (
            {"ask": "me"},
            "ask",
            "it is an argument of ContextManager and Session.open in Python, and cannot stand in a config",
        ),
        ({"counter": 3}, "counter", "an argument of ContextManager and Session.open in Python"),
        ({"background": True}, "background", "it is an argument of Session.open in Python"),
        ({"budget": {"window": 9, "snapshots": 1}}, "budget.snapshots", "argument of Session.open in Python"),
    ],
)
def test_a_key_in_the_wrong_place_is_told_where_it_belongs(
    change: dict[str, Any], path: str, said: str
) -> None:
    error = _error({**PLAIN, **change})
    assert error.path == path
    first = str(error).split("\n")[0]
    assert first.startswith(f"{path}: unknown key; ")
    assert said in first
    assert first.endswith(PUT_IN) is said.endswith(PUT_IN)
    assert "did you mean" not in first
    assert "known keys" not in first


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ({"steps": []}, ("fallback", "first-that-fits", "hybrid")),
        ({"budget": {"window": 9, "keep_turns": 3}}, ("drop-reasoning", "sliding-window", "summarize")),
    ],
)
def test_a_parameter_outside_of_a_strategy_is_told_whose_it_is(
    change: dict[str, Any], kinds: tuple[str, ...]
) -> None:
    told = str(_error({**PLAIN, **change}))
    _, _, named = told.partition(": unknown key; it is a parameter of ")
    assert set(kinds) <= set(named.removesuffix(PUT_IN).split(", "))
    assert named.endswith(PUT_IN)


def test_a_key_that_is_near_none_is_not_said_to_be_meant() -> None:
    told = str(_error({**PLAIN, "strategy": {"kind": "sliding-window", "steps": ["drop-oldest"]}}))
    assert told.startswith(
        "strategy.steps: unknown key; it is a parameter of fallback, first-that-fits, hybrid"
    )
    assert "did you mean" not in told


def test_a_parameter_of_another_strategy_is_told_whose_it_is_and_what_may_be_meant() -> None:
    told = str(_error({**PLAIN, "strategy": {"kind": "sliding-window", "keep": 3}}))
    assert told.startswith("strategy.keep: unknown key; it is a parameter of clear-tool-results, ")
    assert told.endswith("; did you mean keep_turns?")


def test_each_key_in_the_wrong_place_is_told_and_the_file_too(tmp_path: Path) -> None:
    text = "window = 9\n[tool]\n[budget]\nwindow = 8\nstrict = true\n[strategy]\nkind = 'drop-oldest'\nstore = ''\n"
    file = _file(tmp_path, "a.toml", text)
    error = _error(file)
    assert error.path == "window"
    known = "budget, format, model, plugins, reasoning, repair, store, strategy, strict"
    assert str(error).split("\n") == [
        f"window: unknown key; it belongs into [budget] (in {file})",
        f"  also wrong: tool: unknown key; known keys: {known}",
        "  also wrong: budget.strict: unknown key; it belongs at the top, above all tables",
        "  also wrong: strategy.store: unknown key; it belongs at the top, above all tables",
    ]


@pytest.mark.parametrize("model", [{}, {"model": "my-model"}])
def test_a_window_at_the_top_is_told_before_the_budget_that_lacks_it(model: dict[str, str]) -> None:
    assert str(_error({**model, "window": 8_000})).split("\n") == [
        "window: unknown key; it belongs into [budget]",
        "  also wrong: budget: missing; it has to be given",
    ]


def test_beside_a_known_model_it_is_all_that_is_wrong() -> None:
    told = str(_error({"model": "gpt-5", "window": 8_000}))
    assert told == "window: unknown key; it belongs into [budget]"


def test_what_only_a_session_takes_is_what_its_signature_says() -> None:
    given = {"id", "store", "settings"}
    assert set(SESSION_ARGUMENTS) == set(signature(Session.open).parameters) - given


def test_every_mistake_has_its_line_with_its_whole_path(tmp_path: Path) -> None:
    steps = [{"kind": "drop-oldst"}, {"kind": "sliding-window", "keep_turn": 6, "keep_turns": 0}]
    settings = {
        "budget": {"window": 9, "replly": 1},
        "strict": "x",
        "strategy": {"kind": "hybrid", "steps": steps},
    }
    file = _file(tmp_path, "a.json", json.dumps(settings))
    first, *others = str(_error(file)).split("\n")
    assert first == f"budget.replly: unknown key; did you mean reply? (in {file})"
    assert [line.split(": ")[:2] for line in others] == [
        ["  also wrong", "strategy.steps.0.kind"],
        ["  also wrong", "strategy.steps.1.keep_turn"],
        ["  also wrong", "strategy.steps.1.keep_turns"],
        ["  also wrong", "strict"],
    ]
    assert "did you mean drop-oldest?" in others[0]
    assert others[1].endswith("unknown key; did you mean keep_turns?")
    assert "found 0" in others[2]


def test_an_unknown_kind_keeps_its_type_and_names(tmp_path: Path) -> None:
    file = _file(tmp_path, "a.json", json.dumps({**PLAIN, "strategy": {"kind": "nope"}}))
    with pytest.raises(UnknownPluginError) as caught:
        load(file)
    assert caught.value.name == "nope"
    assert "drop-oldest" in caught.value.installed
    assert caught.value.path == "strategy.kind"


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"window": 10, "reply": 10}, "reply (10) must be smaller than window (10)"),
        ({"window": 10, "compact_at": 11}, "compact_at (11) is above"),
        ({"window": 10, "aim_for": 11}, "aim_for (11) is above"),
        ({"window": 10, "regions": {"a": {"max": 9, "min": 6}, "b": {"max": 9, "min": 6}}}, "add up to 12"),
        ({"window": 10, "regions": {"a": {"max": 2, "min": 3}}}, "min (3) is above max (2)"),
    ],
)
def test_contradictory_budgets_are_refused(budget: dict[str, Any], said: str) -> None:
    error = _error({**PLAIN, "budget": budget})
    assert error.path == "budget"
    assert said in str(error)


SAMPLES = {"integer": 2, "number": 0.5, "boolean": True, "string": "2", "array": [], "object": {"x": "y"}}
NEEDED: dict[str, dict[str, Any]] = {
    "first-that-fits": {"steps": ["drop-oldest"]},
    "within": {"region": "recent", "strategy": "drop-oldest"},
}


def _types(schema: dict[str, Any]) -> set[str]:
    """The JSON types that a parameter may have, "$ref" for one that has a schema of its own."""
    if "anyOf" in schema:
        return {each for choice in schema["anyOf"] for each in _types(choice)}
    types = schema.get("type", "$ref")
    whole = {types} if isinstance(types, str) else set(types)
    return whole | {"integer"} if "number" in whole else whole


def _refused_by_schema() -> list[tuple[str, str, Any]]:
    """Each kind, with each of its parameters that has plain types, and a value of each other type."""
    found = []
    for kind in [each.kind for each in installed() if not each.error]:
        for name, said in strategy_class(kind).model_json_schema()["properties"].items():
            types = _types(said)
            wrong = [value for each, value in SAMPLES.items() if each not in types]
            found += [(kind, name, value) for value in wrong if "$ref" not in types and name != "kind"]
    return found


@pytest.mark.parametrize(("kind", "name", "value"), _refused_by_schema())
def test_what_the_schema_refuses_no_strategy_takes(kind: str, name: str, value: Any) -> None:
    error = _error({**PLAIN, "strategy": {"kind": kind, **NEEDED.get(kind, {}), name: value}})
    assert error.path == f"strategy.{name}"


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"kind": "clear-tool-results", "exclude": ["a", 3]}, "exclude.1"),
        ({"kind": "hybrid", "steps": [{"kind": "drop-media", "keep": "2"}]}, "steps.0.keep"),
        ({"kind": "drop-media", "keep": 2.0}, "keep"),
        ({"kind": "summarize", "model": {"name": "a", "window": "512"}}, "model.window"),
        ({"kind": "summarize", "model": {"name": "a", "retries": True}}, "model.retries"),
        ({"kind": "summarize", "model": 3}, "model"),
    ],
)
def test_nor_what_it_refuses_further_inside(settings: dict[str, Any], path: str) -> None:
    assert _error({**PLAIN, "strategy": settings}).path == f"strategy.{path}"
    with pytest.raises(ConfigError) as caught:
        ContextManager("openai-chat", Budget(window=900), settings)
    assert caught.value.path == f"strategy.{path}"


@pytest.mark.parametrize(
    ("settings", "field", "value"),
    [
        ({"kind": "clear-tool-results", "exclude": ["a"]}, "exclude", frozenset({"a"})),
        ({"kind": "clear-tool-results", "exclude": {"a"}}, "exclude", frozenset({"a"})),
        ({"kind": "selective", "markers": ["a"]}, "markers", ("a",)),
        ({"kind": "selective", "pin_share": 1}, "pin_share", 1.0),
        ({"kind": "drop-oldest", "timeout_s": 10}, "timeout_s", 10.0),
        ({"kind": "summarize", "max_tokens": 300}, "max_tokens", 300),
        ({"kind": "summarize", "max_tokens": 0.5}, "max_tokens", 0.5),
        ({"kind": "extractive-summary", "language": "zh"}, "language", "zh"),
    ],
)
def test_what_may_be_written_otherwise_is_read(settings: dict[str, Any], field: str, value: Any) -> None:
    read = getattr(load({**PLAIN, "strategy": settings}).strategy, field)
    assert read == value
    assert type(read) is type(value)


def test_a_budget_given_as_a_table_has_its_whole_path() -> None:
    with pytest.raises(ConfigError) as caught:
        ContextManager("openai-chat", {"window": "many", "regions": {"profil": 3}})
    assert caught.value.path == "budget.window"
    assert [line.split(": ")[:2] for line in str(caught.value).split("\n")] == [
        ["budget.window", "should be a valid integer, found 'many'"],
        ["  also wrong", "budget.regions.profil"],
    ]


@pytest.mark.parametrize("name", ["strict", "repair"])
@pytest.mark.parametrize("value", ["yes", 1, None])
def test_a_flag_is_true_or_false_in_python_too(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name}: {name} is true or false, not {value!r}") as caught:
        ContextManager("openai-chat", Budget(window=900), **{name: value})
    assert caught.value.path == name


def test_a_slip_in_the_name_of_a_region_is_refused(tmp_path: Path) -> None:
    text = "[budget]\nwindow = 900\nregions = { profil = 200, notes = 100, tool_result = 0.2 }\n"
    file = _file(tmp_path, "a.toml", text)
    error = _error(file)
    assert error.path == "budget.regions.profil"
    own = "A region of your own needs a name that is less like it"
    assert str(error).split("\n") == [
        f"budget.regions.profil: did you mean the built-in region profile? {own} (in {file})",
        f"  also wrong: budget.regions.tool_result: did you mean the built-in region tool_results? {own}",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: load({**PLAIN, "strict": "x"}),
        lambda: load({**PLAIN, "windw": 3}),
        lambda: load({"model": "gpt-nine"}),
        lambda: load({**PLAIN, "budget": {"window": "x"}}),
        lambda: Budget(window=0),
        lambda: strategy_of({"kind": "drop-media", "keep": "x"}),
        lambda: ContextManager("openai-chat", {"window": 0}),
    ],
)
def test_a_wrong_setting_has_no_other_traceback_in_tow(wrong: Callable[[], object]) -> None:
    with pytest.raises(ConfigError) as caught:
        wrong()
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("Traceback") == 1
    assert "pydantic" not in shown.lower()


@pytest.mark.parametrize("text", ["strict = 'x'\n", "window = ", "budget.window = 3\nwindow = 3\n"])
def test_nor_has_one_in_a_file(tmp_path: Path, text: str) -> None:
    shown = "".join(traceback.format_exception(_error(_file(tmp_path, "a.toml", text))))
    assert shown.count("Traceback") == 1


def test_a_file_that_is_missing_has_the_error_of_the_system_as_its_cause(tmp_path: Path) -> None:
    assert isinstance(_error(tmp_path / "none.toml").__cause__, FileNotFoundError)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "budget = ", "is no TOML"),
        ("a.json", "{", "is no JSON"),
        ("a.json", "[1]", "a config is a table of settings, not [1]"),
        ("a.json", '{"budget": {"window": NaN}}', "NaN is no JSON number"),
        ("a.json", '{"repair": true, "repair": false}', "the key 'repair' stands twice"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.json", '{"budget": {"window": ' + "9" * 5_000 + "}}", "is no JSON"),
        ("a.yaml", "a: [", "is no YAML"),
        ("a.yaml", "", "a config is a table of settings, not None"),
        ("a.yaml", "budget: !!python/object/apply:os.getcwd []", "is no YAML"),
        ("a.yaml", "repair: true\nrepair: false", "the key 'repair' stands twice"),
        ("a.yaml", "[" * 10_000, "nested too deeply"),
        ("a.yaml", "strategy: &a {kind: hybrid, steps: [*a]}", "does a part contain itself?"),
        ("a.toml", "a = " + "[" * 10_000, "nested too deeply"),
        ("a.ini", "", "a config file ends in .toml, .yaml, .yml, .json"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    error = _error(_file(tmp_path, name, text))
    assert str(tmp_path / name) in str(error)
    assert said in str(error)


def test_missing_and_undecodable_files_are_named(tmp_path: Path) -> None:
    assert "No such file" in str(_error(tmp_path / "none.toml"))
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    assert "a.toml is no TOML" in str(_error(tmp_path / "a.toml"))


def _laughs(line: str) -> str:
    first = "a0: &a0 {x: 1}\n"
    return first + "".join(line.format(at=at, before=at - 1) for at in range(1, 40))


@pytest.mark.parametrize(
    "line",
    [
        "a{at}: &a{at} [*a{before}, *a{before}, *a{before}]\n",
        "a{at}: &a{at}\n  <<: [*a{before}, *a{before}, *a{before}]\n  y: 1\n",
    ],
    ids=["aliases", "merges"],
)
def test_a_billion_laughs_are_refused(tmp_path: Path, line: str) -> None:
    assert "more than 20000 values" in str(_error(_file(tmp_path, "a.yaml", _laughs(line))))


def test_harmless_aliases_and_merges_are_read(tmp_path: Path) -> None:
    text = "budget: &b {window: 8000, reply: 1000}\nstrategy: {kind: drop-oldest}\n"
    assert load(_file(tmp_path, "a.yaml", text)) == load({"budget": BUDGET, "strategy": "drop-oldest"})


def test_a_dict_that_contains_itself_is_refused() -> None:
    strategy: dict[str, Any] = {"kind": "first-that-fits"}
    strategy["steps"] = [strategy, strategy, strategy]
    assert "does a part contain itself?" in str(_error({**PLAIN, "strategy": strategy}))
    with pytest.raises(ConfigError, match="does a part contain itself"):
        ContextManager("openai-chat", Budget(window=10), strategy)


def test_yaml_without_pyyaml_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    told = "YAML needs PyYAML: install ctxkit-core with the extra yaml (in a clone: pip install '.[yaml]')"
    assert told in str(_error(_file(tmp_path, "a.yaml", YAML)))


def test_what_is_no_source_is_refused() -> None:
    assert "a config is a path or a dict, not 3" in str(_error(3))


_kinds = st.one_of(
    st.just({"kind": "drop-oldest"}),
    st.fixed_dictionaries({"kind": st.just("sliding-window"), "keep_turns": st.integers(1, 9)}),
)
_strategies = st.recursive(
    _kinds,
    lambda inner: st.fixed_dictionaries(
        {"kind": st.just("first-that-fits"), "steps": st.lists(inner, min_size=1, max_size=3)}
    ),
    max_leaves=5,
)
_settings = st.fixed_dictionaries(
    {"budget": st.fixed_dictionaries({"window": st.just(900)}, optional={"reply": st.integers(0, 9)})},
    optional={
        "format": st.sampled_from(["openai-chat", "gemini"]),
        "model": st.none() | st.text(st.characters(exclude_categories=["Cs"])),
        "strategy": _strategies,
        "reasoning": st.sampled_from([None, "strip"]),
        "repair": st.booleans(),
    },
)


@given(settings=_settings, format=st.sampled_from(["toml", "json", "yaml"]))
def test_what_is_dumped_loads_as_equal(
    settings: dict[str, Any], format: FileFormat, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings.setdefault("strategy", {"kind": "drop-oldest"})
    config = load(settings)
    assert load(dump(config)) == config
    file = _file(tmp_path_factory.mktemp("dumped"), f"a.{format}", dumps(config, format))
    assert load(file) == config


def test_a_config_made_in_code_is_dumped_with_its_kinds() -> None:
    config = Config(budget=Budget(window=10), strategy=strategy_of("sliding-window"))
    assert dump(config) == {"budget": {"window": 10}, "strategy": {"kind": "sliding-window"}}


def test_toml_is_written_one_table_a_part() -> None:
    assert dumps(load({**EXPECTED, "model": 'a"b'})) == (
        'format = "anthropic"\nmodel = "a\\"b"\n\n'
        "[budget]\nwindow = 8000\nreply = 1000\n"
        "regions = { system = { max = 500 }, recent = { max = 0.5 } }\n\n"
        '[strategy]\nkind = "first-that-fits"\n'
        'steps = [{ kind = "drop-oldest" }, { kind = "sliding-window", keep_turns = 6 }]\n'
    )


def test_what_toml_cannot_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match="lone surrogate"):
        dumps(load({**PLAIN, "model": "\ud800"}))
    with pytest.raises(ConfigError, match="toml, yaml or json, not 'ini'"):
        dumps(load(PLAIN), "ini")  # type: ignore[arg-type]


def test_the_schema_has_every_strategy_that_can_be_imported() -> None:
    made = schema()
    usable = [each.kind for each in installed() if not each.error]
    names, *references = made["$defs"]["Strategy"]["oneOf"]
    assert names == {"enum": usable}
    found = [made["$defs"][each["$ref"].removeprefix("#/$defs/")] for each in references]
    assert [each["properties"]["kind"]["const"] for each in found] == usable
    assert all("kind" in each["required"] for each in found)
    assert made["properties"]["strategy"]["$ref"] == "#/$defs/Strategy"
    steps = made["$defs"]["FirstThatFits"]["properties"]["steps"]
    assert steps["items"] == {"$ref": "#/$defs/Strategy"}
    assert made["anyOf"][0] == {"required": ["model"]}
    assert json.loads(json.dumps(made)) == made


def test_without_a_strategy_it_is_the_recommended_chain() -> None:
    config = load({"budget": BUDGET})
    assert config.strategy == strategy_of("hybrid")
    assert load(dump(config)) == config
