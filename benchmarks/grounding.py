"""Do the values that later tool calls need survive compression, and does the prompt prefix?

Recorded conversations are replayed turn by turn through a ContextManager with half of their tokens as window.
Before each model entry the request is made that the model would have seen. Measured is

- recall: of the argument literals of the calls that come next (strings and numbers of three characters and more)
  that stand in an earlier non-system message, the share that the request still holds outside its system text. In
  text that ctxkit wrote or edited a literal counts only beside its field name, or in its source sentence;
- far and near: the same for literals whose newest mention lies more, or less, than one window back;
- prefix: of the tokens that a request repeats (all but those added since the one before), the share that lies in
  its common prefix with the one before, in whole messages;
- refusals: requests that would not fit. All their literals count as missing. Requests whose system text, current
  user message and newest unit alone exceed the window are left out.

    python benchmarks/grounding.py                           the five tau files, the recommended chain
    python benchmarks/grounding.py -c crosswoz --sample 50   any corpus file, every n-th conversation of it
    python benchmarks/grounding.py --strategies hybrid,drop-oldest --share 0.3 --jobs 2
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from ctxkit import Budget, BudgetExceededError, ConfigError, ContextManager, OpenCallsError
from ctxkit.core.items import PartKind, Role
from ctxkit.core.provider import Entry, Provider
from ctxkit.core.state import Meter
from ctxkit.providers import provider
from ctxkit.tokens import counter_for

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
TAU = "tau_airline_gpt4o,tau2_airline,tau2_airline_claude45_thinking,tau2_retail,tau2_telecom"
SHORTEST = 3
"""Characters of the shortest literal that counts, as in the corpus's own figures."""

_NAME = re.compile(r"([^\W\d][\w.\- ]*)[\"'*`]*[ \t]*[:=\uff1a]")
_SENTENCE = re.compile(r"[^\n.!?\u3002\uff01\uff1f]+")
_SHOWN = (PartKind.TEXT, PartKind.RESULT, PartKind.ARGUMENTS)
_MODEL_MADE = (Role.MODEL, Role.REASONING)


@dataclass
class Score:
    """Sums over requests; `a += b` adds."""

    conversations: int = 0
    requests: int = 0
    excluded: int = 0
    refused: int = 0
    waiting: int = 0
    grounded: int = 0
    kept: int = 0
    far: int = 0
    far_kept: int = 0
    repeated: int = 0
    prefix: int = 0
    sent: int = 0
    unshortened: int = 0
    compactions: int = 0
    failures: int = 0
    seconds: float = 0.0
    lost: list[str] = field(default_factory=list)

    def __iadd__(self, other: Score) -> Score:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        return self


def main() -> int:
    """Run the benchmark and print one row a file and strategy, and one for all files."""
    options = _options()
    names = options.corpora.split(",")
    print(_HEAD)
    for strategy in options.strategies.split(","):
        total = Score()
        for name in names:
            score = _file_score(options, name, strategy)
            print(_row(strategy, name, score), flush=True)
            total += score
        if len(names) > 1:
            print(_row(strategy, "all", total), flush=True)
        for line in total.lost[: options.show]:
            print("   lost", line)
    return 0


def _options() -> argparse.Namespace:
    about, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("-c", "--corpora", default=TAU, help="corpus files without .jsonl.gz, with commas")
    parser.add_argument("--strategies", default="hybrid", help="kinds, or JSON objects in a file @FILE")
    parser.add_argument("--share", type=float, default=0.5, help="window, as a share of all tokens")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th conversation")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N literals that were lost")
    parser.add_argument("--folder", type=Path, default=CORPUS)
    return parser.parse_args()


def _file_score(options: argparse.Namespace, name: str, strategy: str) -> Score:
    conversations = list(_conversations(options.folder / f"{name}.jsonl.gz"))[:: options.sample]
    work = partial(replayed, strategy=_strategy(strategy), share=options.share)
    total = Score()
    if options.jobs == 1:
        scores: Iterable[Score] = map(work, conversations)
    else:
        with ProcessPoolExecutor(options.jobs) as pool:
            scores = list(pool.map(work, conversations, chunksize=4))
    for score in scores:
        total += score
    return total


