"""Everything that README and docs show is run: Python, config files, commands, and ctxkit's own docstrings."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import ctxkit
from ctxkit.config import load
from ctxkit.registry import installed, strategy_class
from ctxkit.strategy import CompressionStrategy

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    page
    for pattern in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "plugins/*/README.md")
    for page in ROOT.glob(pattern)
)
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
WRITE = bool(os.environ.get("CTXKIT_WRITE"))
"""Set by `make shown`: what is shown is written anew instead of compared."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what else its first line says, and where it is."""

    language: str
    marks: dict[str, str]
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        words = found["info"].split()
        marks = dict(word.partition("=")[::2] for word in words[1:])
        yield Block(words[0] if words else "", marks, found["text"], text.count("\n", 0, found.start()) + 1)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


class Reader:
    """Somebody who does what a page says, in a folder with the examples in it."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__page__"}
        (folder / "examples").symlink_to(ROOT / "examples")
        shutil.copy(ROOT / "tests" / "conftest.py", folder)

    def follow(self, block: Block) -> None:
        if "title" in block.marks:
            file = self.folder / block.marks["title"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
            return
        match block.language:
            case "python" if ">>>" in block.text:
                self._doctest(block)
            case "python":
                code = compile("\n" * block.line + block.text, str(self.page), "exec")
                if "no-run" not in block.marks:
                    exec(code, self.names)
            case "toml" | "yaml" | "json":
                self._config(block)
            case "console":
                self._commands(block)
            case language:
                assert language in ("text", "make", "diff"), f"{name_of(self.page)}: a block of {language!r}"

    def _doctest(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(
            block.text, self.names, name_of(self.page), str(self.page), block.line
        )
        told: list[str] = []
        result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append, clear_globs=False)
        self.names.update(test.globs)
        assert result.failed == 0, "".join(told)
        assert result.attempted > 0

    def _config(self, block: Block) -> None:
        if block.language == "yaml":
            import yaml

            table = yaml.safe_load(block.text)
        else:
            table = (tomllib.loads if block.language == "toml" else json.loads)(block.text)
        table = table.get("tool", {}).get("ctxkit", table)
        if "budget" in table:
            assert load(table).manager().budget.limit > 0

    def _commands(self, block: Block) -> None:
        """Commands after `$ `, each with the output that is shown after it, if any is."""
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.replace("\\\n", " ").partition("\n")
            self._command(shlex.split(command, comments=True), shown, int(block.marks.get("exit", "0")))

    def _command(self, words: list[str], shown: str, code: int) -> None:
        match words:
            case ["make", target]:
                makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"no target {target}"
                return
            case ["pip", "install", "-e", *_]:
                self._install()
                return
            case ["cd", place]:
                self.folder /= place
                shutil.copy(ROOT / "tests" / "conftest.py", self.folder)
                return
            case ["pip" | "git", *_]:
                return
            case ["python", *rest, ">", target]:
                done = subprocess.run(
                    [sys.executable, *rest], cwd=self.folder, capture_output=True, check=True
                )
                (self.folder / target).write_bytes(done.stdout)
                return
            case ["ctxkit", *rest]:
                words = [sys.executable, "-m", "ctxkit.cli", *rest]
            case ["pytest", *rest]:
                words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *rest]
            case ["python", *rest]:
                words = [sys.executable, *rest]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, env=self._environment())
        told = f"{words}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == code, told
        if shown.strip():
            checker = doctest.OutputChecker()
            assert checker.check_output(shown, done.stdout + done.stderr, FLAGS), f"{shown}\n---\n{told}"

    def _environment(self) -> dict[str, str]:
        places = (self.folder, self.folder / "src", ROOT, os.environ.get("PYTHONPATH", ""))
        path = os.pathsep.join(map(str, places))
        return os.environ | {
            "PYTHONPATH": path,
            "PYTHONIOENCODING": "utf-8",
            "NO_COLOR": "1",
            "COLUMNS": "100",
        }

    def _install(self) -> None:
        """What `pip install -e .` leaves behind: the entry points, and the folder on the path."""
        table = tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        info = self.folder / f"{table['name'].replace('-', '_')}-{table['version']}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {table['name']}\nVersion: {table['version']}\n", encoding="utf-8"
        )
        groups = [
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
            for group, points in table.get("entry-points", {}).items()
        ]
        (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_shows_works(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    reader = Reader(page, tmp_path)
    for block in blocks(page):
        reader.follow(block)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"


def _modules() -> list[str]:
    found = pkgutil.walk_packages(ctxkit.__path__, "ctxkit.")
    return sorted(each.name for each in found if not each.name.endswith("__main__"))


@pytest.mark.parametrize("name", _modules())
def test_docstrings_are_right(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} does not say what it holds"
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


@pytest.mark.parametrize("kind", sorted(p.stem for p in (DOCS / "strategies").glob("*.md")))
def test_a_page_on_a_strategy_names_every_parameter(kind: str) -> None:
    text = (DOCS / "strategies" / f"{kind}.md").read_text(encoding="utf-8")
    own = set(strategy_class(kind).model_fields) - set(CompressionStrategy.model_fields)
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == own


def test_every_built_in_has_its_page() -> None:
    kinds = {each.kind for each in installed() if each.origin == "ctxkit-core"}
    assert kinds == {page.stem for page in (DOCS / "strategies").glob("*.md")}
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert kinds == set(re.findall(r"\(strategies/([\w-]+)\.md\)", index))


def test_the_index_lists_every_guide() -> None:
    listed = set(re.findall(r"\(guides/([\w-]+)\.md\)", (DOCS / "index.md").read_text(encoding="utf-8")))
    assert listed == {page.stem for page in (DOCS / "guides").glob("*.md")}


def _reference() -> dict[str, set[str]]:
    """The rows of the reference: what they are of, and all names in them."""
    lines = (DOCS / "reference.md").read_text(encoding="utf-8").splitlines()
    rows = [(re.match(r"\| (?:`(\w+)`|\[(ctxkit\.[\w.]+)\])", line), line) for line in lines]
    return {found[1] or found[2]: set(re.findall(r"`(\w+)", line)) for found, line in rows if found}


def test_the_reference_lists_what_the_docs_import() -> None:
    reference = _reference()
    unlisted = [
        (name_of(page), module, name)
        for page in PAGES
        for block in blocks(page)
        if block.language == "python"
        for module, names in re.findall(
            r"^ *from (ctxkit(?:\.[\w.]+)?) import ([\w, ]+)", block.text, re.MULTILINE
        )
        for name in names.split(", ")
        if name not in (reference if module == "ctxkit" else reference.get(module, ()))
    ]
    assert not unlisted


@pytest.mark.parametrize("name", ["ContextManager", "Session"])
def test_the_reference_lists_what_a_conversation_does(name: str) -> None:
    reference = _reference()
    there = {each for each in dir(getattr(ctxkit, name)) if not each.startswith("_")}
    assert there <= reference[name] | reference["ContextManager"]


WITHOUT_PLUGINS = """
import sys
from ctxkit import hooks
from ctxkit.cli import main
hooks.entry_points = lambda **group: ()
sys.exit(main(sys.argv[1:]))
"""
"""The command line as it is after `make demo`, which installs no plugin."""


def test_the_readme_shows_what_the_demo_prints() -> None:
    command = ["compress", "examples/data/retail.json", "--config", "examples/budget.toml", "--show", "-o"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PLUGINS, *command, os.devnull],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
    )
    page = ROOT / "README.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split("<!-- demo -->\n```text\n")
    shown, after = rest.split("```\n<!-- end -->", 1)
    if WRITE:
        page.write_text(
            f"{before}<!-- demo -->\n```text\n{done.stdout}```\n<!-- end -->{after}", encoding="utf-8"
        )
    else:
        assert shown == done.stdout, "run `make shown`"


def test_nothing_is_installed_by_a_name_that_is_not_on_the_index_yet() -> None:
    for page in PAGES:
        found = re.findall(r"pip install +[\"']?ctxkit[\w-]*", page.read_text(encoding="utf-8"))
        assert not found, name_of(page)


def test_docs_name_no_place_of_this_machine() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"/(?:work|tmp|root|home)/", text), name_of(page)
