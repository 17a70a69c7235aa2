"""The OpenAI Agents SDK: a session that compacts itself, also in the middle of a tool loop.

It runs without a key: the model is a script. With OPENAI_API_KEY set, leave `model=SCRIPT` out and it is asked.
"""

import asyncio

from agents import Agent, RunConfig, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from ctxkit.openai_agents import CtxkitSession

set_tracing_disabled(True)

CITIES = ("Oslo", "Bergen", "Hamar", "Bodø", "Narvik", "Tromsø")
CALLS = [[function_call("weather", {"city": city}, call_id=city)] for city in CITIES]
SCRIPT = ScriptedModel([*CALLS, [assistant_message("Mild everywhere.")], [assistant_message("Oslo.")]])


@function_tool
def weather(city: str) -> str:
    """The weather in a city, hour by hour."""
    return "\n".join(
        f"{city} {hour:02}:00  {12 + hour % 7} degrees, wind west, no rain" for hour in range(24)
    )


async def main() -> None:
    session = CtxkitSession("chat-42", "sqlite:chats.db", budget={"window": 2_500, "reply": 500})
    config = RunConfig(call_model_input_filter=session.input_filter)
    agent = Agent(name="forecaster", instructions="You tell the weather.", tools=[weather], model=SCRIPT)
    async with session:
        for question in ("How is the weather in Norway?", "Where did you look first?"):
            result = await Runner.run(agent, question, session=session, run_config=config)
            print(f"{question} {result.final_output}")
        print("items that the model was sent, call by call:", [len(call.input) for call in SCRIPT.calls])
        full = await session.get_full_history()
        print("items on record:", len(full))
        print("the first result is still there:", full[2]["message"]["output"].splitlines()[0])


asyncio.run(main())

# prints:
# How is the weather in Norway? Mild everywhere.
# Where did you look first? Oslo.
# items that the model was sent, call by call: [1, 3, 5, 7, 9, 6, 8, 10]
# items on record: 16
# the first result is still there: Oslo 00:00  12 degrees, wind west, no rain