def _strategy(name: str) -> str | dict[str, Any]:
    return json.loads(Path(name[1:]).read_text(encoding="utf-8")) if name.startswith("@") else name


def _conversations(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


# One conversation


def replayed(conversation: Mapping[str, Any], *, strategy: str | dict[str, Any], share: float) -> Score:
    """The score of one conversation, replayed with `share` of its tokens as window."""
    return _Replay(conversation, strategy, share).run()


class _Replay:
    """One conversation, its manager and its score."""

    def __init__(self, conversation: Mapping[str, Any], strategy: str | dict[str, Any], share: float) -> None:
        self._id = str(conversation["id"])
        self._system = conversation.get("system")
        self._provider = provider(conversation["format"])
        self._meter = Meter(self._provider, counter_for(None).count)
        entries, _ = self._provider.repair(conversation["messages"])
        self._history = History(self._provider, self._meter, entries)
        self._beside = self._meter.weight(self._provider.weigh_system(self._system))
        self._window = max(1, int((self._beside + sum(self._history.sizes)) * share))
        self._manager = ContextManager(
            conversation["format"], Budget(window=self._window, reply=0), strategy, repair=True
        )
        self._sent: list[Entry] | None = None
        self._sent_at = 0
        self.score = Score(conversations=1)

    def run(self) -> Score:
        for at, entry in enumerate(self._history.entries):
            if self._history.answers(at):
                self._request(at)
            self._manager.add(entry, system=self._system if at == 0 else None)
        return self.score

    def _request(self, at: int) -> None:
        """Ask for the request that is answered by the entry at `at`, and score it."""
        if self._history.least(at) + self._beside > self._window:
            self.score.excluded += 1
            return
        needs = self._history.needs(at)
        self.score.requests += 1
        self.score.grounded += len(needs)
        far = {literal for literal in needs if self._history.age(literal, at) > self._window}
        self.score.far += len(far)
        started = time.perf_counter()
        try:
            request = self._manager.prepare_sync()
        except OpenCallsError:
            self.score.waiting += 1
            return
        except BudgetExceededError as error:
            self.score.refused += 1
            self.score.lost.append(f"{self._id} {at} refused: {error}"[:300])
            return
        finally:
            self.score.seconds += time.perf_counter() - started
        self.score.compactions += request.report.compacted
        self.score.failures += len(request.report.failures)
        self._compare(request.messages, at)
        text = Shown(self._provider, request.messages, self._history, at)
        for literal in needs:
            if text.holds(literal):
                self.score.kept += 1
                self.score.far_kept += literal in far
            else:
                newest = self._history.newest(literal, at)
                self.score.lost.append(f"{self._id} {at} {literal!r}, last seen at {newest}")

    def _compare(self, messages: list[Entry], at: int) -> None:
        """Add what this request repeats, and how much of that lies in the common prefix."""
        sizes = [self._meter.entry(entry) for entry in messages]
        self.score.sent += self._beside + sum(sizes)
        self.score.unshortened += self._beside + sum(self._history.sizes[:at])
        if self._sent is not None:
            repeated = len(messages) - self._added(messages, at)
            common = 0
            while common < min(repeated, len(self._sent)) and messages[common] == self._sent[common]:
                common += 1
            self.score.repeated += self._beside + sum(sizes[:repeated])
            self.score.prefix += self._beside + sum(sizes[:common])
        self._sent, self._sent_at = messages, at

    def _added(self, messages: Sequence[Entry], at: int) -> int:
        """How many messages at the end came in since the request before, whether or not results were shortened."""
        count = 0
        while count < min(at - self._sent_at, len(messages)):
            entry, message = self._history.entries[at - 1 - count], messages[-1 - count]
            shape = self._provider.shape(message)
            if message != entry and not (shape.results and shape == self._provider.shape(entry)):
                break
            count += 1
        return count


class History:
    """A recorded conversation: what each entry says, and where its values stand."""

    def __init__(self, format: Provider, meter: Meter, entries: Sequence[Entry]) -> None:
        self._provider = format
        self.entries = entries
        self.sizes = [meter.entry(entry) for entry in entries]
        self._shapes = [format.shape(entry) for entry in entries]
        self.parts = [[p for p in format.parts(entry) if p.kind in _SHOWN] for entry in entries]
        self._texts = [
            "" if self._shapes[at].role is Role.SYSTEM else "\n".join(part.text for part in parts)
            for at, parts in enumerate(self.parts)
        ]

    def answers(self, at: int) -> bool:
        """Whether a request precedes the entry: the first of what the model made in one go, after something
        that is not system text."""
        made = self._shapes[at].role in _MODEL_MADE
        goes_on = at > 0 and self._provider.joins_runs and self._shapes[at - 1].role in _MODEL_MADE
        return made and not goes_on and any(self._texts[:at])

    def needs(self, at: int) -> list[str]:
        """The different argument literals, standing in an earlier message, of the calls made at `at`."""
        end = at + 1
        while self._provider.joins_runs and end < len(self.entries) and self._shapes[end].role in _MODEL_MADE:
            end += 1
        found = dict.fromkeys(
            literal
            for parts in self.parts[at:end]
            for part in parts
            if part.kind is PartKind.ARGUMENTS
            for literal in literals(parsed(part.text))
        )
        return [literal for literal in found if self.newest(literal, at) >= 0]

    def newest(self, literal: str, at: int) -> int:
        """Where a literal stands last before `at`, -1 when nowhere."""
        return next((k for k in range(at - 1, -1, -1) if stands_in(literal, self._texts[k])), -1)

    def age(self, literal: str, at: int) -> int:
        """Tokens from the newest mention of a literal up to `at`."""
        return sum(self.sizes[self.newest(literal, at) + 1 : at])

    def least(self, at: int) -> int:
        """Tokens of system text, current user message and newest unit before `at`."""
        shapes = self._shapes[:at]
        first = next((k for k, shape in enumerate(shapes) if shape.role is not Role.SYSTEM), at)
        user = next((k for k in range(at - 1, -1, -1) if shapes[k].role is Role.USER), at - 1)
        newest = at - 1
        if shapes[newest].role is Role.TOOL:
            while newest > first and shapes[newest].role is Role.TOOL:
                newest -= 1
            while newest > first and self._provider.joins_runs and shapes[newest - 1].role in _MODEL_MADE:
                newest -= 1
        kept = {*range(first), user, *range(newest, at)}
        return sum(self.sizes[k] for k in kept)


class Shown:
    """The text of a request outside its system text, told apart by whether it is as it was received."""

    def __init__(self, format: Provider, messages: Iterable[Entry], history: History, at: int) -> None:
        self._history, self._at = history, at
        received = {part.text for parts in history.parts[:at] for part in parts}
        self._whole: list[str] = []
        self._edited: list[str] = []
        for entry in messages:
            if format.shape(entry).role is Role.SYSTEM:
                continue
            for part in format.parts(entry):
                if part.kind in _SHOWN:
                    (self._whole if part.text in received else self._edited).append(part.text)

    def holds(self, literal: str) -> bool:
        """Whether a literal is there as it was received, or beside its field name, or in its sentence."""
        if any(stands_in(literal, text) for text in self._whole):
            return True
        edited = [text for text in self._edited if stands_in(literal, text)]
        if not edited:
            return False
        names, sources = self._origin(literal)
        return any(_beside(literal, text, names) or _quoted(literal, text, sources) for text in edited)

    def _origin(self, literal: str) -> tuple[set[str], list[str]]:
        """The field names under which a literal stood in the conversation, and the plain texts it stood in."""
        names: set[str] = set()
        sources: list[str] = []
        for parts in self._history.parts[: self._at]:
            for part in parts:
                if not stands_in(literal, part.text):
                    continue
                value = parsed(part.text)
                if isinstance(value, dict | list):
                    names.update(_names(literal, value, part.name))
                else:
                    sources.append(" ".join(part.text.split()))
                    names.update(_text_names(literal, part.text))
        return names, sources


def parsed(text: str) -> Any:
    """The JSON value of a text, or the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def literals(value: Any) -> Iterator[str]:
    """The strings and numbers in a JSON value, as text, of three characters and more."""
    match value:
        case dict():
            for each in value.values():
                yield from literals(each)
        case list():
            for each in value:
                yield from literals(each)
        case str() if len(value.strip()) >= SHORTEST:
            yield value.strip()
        case int() | float() if not isinstance(value, bool) and len(str(value)) >= SHORTEST:
            yield str(value)


def stands_in(literal: str, text: str) -> bool:
    """Whether a literal stands in a text, neither end of it inside a word or number."""
    return any(True for _ in _places(literal, text))


def _places(literal: str, text: str) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        end = at + len(literal)
        before = at > 0 and _joined(text[at - 1], literal[0])
        after = end < len(text) and _joined(literal[-1], text[end])
        if not (before or after):
            yield at
        at = text.find(literal, at + 1)


def _joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word; Chinese is written without spaces."""
    return left.isalnum() and right.isalnum() and left.isascii() and right.isascii()


def _names(literal: str, value: Any, name: str) -> Iterator[str]:
    match value:
        case dict():
            for key, each in value.items():
                if stands_in(literal, key):
                    yield from (name, key)
                yield from _names(literal, each, key)
        case list():
            for each in value:
                yield from _names(literal, each, name)
        case str() if stands_in(literal, value):
            yield name
        case int() | float() if str(value) == literal:
            yield name


def _text_names(literal: str, text: str) -> Iterator[str]:
    """The names of `name: value` pairs of plain text under which a literal stands."""
    for at in _places(literal, text):
        line = text[text.rfind("\n", 0, at) + 1 : at]
        found = [match.group(1).strip() for match in _NAME.finditer(line)]
        yield from found[-1:]


def _beside(literal: str, text: str, names: set[str]) -> bool:
    value = parsed(text)
    if isinstance(value, dict | list):
        return not names.isdisjoint(_names(literal, value, ""))
    return not names.isdisjoint(_text_names(literal, text))


def _quoted(literal: str, text: str, sources: Sequence[str]) -> bool:
    """Whether the sentence of an edited text that holds a literal, or the line, was said like that."""
    for pattern in (_SENTENCE, re.compile(r"[^\n]+")):
        for match in pattern.finditer(text):
            said = " ".join(match.group().split())
            if stands_in(literal, said) and said != literal and any(said in source for source in sources):
                return True
    return any(source == literal for source in sources)


_HEAD = (
    f"{'strategy':20} {'file':32} {'convs':>5} {'reqs':>5} {'excl':>4} {'refus':>5} {'ground':>6} "
    f"{'recall':>7} {'near':>7} {'far':>7} {'prefix':>7} {'share':>6} {'comp':>5} {'fail':>4} {'ms/req':>6}"
)


def _row(strategy: str, name: str, score: Score) -> str:
    near, near_kept = score.grounded - score.far, score.kept - score.far_kept
    return (
        f"{strategy[:20]:20} {name:32} {score.conversations:5} {score.requests:5} {score.excluded:4} {score.refused:5} "
        f"{score.grounded:6} {_percent(score.kept, score.grounded)} {_percent(near_kept, near)} "
        f"{_percent(score.far_kept, score.far)} {_percent(score.prefix, score.repeated)} "
        f"{score.sent / max(1, score.unshortened):6.2f} {score.compactions:5} {score.failures:4} "
        f"{1000 * score.seconds / max(1, score.requests):6.1f}"
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:6.2f}%" if whole else "      -"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ConfigError as problem:
        sys.exit(f"grounding.py: {problem}")
