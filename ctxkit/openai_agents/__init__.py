"""ctxkit in the OpenAI Agents SDK: sessions that compact themselves, a filter for tool loops, a filter for handoffs.

    from ctxkit.openai_agents import CtxkitSession

    session = CtxkitSession("chat-42", model="gpt-5-mini")
    config = RunConfig(call_model_input_filter=session.input_filter)
    result = await Runner.run(agent, "Hello", session=session, run_config=config)

Needs the extra `agents`. The name of this package is not that of the SDK, so that nothing is taken for the other.
"""

from ctxkit.openai_agents.handoffs import fold_handoff
from ctxkit.openai_agents.presets import SummarizingSession, TrimmingSession
from ctxkit.openai_agents.session import CtxkitSession

__all__ = ["CtxkitSession", "SummarizingSession", "TrimmingSession", "fold_handoff"]
