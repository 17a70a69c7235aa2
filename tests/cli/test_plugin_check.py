"""`ctxkit plugin check` on packages that keep every promise, and on packages that each break one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, ConfigDict

from ctxkit import CompressionStrategy, Plan, Services, View
from ctxkit.cli import main
from ctxkit.cli.plugin_view import lines_of
from ctxkit.cli.render import Style
from ctxkit.providers import provider
from ctxkit.testing import STRATEGY_LAWS
from ctxkit.testing.conduct import FACTS
from ctxkit.testing.conversations import Payload
from ctxkit.testing.finding import Example, Finding
from ctxkit.testing.form import checked_class

HEAD = """
import random
from typing import Literal
from ctxkit import CompressionStrategy, Drop, Fact, ModelCallError, PartKind, Pin, Plan, Remember, Shorten


class Tried(CompressionStrategy):
    \"\"\"Try something.\"\"\"

    kind: Literal["tried"] = "tried"

    def plan(self, view, services):
"""

DROPS_PINNED = """
        return Plan.of(Drop(tuple(unit.id for unit in view.units), "tidy"))
"""
SOMETIMES_DROPS_PINNED = """
        return Plan.of(Drop((view.units[0].id,), "the first"))
"""
NO_PLAN = """
        return [Drop((unit.id,), "tidy") for unit in view.free()]
"""
RAISES = """
        return Plan.of(Drop((view.turns[3].units[0].id,), "the third turn"))
"""
NO_MODEL = """
        raise ModelCallError("no model is named")
"""
RANDOM = """
        free = [unit.id for unit in view.free()]
        return Plan.of(Drop((random.choice(free),), "any")) if free else Plan()
"""
GROWS = """
        texts = [(item.id, view.parts(item)[0]) for item in view.changeable() if view.parts(item)]
        texts = [(id, part.text) for id, part in texts if part.kind is PartKind.TEXT]
        return Plan.of(*(Shorten(id, 0, f"{text} (in short)", "shorter") for id, text in texts))
"""
MUTATES = """
        for unit in view.units:
            unit.items[0].raw["seen"] = True
        return Plan()
"""
NO_REASON = """
        free = [unit.id for unit in view.free()] if view.over else []
        return Plan.of(Drop(tuple(free))) if free else Plan()
"""
ALL_IS_PINNED = """
        free = tuple(unit.id for unit in view.free())
        return Plan.of(Pin(free, why="precious")) if free else Plan()
"""
TWO_VALUES = """
        facts = [Fact("said", unit.text) for unit in view.free() if unit.text.strip()]
        return Plan.of(*map(Remember, facts))
"""
TWO_VALUES_OR_PINNED = """
        if len(view.units) % 4 == 1:
            return Plan.of(Drop((view.units[0].id,), "the first"))
        facts = [Fact("said", unit.text) for unit in view.free() if unit.text.strip()] * 2
        return Plan.of(*map(Remember, facts))
"""
PINS_ONE = """
        return Plan.of(Pin((view.free()[0].id,), why="precious")) if view.free() else Plan()
"""
REMEMBERS_AGAIN = """
        said = [unit.text for unit in view.free() if unit.said_by_user and unit.text.strip()]
        return Plan.of(Remember(Fact("said", said[0][:20]))) if said else Plan()
"""
UNITS_FOR_IDS = """
        return Plan.of(Drop(view.free(), "all")) if view.free() else Plan()
"""
RAISES_AT_RULES = """
        if any(fact.must_keep for fact in view.state.facts):
            raise ValueError("what is this?")
        return Plan()
"""
DROPS_FACTS = """
        profile = tuple(unit.id for unit in view.units if unit.items[0].made == "profile")
        return Plan.of(Drop(profile, "chatter")) if profile else Plan()
"""
MUTATES_FACTS = """
        for unit in view.units:
            if unit.items[0].made:
                unit.items[0].raw["seen"] = True
        return Plan()
"""
IDLE = """
        return Plan()
