"""A session: a conversation in a file that outlives its process, with what each request held on record."""

import asyncio

from ctxkit import Budget, Session

SETTINGS = {"format": "openai-chat", "budget": Budget(window=700, reply=100), "strategy": "drop-oldest"}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_order", "arguments": '{"id": "W5362037"}'},
}


async def before_the_crash() -> None:
    session = await Session.open("customer-42", "sqlite:sessions.db", **SETTINGS)
    await session.remember("name", "Ann Lee")
    question = {"role": "user", "content": "Where is my order W5362037? " + "I have waited for long. " * 40}
    for _ in range(2):  # a webhook that comes twice
        await session.add(question, key="message-1")
    await session.prepare()
    await session.add({"role": "assistant", "content": None, "tool_calls": [CALL]})
    # the process dies here


async def after_it() -> None:
    async with await Session.open("customer-42", "sqlite:sessions.db", **SETTINGS) as session:
        print("messages after the crash:", len(session.messages))
        print("calls without a result:", [each.call.name for each in session.open_calls()])
        await session.answer("call_1", '{"status": "shipped"}')
        await session.prepare()
        answer = await session.reply({"role": "assistant", "content": "It was shipped on Monday."})
        await answer.delivered()  # only now it counts as said
        await session.add({"role": "user", "content": "And when does it come? " + "I have to know. " * 80})
        request = await session.prepare()
        print("the last request has", len(request.messages), "messages:", request.report.trigger)
        (found,) = await session.why("Where is my order")
        print("the first question:", found.fate, "by", found.by)
        print("it is still there:", (await session.original(found.handle))[0]["content"][:27])
        print("facts:", [fact.line for fact in session.facts])


asyncio.run(before_the_crash())
asyncio.run(after_it())

# prints:
# messages after the crash: 3
# calls without a result: ['get_order']
# the last request has 2 messages: 740 tokens are over the limit of 600
# the first question: dropped by drop-oldest
# it is still there: Where is my order W5362037?
# facts: ['name: Ann Lee']
