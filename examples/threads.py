"""One manager for several threads: they add and ask at the same time, and nothing is lost or doubled."""

from concurrent.futures import ThreadPoolExecutor

from ctxkit import Budget, ContextManager

context = ContextManager("openai-chat", Budget(window=2_000, reply=500), "drop-oldest")


def speak(thread: int) -> int:
    """Say 25 things and ask for a request after each; the largest request."""
    sizes = []
    for number in range(25):
        context.add({"role": "user", "content": f"Thread {thread}, message {number}. " + "Some words. " * 20})
        sizes.append(context.prepare_sync().report.tokens_after)
    return max(sizes)


with ThreadPoolExecutor(4) as pool:
    largest = max(pool.map(speak, range(4)))

print("every request fitted:", largest <= context.budget.limit)
print("messages on record:", len(context.explain()))

# prints:
# every request fitted: True
# messages on record: 100
