"""Hooks: what plugins know is asked for, checked, and contained when they are broken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pluggy

from ctxkit import Fact, hook
from ctxkit.hooks import MOST_KNOWN, Called

ROOT = Path(__file__).resolve().parents[1]

PLUGIN = """
from ctxkit import Fact, hook

class Letters:
    name, exact = "letters", False
    def count(self, text):
        return len(text)

@hook
def ctxkit_extract_facts(text, said_by):
    if "tired" in text:
        raise SystemExit("so tired")
    return [Fact("order", "W1"), Fact("lie", "not in the text")]

@hook
def ctxkit_is_key_message(text, said_by):
    return said_by == "user" and "refund" in text

@hook
def ctxkit_find_secrets(text):
    return ["4111"] if "4111" in text else None

@hook
def ctxkit_token_counter(model):
    return Letters() if model == "letters-1" else None

@hook
def ctxkit_check_request(text, facts):
    return [f"{fact.key} is missing" for fact in facts if fact.value not in text] + (["bad word"] if "bad" in text else [])
"""

SCRIPT = """
import json
from ctxkit import ConfigError, ContextManager, StrategyError
from ctxkit.hooks import Called
hooks = Called()
facts = [(f.key, f.value) for f in hooks.facts_in("order W1 is late", "user")]
first = [by for by, _ in hooks.drained()]
again = hooks.drained()
hooks.facts_in("tired", "tool")
context = ContextManager("openai-chat", {"window": 500}, "selective", model="letters-1")
context.add([{"role": "user", "content": "refund me W1 please"}, {"role": "assistant", "content": "bad " * 20}])
context.add({"role": "user", "content": "word " * 20})
context.remember("order", "W1")
request = context.prepare_sync()
context.compact()
strict = ContextManager("openai-chat", {"window": 300}, strict=True)
strict.add({"role": "user", "content": "a bad word"})
strict.prepare_sync()
strict.remember("order", "W1")
try:
    strict.prepare_sync()
    raised = ""
except StrategyError as error:
    raised = str(error)
def kept(plugins):
    keeper = ContextManager("openai-chat", {"window": 900}, {"kind": "hybrid", "steps": ["keep-key-facts", "drop-oldest"]}, plugins=plugins)
    keeper.add([{"role": "user", "content": "W1 came"}, {"role": "assistant", "content": "word " * 1200}, {"role": "user", "content": "ok"}])
    return [edit.why for edit in keeper.prepare_sync().report.edits if edit.kind == "Remember"], hooks_of(keeper)
def hooks_of(keeper):
    return keeper._preparation.hooks.is_key_message("my refund", "user"), keeper._preparation.hooks.checks_requests
try:
    ContextManager("openai-chat", {"window": 200}, plugins=["clark"])
    unknown = ""
except ConfigError as error:
    unknown = str(error)
print(json.dumps({
    "all": kept(None), "named": kept(["clerk"]), "none": kept([]), "unknown": unknown,
    "facts": facts, "first": first, "again": again, "later": hooks.drained(),
    "key": [hooks.is_key_message("my refund", who) for who in ("user", "tool")],
    "secrets": hooks.secrets_in("card 4111"), "counter": request.report.counter,
    "failures": [f.why for f in request.report.failures], "kept": [m["content"] for m in context.prepare_sync().messages],
    "raised": raised,
}))
"""


def test_every_hook_is_asked_and_a_broken_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "clerk.py").write_text(PLUGIN, encoding="utf-8")
    info = tmp_path / "clerk-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: clerk\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[ctxkit]\nclerk = clerk\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert ["order", "W1"] in told["facts"]
    assert ["lie", "not in the text"] not in told["facts"]
    assert told["first"] == ["ctxkit_extract_facts of clerk"]
    assert told["again"] == []
    assert told["later"] == [["ctxkit_extract_facts of clerk", "SystemExit: so tired"]]
    assert told["key"] == [True, False]
    assert told["secrets"] == ["4111"]
    assert told["counter"] == "letters"
    assert "bad word" in told["failures"]
    assert "refund me W1 please" in told["kept"]
    assert "bad word" in told["raised"]
    why = "its message may go; found by ctxkit_extract_facts of clerk"
    assert told["all"] == told["named"] == [[why], [True, True]]
    assert told["none"] == [[], [False, False]]
    assert "did you mean clerk" in told["unknown"]


def test_a_text_is_read_once_and_not_remembered_for_ever(alone: pluggy.PluginManager) -> None:
    asked: Counter[tuple[str, str]] = Counter()

    class Reader:
        @hook
        def ctxkit_extract_facts(self, text: str, said_by: str) -> Sequence[Fact]:
            asked[said_by, text] += 1
            return [Fact("word", text)]

        @hook
        def ctxkit_find_secrets(self, text: str) -> Sequence[str]:
            asked["secrets", text] += 1
            return [text]

    alone.register(Reader())
    called = Called()
    texts = [f"text {number}" for number in range(MOST_KNOWN + 1)]
    for text in [text for text in texts for _ in range(2)]:
        assert [fact.value for fact in called.facts_in(text, "user")] == [text]
        assert called.secrets_in(text) == [text]
    assert set(asked.values()) == {1}
    assert called.secrets_in(texts[0]) == [texts[0]]
    assert asked["secrets", texts[0]] == 2