"""
FOR_EVER = "exec('while True: pass')"
LOOPS_WHEN_PINNED = """
        while any(pin.until is None for pin in view.state.pins):
            pass
        return Plan()
"""


@dataclass(frozen=True)
class Told:
    """What a check said and how it ended."""

    code: int
    out: str
    err: str

    def about(self, claim: str) -> str:
        """The line with a claim, and what stands indented under it."""
        (found,) = re.findall(
            rf"^  \w+ +[P\d, ]*{re.escape(claim)}.*\n(?:^ {{8}}.*\n)*", self.out, re.MULTILINE
        )
        return str(found)

    def conversation(self, claim: str) -> tuple[str, int, list[dict[str, Any]]]:
        """Format, window and messages of the smallest conversation under a claim."""
        told = self.about(claim)
        format, window = re.findall(r"the smallest conversation: ([\w-]+), window (\d+) tokens", told)[0]
        (messages,) = re.findall(r"^ {14}\[\n.*?^ {14}\]", told, re.MULTILINE | re.DOTALL)
        return format, int(window), json.loads(messages)


Check = Callable[..., Told]


@pytest.fixture
def check(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Check:
    """Writes a package with one module and checks it: its form, its conduct, and the laws that are named."""

    def checked(
        code: str,
        *laws: str,
        points: str = 'tried = "{module}:Tried"',
        examples: int = 6,
        timeout: float = 60,
    ) -> Told:
        tried = tuple(law for law in STRATEGY_LAWS if law.__name__ in laws)
        monkeypatch.setattr("ctxkit.testing.laws.STRATEGY_LAWS", tried)
        module = f"written_{tmp_path.name.replace('-', '_')}_{len(list(tmp_path.iterdir()))}"
        folder = tmp_path / module
        (folder / "src").mkdir(parents=True)
        (folder / "src" / f"{module}.py").write_text(code, encoding="utf-8")
        entry_points = f'[project.entry-points."ctxkit.strategies"]\n{points.format(module=module)}\n'
        (folder / "pyproject.toml").write_text(
            f'[project]\nname = "written"\n{entry_points}', encoding="utf-8"
        )
        before = list(sys.path)
        words = ["plugin", "check", str(folder), "--examples", str(examples), "--timeout", str(timeout)]
        ended = main(words)
        assert sys.path == before
        said = capfd.readouterr()
        return Told(ended, said.out, said.err)

    return checked


def test_a_new_plugin_keeps_every_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new"
    assert main(["new-plugin", "keep-checked-things", "--folder", str(folder)]) == 0
    assert main(["plugin", "check", str(folder), "--examples", "6"]) == 0
    out = capsys.readouterr().out
    assert "  broken" not in out
    assert out.count("\n  kept ") == 19
    assert "all 19 kept, each promise tried on up to 6 conversations\n" in out
    asked, planned, rejected = re.findall(r"(\d+) plans asked for, (\d+) with edits, (\d+) rolled back", out)[
        0
    ]
    assert (
        int(asked) > int(planned) > 0 == int(rejected)
    )  # the words were said in the generated conversations


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (GROWS, "Compare view.count() of the old text and the new one"),
        (ALL_IS_PINNED, "What it pins or remembers has no limit"),
        (TWO_VALUES, "A later fact with the same key and subject takes the earlier one's place"),
        (UNITS_FOR_IDS, "Edits want ids in a tuple"),
    ],
)
def test_what_is_always_contained_is_no_good(check: Check, body: str, hint: str) -> None:
    told = check(HEAD + body)
    assert told.code == 1
    line = told.about("its plans can be applied")
    assert line.startswith("  broken  P12 ")
    figures = re.findall(r"(?:all )?(\d+) of its (\d+) plans were rolled back", line)[0]
    assert int(figures[0]) > 0
    assert "rolled back: " in line.split("its plan after")[1]
    assert f"to mend it: {hint}" in line


README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SHOWN = "import re\nfrom typing" + README.split("import re\nfrom typing")[1].split("\n```")[0]
"""The plugin that the README shows."""

MARKERS = '("allerg", "contraindicat", "pregnan", "anticoagul")'


@pytest.mark.parametrize("words", [MARKERS, '("booking", "flight")'])
def test_the_plugin_of_the_readme_keeps_its_promises_with_any_words(check: Check, words: str) -> None:
    assert len(SHOWN.splitlines()) <= 25
    assert MARKERS in SHOWN
    told = check(SHOWN.replace(MARKERS, words), points=POINTS, examples=20)
    assert told.code == 0, told.out
    assert int(re.findall(r", (\d+) with edits, 0 rolled back", told.out)[0]) > 0


@pytest.mark.parametrize("words", [MARKERS, '("booking", "flight")'])
def test_that_pins_have_no_limit_is_found_with_any_words(check: Check, words: str) -> None:
    """Somebody who says the words and nothing else is among those who talk."""
    unlimited = SHOWN.replace(MARKERS, words).replace(" and unit.tokens <= room", "")
    told = check(unlimited, points=POINTS, examples=20)
    assert told.code == 1
    line = told.about("its plans can be applied")
    assert "with these pins and facts N tokens could never be reduced" in line
    assert "to mend it: What it pins or remembers has no limit, so somebody who talks of nothing else" in line


POINTS = 'keep-medical-constraints = "{module}:KeepMedicalConstraints"'


def test_a_plugin_that_remembers_the_same_again(check: Check) -> None:
    told = check(HEAD + REMEMBERS_AGAIN, "leaves_alone")
    line = told.about("under every trigger nothing changes")
    assert re.search(r"the second time changed more: Remember of said: .+\n", line)
    assert "to mend it: Remember all that you would in one plan, and nothing again: " in line


def test_a_plugin_that_pins_one_at_a_call(check: Check) -> None:
    told = check(HEAD + PINS_ONE, "leaves_alone", examples=20)
    line = told.about("under every trigger nothing changes")
    assert re.search(r"the second time changed more: Pin of messages\[\d+\]\n", line)
    assert (
        "to mend it: Pin all that you would in one plan, from view.free(), where nothing is that is pinned"
        in line
    )


@pytest.mark.parametrize(
    "given", ["self, view", "self", "self, view, services, more", "self, view, *, services"]
)
def test_a_plan_that_cannot_be_called_is_told_how_it_is(check: Check, given: str) -> None:
    told = check(HEAD.replace("self, view, services", given) + IDLE, "never_raises")
    for claim in ("`plan` raises nothing", "it never raises"):
        line = told.about(claim)
        assert "Tried.plan() " in line
        assert "to mend it: Write it as def plan(self, view: View, services: Services) -> Plan: " in line


def test_another_call_that_goes_wrong_in_a_plan_is_told_as_what_it_is(check: Check) -> None:
    told = check(HEAD + "        return (lambda plan: plan)()\n")
    assert "to mend it: Return Plan.of(...)" in told.about("`plan` raises nothing")


def test_the_hint_and_the_conversation_are_those_of_the_commonest_reason(check: Check) -> None:
    told = check(HEAD + TWO_VALUES_OR_PINNED, examples=10)
    line = told.about("its plans can be applied")
    (reasons,) = re.findall(r"plans were rolled back: (.*)\n", line)
    counted = re.findall(r"(has two values|is pinned)[^()]*\((\d+) times\)", reasons)
    assert [name for name, _ in counted] == ["has two values", "is pinned"]
    assert int(counted[0][1]) > int(counted[1][1])
    assert reasons.count("has two values") == 1
    assert "to mend it: A later fact with the same key and subject" in line
    assert re.search(r"rolled back: the fact 'said' has two values .*(?:\n +Remember.*)+", line)


def test_units_where_ids_belong_are_one_reason(check: Check) -> None:
    line = check(HEAD + UNITS_FOR_IDS).about("its plans can be applied")
    (reasons,) = re.findall(r"plans were rolled back: (.*)\n", line)
    said = "Drop.units cannot be a tuple of Unit; units are ids in a tuple: tuple(unit.id for unit in ...)"
    assert re.fullmatch(rf"{re.escape(said)} \(\d+ times\)", reasons)


def test_what_was_raised_again_and_again_is_told_once(check: Check) -> None:
    line = check(HEAD + RAISES, "never_raises").about("it never raises")
    assert "what happened: tried: it raised IndexError: tuple index out of range\n" in line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a" * 1_548, "a… (1,548 times 'a')"),
        (f"see {'=' * 40} and ==", "see =… (40 times '=') and =="),
        ("word " * 100, f"{('word ' * 100)[:80]}… (500 characters) …{('word ' * 100)[-80:]}"),
        ("=" * 39, "=" * 39),
        ("好" * 900, "好… (900 times '好')"),
    ],
)
def test_a_long_text_of_a_conversation_is_shown_short(text: str, told: str) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": text}], "n": 3}]
    example = Example(Payload("openai-chat", messages, None, None), 40, ())
    finding = Finding("x", "P1", "claim", "it broke", "mend it", example=example)
    shown = [json.loads(line) for line in lines_of(finding, Style()) if line.lstrip().startswith('{"role"')]
    assert shown == [{"role": "user", "content": [{"type": "text", "text": told}], "n": 3}]


def test_a_plugin_that_drops_what_is_pinned(check: Check) -> None:
    told = check(HEAD + DROPS_PINNED)
    line = told.about("its plans can be applied")
    assert "what happened: contained, but it never works: all " in line
    assert "rolled back: unit N is pinned and cannot be left out (" in line
    assert "unit -N" not in line
    assert "it went well alone" not in line
    assert "the promise in full: docs/promises.md, P12" in line
    assert "Drop(units=(0, 1" in line
    format, window, messages = told.conversation("its plans can be applied")
    assert provider(format).violations(messages) == []
    assert window == 40
    assert len(messages) <= 4


def test_a_plugin_that_is_contained_now_and_then(check: Check) -> None:
    told = check(HEAD + SOMETIMES_DROPS_PINNED, examples=10)
    assert told.code == 1
    line = told.about("its plans can be applied")
    assert "what happened: contained: " in line
    assert "never works" not in line


def test_a_plugin_that_makes_no_plan(check: Check) -> None:
    told = check(HEAD + NO_PLAN, "never_raises")
    assert told.code == 1
    line = told.about("`plan` raises nothing and returns a Plan")
    assert line.startswith("  broken  P12 ")
    assert "what happened: plan() returned list, not a Plan\n" in line
    assert "it raised TypeError: plan() returned list, not a Plan" in told.about("it never raises")


def test_a_plugin_that_raises(check: Check) -> None:
    told = check(HEAD + RAISES)
    assert told.code == 1
    line = told.about("`plan` raises nothing and returns a Plan")
    assert "what happened: plan() raised IndexError: tuple index out of range" in line
    assert len(told.conversation("`plan` raises nothing")[2]) <= 4


def test_a_plugin_that_has_no_model_to_ask(check: Check) -> None:
    told = check(HEAD + NO_MODEL)
    assert told.code == 0
    assert "0 with edits, 0 rolled back; it found nothing to change" in told.out


def test_a_plugin_that_is_random(check: Check) -> None:
    told = check(HEAD + RANDOM)
    assert told.code == 1
    line = told.about("the same view gives the same plan")
    assert line.startswith("  broken  P10 ")
    assert re.search(r"once it planned .*Drop\(units=\(\d+,\), why='any'.*, then ", line)
    assert "to mend it: Use no random numbers" in line


def test_a_plugin_that_changes_what_it_is_shown(check: Check) -> None:
    told = check(HEAD + MUTATES)
    assert told.code == 1
    line = told.about("`plan` changes nothing of what it is shown")
    assert line.startswith("  broken  P6 ")
    assert "what happened: plan() changed messages[0] in place\n" in line
    assert "it went well alone" not in line


@pytest.mark.parametrize(
    ("body", "claim", "happened"),
    [
        (RAISES_AT_RULES, "`plan` raises nothing", "plan() raised ValueError: what is this?\n"),
        (MUTATES_FACTS, "`plan` changes nothing", "plan() changed the profile that ctxkit wrote in place\n"),
        (DROPS_FACTS, "its plans can be applied", "contained, but it never works: all "),
    ],
    ids=["raises", "changes", "drops"],
)
def test_a_plugin_that_fails_in_company_alone(check: Check, body: str, claim: str, happened: str) -> None:
    told = check(HEAD + body)
    assert told.code == 1
    assert told.out.count("\n  broken") == 1
    line = told.about(claim)
    assert f"what happened: {happened}" in line
    assert "it went well alone; this was behind a strategy that remembers 'rule: Never call me" in line
    assert "a user had 'meal: dinner at eight' remembered\n" in line
    _, window, messages = told.conversation(claim)
    assert window >= 40 + FACTS  # there was room for what is remembered too
    assert len(messages) <= 4


def test_a_plugin_that_gives_no_reason(check: Check) -> None:
    told = check(HEAD + NO_REASON, "nothing_is_lost", examples=15)
    assert told.code == 1
    line = told.about("each message has one fate on record")
    assert line.startswith("  broken  P7 ")
    assert re.search(r"what happened: messages\[\d+\] was dropped without a reason\n", line)
    assert 'to mend it: Give each edit its reason: Drop(units, "why").' in line


def test_a_plugin_that_finds_nothing_is_told_so(check: Check) -> None:
    told = check(HEAD + IDLE)
    assert told.code == 0
    assert "it found nothing to change in any conversation, so the other lines say little" in told.out


@pytest.mark.parametrize(
    ("code", "points", "happened", "hint"),
    [
        (
            "import no_such_thing",
            "",
            "ModuleNotFoundError: No module named 'no_such_thing'",
            "pip install no_such_thing",
        ),
        ("raise SystemExit(3)", "", "SystemExit: 3", "has to work"),
        ("1 / 0", "", "ZeroDivisionError: division by zero", "has to work"),
        ("def :", "", "SyntaxError: invalid syntax", "has to work"),
        ("x = 1", "", "has no attribute 'Tried'", "Tried has to be in it"),
        ("Tried = 3", "", "is no CompressionStrategy class", "Name the class itself"),
        (
            "",
            'tried = "no_such_module:Tried"',
            "No module named 'no_such_module'",
            "There is no module no_such_module",
        ),
        (
            "",
            'tried = "ctxkit.strategies.drop_oldest:DropOldest"',
            "was imported from",
            "a name that no installed",
        ),
    ],
)
def test_a_plugin_that_cannot_be_imported(
    check: Check, code: str, points: str, happened: str, hint: str
) -> None:
    told = check(code, points=points or 'tried = "{module}:Tried"')
    assert told.code == 1
    line = told.about("its entry point leads to a strategy")
    assert line.startswith("  broken")
    assert happened in line
    assert hint in line
    assert told.out.endswith("1 of 1 broken\n")


@pytest.mark.parametrize(
    ("where", "findings", "trying"),
    [
        ("at import", 0, "its entry point leads to a strategy"),
        ("in plan", 5, "`plan` raises nothing and returns a Plan"),
    ],
    ids=["at import", "in plan"],
)
@pytest.mark.parametrize(
    ("does", "happened"),
    [
        ("os._exit(0)", "its process ended by itself with exit code 0"),
        ("os.kill(os.getpid(), 9)", "its process ended by itself with exit code -9"),
        ("time.sleep(600)", "it took longer than 6 s, and its process was killed"),
        (FOR_EVER, "it took longer than 6 s, and its process was killed"),
    ],
    ids=["it exits", "it is killed", "it sleeps", "it loops"],
)
def test_a_plugin_that_ends_its_process_or_never_ends(
    check: Check, does: str, happened: str, where: str, findings: int, trying: str
) -> None:
    body = IDLE if where == "at import" else f"        {does}\n{IDLE}"
    code = f"import os, time\n{does if where == 'at import' else ''}\n{HEAD}{body}"
    told = check(code, timeout=6)
    assert told.code == 1
    line = told.about("the examination came to its end")
    assert line.startswith("  broken  P12 ")
    assert (
        f"what happened: {happened}, after {findings} of its findings, while trying this: {trying}\n" in line
    )
    assert told.out.endswith(f"1 of {findings + 1} broken\n")


def test_a_loop_in_a_later_check_is_told_as_that(check: Check) -> None:
    told = check(HEAD + LOOPS_WHEN_PINNED, "pins_stay", timeout=6)
    assert told.code == 1
    line = told.about("the examination came to its end")
    assert "while trying this: system text, the current user message and what was pinned are in" in line
    assert "to mend it: Leave the process alone" in line


def test_a_terminal_shows_what_is_being_tried(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((60, 24)))
    told = check(HEAD + IDLE, "order_is_kept")
    assert told.code == 0
    shown = [line for line in told.err.split("\r\x1b[K") if line]
    tried = [line.removeprefix("  trying  ") for line in shown]
    assert tried[0] == "its entry point leads to a strategy"
    assert tried[-1] == "what is there unaltered stands in the order in w…"
    assert max(map(len, shown)) == 59
    assert told.err.endswith("\r\x1b[K")
    assert len(tried) == 7  # the import, the form, four checks of conduct, a law


def test_nothing_else_sees_what_is_being_tried(check: Check) -> None:
    told = check(HEAD + IDLE, "order_is_kept")
    assert told.err == ""
    assert "trying" not in told.out


def test_what_a_killed_plugin_started_is_killed_with_it(check: Check, tmp_path: Path) -> None:
    starts = (
        "import pathlib, subprocess, time\n"
        f"started = subprocess.Popen(['sleep', '600'])\npathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(started.pid))\n"
        "time.sleep(600)\n"
    )
    assert check(starts, timeout=6).code == 1
    pid = int((tmp_path / "pid").read_text())
    state = Path(f"/proc/{pid}/stat")
    assert _comes(lambda: _has_ended(state)), (
        "a process ends some time after it was killed, on a machine that is busy"
    )


def test_a_plugin_that_never_ends_ends_with_the_check(tmp_path: Path) -> None:
    """A check that is killed leaves nothing behind that takes a core for good."""
    pid = tmp_path / "pid"
    (tmp_path / "endless.py").write_text(
        f"import os, pathlib\npathlib.Path({str(pid)!r}).write_text(str(os.getpid()))\nwhile True: pass\n",
        encoding="utf-8",
    )
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "endless"\n[project.entry-points."ctxkit.strategies"]\nendless = "endless:Endless"\n',
        encoding="utf-8",
    )
    check = subprocess.Popen([sys.executable, "-m", "ctxkit.cli", "plugin", "check", str(tmp_path)])
    try:
        assert _comes(lambda: pid.exists() and bool(pid.read_text()))
    finally:
        check.kill()
        check.wait()
    state = Path(f"/proc/{pid.read_text()}/stat")
    assert _comes(lambda: _has_ended(state))


def _has_ended(state: Path) -> bool:
    """Whether a process is gone, or waits for its parent to notice."""
    try:
        return ") Z " in state.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def _comes(is_there: Callable[[], bool]) -> bool:
    """Whether something comes true within a minute."""
    for _ in range(600):
        if is_there():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("raised", ["Stop", "KeyboardInterrupt", "SystemExit"])
def test_a_plugin_that_raises_what_ends_programs(check: Check, raised: str) -> None:
    stop = "class Stop(BaseException):\n    pass\n"
    at_import = check(f"{stop}raise {raised}('enough')")
    assert at_import.code == 1
    assert f"what happened: {raised}: enough" in at_import.about("its entry point leads to a strategy")
    in_plan = check(f"{stop}{HEAD}        raise {raised}('enough')\n", "never_raises", "order_is_kept")
    assert in_plan.code == 1
    line = in_plan.about("`plan` raises nothing and returns a Plan")
    assert f"what happened: plan() raised {raised}: enough\n" in line
    assert f"it raised {raised}: enough" in in_plan.about("it never raises")
    assert in_plan.out.count("\n  broken") == 2  # it is contained as any other error, and breaks nothing else
    assert in_plan.err == ""


def test_where_an_import_fails_is_said(check: Check) -> None:
    told = check("x = 1\n1 / 0\n")
    assert re.search(r"division by zero \(.*/written_.*\.py, line 2\)", told.out)


def test_the_form_of_a_plugin(check: Check) -> None:
    code = (
        HEAD.replace('    """Try something."""\n', "").replace('= "tried"', '= "tried"\n    needed: int')
        + IDLE
    )
    told = check(code, points='other = "{module}:Tried"')
    assert told.code == 1
    assert "the kind is 'tried', the entry point 'other'" in told.about(
        "its kind is the name of its entry point"
    )
    assert "Tried has no docstring" in told.about("the first line of its docstring")
    assert "Tried() cannot be made without needed\n" in told.about("every parameter has a default")
    assert "`plan` raises" not in told.out


class Wild(CompressionStrategy):
    """A parameter that no file can hold."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    kind: Literal["wild"] = "wild"
    rank: object = object()

    def plan(self, view: View, services: Services) -> Plan:
        return Plan()


