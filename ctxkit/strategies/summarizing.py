"""Writing: the questions that a summary takes, and what is made of the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from ctxkit.core.conversation import Unit
from ctxkit.core.edits import Failure
from ctxkit.core.facts import active_facts
from ctxkit.core.state import wire
from ctxkit.core.view import View
from ctxkit.errors import ModelCallError
from ctxkit.models.question import Answer, Question
from ctxkit.secrets import masked
from ctxkit.strategies.extending import is_cheaper, is_own, place_of
from ctxkit.strategy import Services
from ctxkit.summaries.answers import words_said
from ctxkit.summaries.condensing import LENGTH_SHARE, Aged, by_age, condensed
from ctxkit.summaries.covering import Covering, summary_text
from ctxkit.summaries.language import Language, language_of
from ctxkit.summaries.parts import Part, Turned, original_units, parted, sliced, spoken
from ctxkit.summaries.prompt import (
    condensing_instructions,
    condensing_lines,
    condensing_request,
    instructions,
    request,
    request_above,
    requests,
)
from ctxkit.summaries.salience import Said
from ctxkit.summaries.sections import written
from ctxkit.summaries.validation import LEAST_TOKENS, Checked, checked
from ctxkit.withdrawn import forgotten

if TYPE_CHECKING:
    from ctxkit.strategies.summarize import Summarize

__all__ = ["Writing", "Written"]

LARGEST = 8
"""Parts in which a conversation is summarised at most."""

ASK_WINDOW = 32_000
"""Tokens that a user's own function is taken to read, or as many as the budget's window has."""

BEYOND = 1_000
"""Tokens that an answer may be too long by and still come to its end: it is shortened then, and not lost."""

THINKING = 2_000
"""Tokens of an answer at least, where the window has them: a model that reasons spends them before it writes."""

LEAST_ROOM = 256
"""Tokens of the smallest part that is worth a question."""

SAFE_SHARE = 0.85
"""Of the room in a model's window that is used: its tokens are not quite those of the conversation's counter."""

READ_SHARE = 0.4
"""Of our count of a question: when the provider counted less, it has not read all of it."""

SHORTER = 0.6
"""Of the length asked for first, when what came was too long."""

CONDENSED_BY = 0.9
"""Of the seconds that a summary may take: old notes are not condensed any later, for the summary has to be there by then."""


_TOO_LONG = "to make the notes anew from the originals would take {} questions, more than {}"


@dataclass(frozen=True)
class _Material:
    """What a summary is made from.

    Attributes:
        earlier: the summary that it goes on from.
        turned: what was said.
        note: what there is to say of it, "" for nothing.
        is_above: the conversation's own request has all of it.
    """

    earlier: str
    turned: tuple[Turned, ...]
    note: str = ""
    is_above: bool = True


class Written(NamedTuple):
    """A summary that was written.

    Attributes:
        text: of it.
        notes: what there is to say about it.
        failures: questions that failed and that it could do without.
    """

    text: str
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class _Noted:
    """The notes on one part, and the question and answer that they were made from."""

    done: Checked
    question: Question
    answer: Answer


@dataclass(frozen=True)
class Writing:
    """One summary in the making."""

    strategy: Summarize
    view: View
    services: Services
    covering: Covering
    max_tokens: int

    async def written(self) -> Written:
        """The summary.

        Raises:
            ModelCallError: no model answered, or not with a summary.
        """
        until = self._until()
        material = self._material()
        earlier, turned = material.earlier, material.turned
        parts = self._parts(turned)
        if not parts:
            raise ModelCallError("there are no words to be summarised")
        if len(parts) > LARGEST:
            raise ModelCallError(f"it would take {len(parts)} questions, more than {LARGEST}")
        words = words_said([each.said for each in turned])
        made = Written(earlier, (material.note,) if material.note else ())
        above = material.is_above and not forgotten(self.view.state.facts)
        condenses = bool(earlier) and material.is_above
        for part in parts:
            noted = await self._asked(part, made.text, words, extend=len(parts) == 1 and above)
            aged = self._aged(made.text) if condenses and noted.done.crowded else None
            if aged is not None:
                condenses, before = False, made.text
                made = await self._condensed(aged, made, until)
                noted = noted if made.text == before else self._again(noted, part, made.text, words)
            made = made._replace(text=noted.done.text, notes=(*made.notes, *noted.done.notes))
        secrets = self.services.hooks.secrets_in("\n".join([made.text, *made.notes]))
        notes = tuple(dict.fromkeys(masked(note, secrets) for note in made.notes))
        return made._replace(text=masked(made.text, secrets), notes=notes)

    def _until(self) -> float | None:
        """When the event loop's clock says that it is too late to condense anything."""
        seconds = self.strategy.timeout_s
        return None if seconds is None else asyncio.get_running_loop().time() + CONDENSED_BY * seconds

    def _material(self) -> _Material:
        """The earlier summary and what has come since; every so often no summary, and all from the originals."""
        view, covering = self.view, self.covering
        items = [item for unit in covering.earlier for item in unit.items]
        text = "\n".join(summary_text(view, item) for item in items)
        earlier = masked(text, forgotten(view.state.facts))
        fresh = self._turned(covering.fresh)
        every, number = self.strategy.reanchor_every, view.state.compactions + 1
        if items and every and number % every == 0:
            originals = self._turned(original_units(view, items))
            return self._anew(originals, fresh, earlier, number // every - 1)
        return _Material(earlier, fresh)

    def _anew(
        self, originals: tuple[Turned, ...], fresh: tuple[Turned, ...], earlier: str, number: int
    ) -> _Material:
        """All from the originals, or, where these are too long for that, another slice of them each time, with which the
        earlier summary is gone on from: what it has lost of the slice comes back."""
        everything = (*originals, *fresh)
        parts = len(self._parts(everything))
        if parts <= LARGEST:
            return _Material("", everything, is_above=False)
        slices = LARGEST
        while slices <= LARGEST * LARGEST:
            at = slices - 1 - number % slices  # the newest first: what grows at its end leaves no gap behind
            again = (*sliced(originals, slices=slices)[at], *fresh)
            if len(self._parts(again)) <= LARGEST:
                told = f"slice {at + 1} of {slices} was read again, the others stay as the notes have them"
                return _Material(
                    earlier, again, f"{_TOO_LONG.format(parts, LARGEST)}: {told}", is_above=False
                )
            slices *= 2
        return _Material(earlier, fresh, f"{_TOO_LONG.format(parts, LARGEST)}: none was read again")

    def _turned(self, units: Sequence[Unit]) -> tuple[Turned, ...]:
        turned = spoken(self.view, units)
        said = "\n".join(text for each in turned for text in (each.said.call, each.said.text))
        gone = forgotten(self.view.state.facts) | frozenset(self.services.hooks.secrets_in(said))
        return tuple(Turned(each.turn, _forgetting(each.said, gone)) if gone else each for each in turned)

    def _parts(self, turned: Sequence[Turned]) -> list[Part]:
        """What is summarised with one question each.

        Raises:
            ModelCallError: the window of the model is too small.
        """
        window, count = self._window, self.view.count
        language = language_of(words_said([each.said for each in turned]))
        asked = count(self._instructions(language, self.max_tokens))
        room = int(SAFE_SHARE * (window - asked - self.max_tokens - _answer_tokens(self.max_tokens, window)))
        if room < LEAST_ROOM:
            raise ModelCallError(f"a window of {window} tokens has no room for what is to be summarised")
        return parted(turned, room=room, count=count, language=language)

    @property
    def _window(self) -> int:
        model = self.strategy.model
        return model.window if model else max(self.view.budget.window, ASK_WINDOW)

    def _instructions(self, language: Language, max_tokens: int, *, above: bool = False) -> str:
        strategy = self.strategy
        return instructions(
            language, max_tokens=max_tokens, focus=strategy.focus, template=strategy.told, above=above
        )

    async def _asked(self, part: Part, earlier: str, words: str, *, extend: bool) -> _Noted:
        """The summary that goes on from an earlier one by a part; asked for once more, shorter, when it was too long."""
        wanted = max(LEAST_TOKENS, self.max_tokens // 3, self.max_tokens - self.view.count(earlier))
        noted: _Noted | None = None
        cut_off: list[Question] = []
        for shorter in (False, True):
            length = int(wanted * SHORTER) if shorter else wanted
            try:
                plain = question = self._question(part, earlier, words, length, shorter=shorter)
                if extend:
                    question = self._extended(plain, language_of(words or earlier), length, shorter=shorter)
                question, answer = await self._answered(question, plain)
                extend = question is not plain
                if answer.complete or shorter:
                    with self._judged(question, *cut_off):
                        done = self._checked(answer, question, part, earlier, words)
                    noted = _Noted(done, question, answer)
                else:
                    cut_off.append(question)
            except ModelCallError:
                if noted is None:
                    raise
            if noted is not None and not noted.done.too_long:
                break
        assert noted is not None  # the second round returns or raises
        return noted

    @contextmanager
    def _judged(self, *questions: Question) -> Iterator[None]:
        """Within it an answer is judged. When it is refused for good, the model is not asked the same again: another
        step of this compaction would get the same answer."""
        try:
            yield
        except ModelCallError as error:
            if error.request and not error.transient:
                for question in questions:
                    self.services.models.refuse(question, self.strategy.model, str(error))
            raise

    def _again(self, noted: _Noted, part: Part, earlier: str, words: str) -> _Noted:
        """The same answer as notes that go on from other earlier ones."""
        return replace(noted, done=self._checked(noted.answer, noted.question, part, earlier, words))

    def _aged(self, earlier: str) -> Aged | None:
        """The earlier notes by age, when it is worth condensing the older ones."""
        facts = [fact for fact in active_facts(self.view.state.facts).values() if fact.must_keep]
        return by_age(
            earlier,
            max_tokens=self.max_tokens,
            count=self.view.count,
            held=lambda line: any(fact.stands_in(line) for fact in facts),
        )

    async def _condensed(self, aged: Aged, made: Written, until: float | None) -> Written:
        """The earlier notes with the older ones in fewer words; as they were, and why, when that failed."""
        language, count = aged.language, self.view.count
        length = int(LENGTH_SHARE * count(aged.text))
        told = condensing_instructions(
            language, max_tokens=length, sections=aged.names, focus=self.strategy.focus
        )
        text = condensing_request(aged.text, language)
        question = Question(told, text, _answer_tokens(length, self._window))
        try:
            async with asyncio.timeout_at(until):
                answer = await self._answer(question)
            with self._judged(question):
                done = condensed(
                    answer.text,
                    aged,
                    count=count,
                    complete=answer.complete,
                    ignore=condensing_lines(language),
                    instructions=told,
                    request=question.digest,
                )
        except TimeoutError:
            return _uncondensed(made, self.strategy.kind, "there was no time left for it")
        except ModelCallError as error:
            request = "" if error.transient else error.request
            return _uncondensed(made, self.strategy.kind, str(error), request)
        text = written(done.sections, language)
        return made._replace(text=text, notes=(*made.notes, *done.notes))

    def _question(self, part: Part, earlier: str, words: str, max_tokens: int, *, shorter: bool) -> Question:
        language = language_of(words or earlier)
        told = self._instructions(language, max_tokens)
        text = request(part.text, language, earlier=earlier, shorter=shorter)
        return Question(told, text, _answer_tokens(max_tokens, self._window))

    def _extended(self, plain: Question, language: Language, max_tokens: int, *, shorter: bool) -> Question:
        """The question as one that extends the conversation's last request, where that is cheaper."""
        model, place, state = self.strategy.model, place_of(self.covering), self.view.state
        if model is None or place is None or not is_own(model, self.view, self.services.model):
            return plain
        told = self._instructions(language, max_tokens, above=True)
        text = request_above(
            place.first, place.after, place.left, language, earlier=place.earlier, shorter=shorter
        )
        sizes = {"plain": self._tokens(plain), "extra": self.view.count(told) + self.view.count(text)}
        if not is_cheaper(plain, self.view, model, **sizes):
            return plain
        prefix, _ = wire(state, self.view.setting.meter.provider)
        return Question(told, text, plain.max_tokens, tuple(prefix), state.system, state.tools)

    def _tokens(self, question: Question) -> int:
        """Tokens of a question, those of the request that it extends included."""
        own = self.view.count(question.instructions) + self.view.count(question.text)
        return own + (self.view.tokens if question.prefix else 0)

    async def _answered(self, question: Question, plain: Question) -> tuple[Question, Answer]:
        """A question with its answer: the plain one when the one that extends the request failed for good."""
        try:
            return question, await self._answer(question)
        except ModelCallError as error:
            if question is plain or not error.request:
                raise
        return plain, await self._answer(plain)

    async def _answer(self, question: Question) -> Answer:
        """The answer to a question, which has not failed before.

        Raises:
            ModelCallError: it has, or the model did not answer, or did not read all of it.
        """
        request = question.digest
        if any(failure.request == request for past in self.view.past for failure in past.failures):
            raise ModelCallError("the same question failed before and is not asked again", request=request)
        answer = await self.services.models.ask(question, self.strategy.model)
        with self._judged(question):
            self._check_read(answer, question)
        return answer

    def _check_read(self, answer: Answer, question: Question) -> None:
        """Raise ModelCallError when the provider counted too few tokens of a question."""
        sent = self._tokens(question)
        if 0 < answer.input_tokens < READ_SHARE * sent:
            raise ModelCallError(
                f"the model read {answer.input_tokens} of about {sent} tokens: its window is smaller than `window` says, "
                "or the count of tokens in its answer is wrong",
                request=question.digest,
            )

    def _checked(self, answer: Answer, question: Question, part: Part, earlier: str, words: str) -> Checked:
        return checked(
            answer.text,
            sources=part.sources,
            max_tokens=self.max_tokens,
            count=self.view.count,
            complete=answer.complete,
            earlier=earlier,
            words=words,
            sent=None if question.prefix else question.text,
            ignore=requests(language_of(words or earlier)),
            instructions=question.instructions,
            request=question.digest,
        )


def _uncondensed(made: Written, kind: str, reason: str, request: str = "") -> Written:
    """Notes that were not condensed, and why. A question that would fail again is on record, so that it is not asked."""
    why = f"old notes were not condensed: {reason}"
    failures = (Failure(kind, why, request=request, note=True),) if request else ()
    return made._replace(notes=(*made.notes, why), failures=(*made.failures, *failures))


def _answer_tokens(max_tokens: int, window: int) -> int:
    """Tokens that an answer may take: more than it should, so that it comes to its end, and enough to think first."""
    return max(max_tokens + BEYOND, min(THINKING, window // 4))


def _forgetting(said: Said, values: Collection[str]) -> Said:
    return replace(said, text=masked(said.text, values), call=masked(said.call, values))
