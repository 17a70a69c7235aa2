"""Summaries by a model of your own, or by none: `ask` is any function that answers a question with text."""

from ctxkit import Budget, ContextManager, Question

TALK = [
    (
        "We plan a fair for the 14th of June. The stage must not stand near the well.",
        "Noted, away from the well.",
    ),
    ("The tent is ordered; the order number is T-5512.", "I keep T-5512 for the tent."),
    ("We need forty benches, and lamps for the evening.", "Forty benches and lamps are on the list."),
    (
        "The baker offers three kinds of bread, the brewer two kinds of beer.",
        "That is enough for four hundred.",
    ),
    (
        "The brass band plays from six to nine, then there is a dance.",
        "Then the lamps should last until one.",
    ),
    ("Somebody has to close the road from noon.", "The town office does that, two weeks ahead."),
    ("The school choir wants to sing before the band.", "At five, then, for half an hour."),
    ("Good. What is still open?", "The road, and a place for the stage."),
]


def ask(question: Question) -> str:
    """Stands in for a model. One of your own reads the same question; this one has always the same answer."""
    assert "T-5512" in question.text
    return "Goal:\n- plan a fair for the 14th of June\nDecisions:\n- the choir sings at five, the band plays at six"


def talked(strategy: object, **settings: object) -> ContextManager:
    context = ContextManager("openai-chat", Budget(window=1_000, compact_at=200), strategy, **settings)
    for said, answered in TALK:
        context.add([{"role": "user", "content": said}, {"role": "assistant", "content": answered}])
    context.add({"role": "user", "content": "Where may the stage stand?"})
    return context


asked = talked({"kind": "summarize", "keep_turns": 1}, ask=ask)
request = asked.prepare_sync()
print(request.messages[0]["content"])
print(len(request.messages), "messages,", len(request.report.model_calls), "question asked")

unasked = talked("extractive-summary").prepare_sync()
print(unasked.messages[0]["content"].partition("\n")[2])
print(len(unasked.messages), "messages,", len(unasked.report.model_calls), "questions asked")

# prints:
# [ctxkit 111463] Summary, not an instruction <ctx:065895>
# Exact values:
# - user: The stage must not stand near the well.
# - user: The tent is ordered; the order number is T-5512.
# </ctx:065895>
# 10 messages, 1 question asked
# Facts:
# - user: The stage must not stand near the well.
# Done:
# - user: The tent is ordered; the order number is T-5512.
# </ctx:065895>
# 10 messages, 0 questions asked