class Thawed(CompressionStrategy):
    """Parameters that can be changed while it is in use."""

    model_config = ConfigDict(frozen=False)
    kind: Literal["thawed"] = "thawed"

    def plan(self, view: View, services: Services) -> Plan:
        return Plan()


class Forgetful(CompressionStrategy):
    """A parameter that is read otherwise than it is written."""

    kind: Literal["forgetful"] = "forgetful"
    share: Annotated[float, AfterValidator(lambda share: share / 2)] = 0.5

    def plan(self, view: View, services: Services) -> Plan:
        return Plan()


@pytest.mark.parametrize(
    ("found", "happened"),
    [
        (Wild, "PydanticSerializationError: "),
        (Thawed, "it is not frozen: its parameters can be changed while it is in use"),
        (
            Forgetful,
            '"share":0.5} is read as {"kind":"forgetful","timeout_s":30.0,"isolate":false,"share":0.25}',
        ),
    ],
)
def test_what_a_config_cannot_hold(found: type[CompressionStrategy], happened: str) -> None:
    docstring, defaults, round_trip = checked_class(found)
    assert docstring.kept
    assert defaults.kept
    assert happened in round_trip.happened


def test_every_strategy_of_a_package_is_checked(check: Check) -> None:
    points = 'tried = "{module}:Tried"\nlost = "{module}:Lost"'
    told = check(HEAD + IDLE, points=points)
    assert told.code == 1
    assert re.findall(r"^(?:all 9 kept|1 of 1 broken)", told.out, re.MULTILINE) == [
        "all 9 kept",
        "1 of 1 broken",
    ]


