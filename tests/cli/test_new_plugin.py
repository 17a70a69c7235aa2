"""`ctxkit new-plugin`: the package that it writes is installed by pip, tested by pytest, and found by its name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ctxkit.cli import main
from ctxkit.errors import ConfigError
from ctxkit.scaffold import names_of

ROOT = Path(__file__).resolve().parents[2]
FOODS = ["peanut", "shellfish", "花生"]


@dataclass(frozen=True)
class Plugin:
    """A package that was written and edited, and the folder that pip installed it into."""

    folder: Path
    installed: Path

    def run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(self.installed), str(ROOT)])
        environment = os.environ | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
        command = [sys.executable, "-m", *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    """A keeper whose words were edited, installed as pip does it."""
    place = tmp_path_factory.mktemp("author")
    folder, installed = place / "allergies", place / "installed"
    assert main(["new-plugin", "keep-food-allergies", "--folder", str(folder)]) == 0
    module = folder / "src" / "ctxkit_keep_food_allergies" / "__init__.py"
    code = module.read_text(encoding="utf-8")
    edited = re.sub(
        r'^WORDS = """.*?splitlines\(\)$', f"WORDS = {FOODS}", code, flags=re.MULTILINE | re.DOTALL
    )
    assert edited != code
    module.write_text(edited, encoding="utf-8")
    pip = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(installed)]
    subprocess.run([sys.executable, "-m", *pip, str(folder)], check=True, capture_output=True)
    shutil.rmtree(folder / "src")  # what is tried below is what was installed
    shutil.copy(ROOT / "tests" / "conftest.py", folder)  # fewer examples
    return Plugin(folder, installed)


def test_its_tests_pass_at_once(plugin: Plugin) -> None:
    done = plugin.run(["pytest", "-q", "-p", "no:cacheprovider"])
    assert done.returncode == 0, done.stdout
    assert f"{10 + 2 * len(FOODS)} passed" in done.stdout


CHINESE = 'return rf"(?<![a-z]){re.escape(word)}" if word.isascii() else re.escape(word)'
MUTANTS = {
    "no Chinese word after another": CHINESE.replace("else re", 'else r"\\b" + re'),
    "no word that touches Chinese": CHINESE.replace("(?<![a-z])", r"\b"),
    "no Chinese word at all": CHINESE.replace("else re", 'else "x" + re'),
    "no English word after a blank": CHINESE.replace("(?<![a-z])", "(?<![a-z ])"),
}
"""What an author may take `_beginning` to be, and what is then lost."""


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_its_own_tests_find_a_word_that_is_lost(tmp_path: Path, mutant: str) -> None:
    assert main(["new-plugin", "keep-food-allergies", "--folder", str(tmp_path)]) == 0
    module = tmp_path / "src" / "ctxkit_keep_food_allergies" / "__init__.py"
    code = module.read_text(encoding="utf-8")
    assert code.count(CHINESE) == 1
    module.write_text(code.replace(CHINESE, mutant), encoding="utf-8")
    done = Plugin(tmp_path, tmp_path / "src").run(
        ["pytest", "-q", "-p", "no:cacheprovider", "-k", "not laws"]
    )
    assert done.returncode == 1, done.stdout
    assert "AssertionError" in done.stdout


def test_it_is_listed_at_once(plugin: Plugin) -> None:
    listed = {
        each["kind"]: each for each in json.loads(plugin.run(["ctxkit.cli", "strategies", "--json"]).stdout)
    }
    assert listed["keep-food-allergies"] == {
        "kind": "keep-food-allergies",
        "origin": "ctxkit-keep-food-allergies",
        "version": "0.1.0",
        "summary": "Pin the messages in which a user says one of the words, so that no later step drops or shortens them.",
        "error": "",
    }


def test_it_keeps_what_was_said_in_either_language(plugin: Plugin) -> None:
    said = ["My son has a Peanut allergy.", "我对花生过敏。", "I like turtles.", "他吃了shellfish就不舒服。"]
    messages = []
    for text in (*said, *(f"Question {number}, about something else." for number in range(40))):
        messages += [
            {"role": "user", "content": text},
            {"role": "assistant", "content": "Yes, I see what you mean."},
        ]
    messages.append({"role": "user", "content": "What shall I cook?"})
    (plugin.folder / "talk.json").write_text(json.dumps(messages), encoding="utf-8")
    settings = {
        "budget": {"window": 500},
        "strategy": {"kind": "hybrid", "steps": ["keep-food-allergies", "hybrid"]},
        "strict": True,
    }
    (plugin.folder / "ctxkit.json").write_text(json.dumps(settings))
    done = plugin.run(["ctxkit.cli", "compress", "talk.json", "--config", "ctxkit.json"])
    assert done.returncode == 0, done.stderr
    kept = [message["content"] for message in json.loads(done.stdout)["messages"]]
    assert [text for text in said if text in kept] == [said[0], said[1], said[3]]
    assert len(kept) < 45


def test_an_installed_name_is_taken(plugin: Plugin) -> None:
    done = plugin.run(["ctxkit.cli", "new-plugin", "keep-food-allergies", "--folder", "other"])
    assert done.returncode == 2
    expected = "a strategy 'keep-food-allergies' is installed already, by ctxkit-keep-food-allergies"
    assert expected in done.stderr
    assert not (plugin.folder / "other").exists()


def test_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-plugin", "house-rules"]) == 0
    folder = tmp_path / "ctxkit-house-rules"
    written = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert written == {
        ".gitignore",
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "src/ctxkit_house_rules/__init__.py",
        "src/ctxkit_house_rules/py.typed",
        "tests/test_ctxkit_house_rules.py",
    }
    table = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    points = table["project"]["entry-points"]["ctxkit.strategies"]
    assert points == {"house-rules": "ctxkit_house_rules:KeepHouseRules"}
    said = capsys.readouterr().out
    assert all(f"wrote ctxkit-house-rules/{file}" in said for file in written)
    assert "cd ctxkit-house-rules\n" in said
    assert "src/ctxkit_house_rules/__init__.py" in said.splitlines()[-1]


@pytest.mark.parametrize(
    "name",
    ["", "Keep-Rules", "keep_rules", "1st", "-keep", "keep-", "keep--rules", "a/b", "..", "规则", "x" * 51],
)
def test_a_bad_name_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new"
    assert main(["new-plugin", "--folder", str(folder), "--", name]) == 2
    assert f"{name!r} cannot be the name of a plugin" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("drop-oldest", "a strategy 'drop-oldest' is installed already, by ctxkit-core; take another name"),
        ("ctxkit-rules", "leave `ctxkit` out of 'ctxkit-rules'"),
    ],
)
def test_a_taken_name_is_refused(name: str, why: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(why)):
        names_of(name)


@pytest.mark.parametrize(
    ("kind", "class_name"),
    [
        ("plan", "KeepPlan"),
        ("none", "KeepNone"),
        ("keep", "KeepKeep"),
        ("keep-2fa", "Keep2fa"),
        ("a-b", "KeepAB"),
    ],
)
def test_no_name_hides_another(kind: str, class_name: str) -> None:
    names = names_of(kind)
    assert names.class_name == class_name
    assert names.class_name.isidentifier()
    assert names.module.isidentifier()


def test_a_folder_that_holds_something_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["new-plugin", "house-rules", "--folder", str(tmp_path)]) == 2
    assert f"{tmp_path} is there already and not empty" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert main(["new-plugin", "house-rules", "--folder", str(tmp_path)]) == 0
    assert (tmp_path / "pyproject.toml").exists()