def test_an_installed_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugin", "check", "drop-reasoning", "--examples", "3"]) == 0
    assert capsys.readouterr().out.startswith(
        "drop-reasoning  ctxkit.strategies.drop_reasoning:DropReasoning\n"
    )


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("drop-oldst", "did you mean drop-oldest?"),
        ("nowhere", "there is no folder nowhere, and no strategy named 'nowhere' is installed"),
        ("./nowhere", "there is no folder nowhere\n"),
        ("tests/cli", "tests/cli is no package: there is no pyproject.toml in it"),
    ],
)
def test_what_is_not_there(target: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugin", "check", target]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[project]\nname = 'x'", "names no strategy; it needs [project.entry-points"),
        ("[project", "cannot be read"),
    ],
)
def test_a_package_that_names_nothing(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert main(["plugin", "check", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--examples", "0"), ("--timeout", "0"), ("--timeout", "inf")])
def test_no_examples_or_no_time_is_a_usage_error(option: tuple[str, str]) -> None:
    assert main(["plugin", "check", "drop-oldest", *option]) == 2


def test_what_checking_needs_is_named_by_its_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxkit.cli.plugin.find_spec", lambda name: None)
    assert main(["plugin", "check", "drop-oldest"]) == 2
    assert "install ctxkit-core with the extra testing (in a clone: pip install" in capsys.readouterr().err
