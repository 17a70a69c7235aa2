"""A new plugin: a whole package with a keeper in it that works, from the templates beside this module."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from ctxkit.errors import ConfigError
from ctxkit.registry import installed

__all__ = ["Names", "names_of", "write"]

NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
"""What a kind looks like."""

MOST = 50
"""Characters of the longest name."""

FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "LICENSE": "LICENSE.txt",
    ".gitignore": "gitignore.txt",
    "src/$module/__init__.py": "plugin.py.txt",
    "src/$module/py.typed": "py.typed.txt",
    "tests/test_$module.py": "test_plugin.py.txt",
}
"""Where each file goes, and the template that it is written from."""


@dataclass(frozen=True)
class Names:
    """What a plugin is called in each place.

    Attributes:
        kind: the strategy's name in config files.
        distribution: what pip calls the package.
        module: what Python calls it.
        class_name: the strategy's class.
        core: the version of ctxkit-core that it is made for.
    """

    kind: str
    distribution: str
    module: str
    class_name: str
    core: str


def names_of(kind: str) -> Names:
    """The names that follow from a kind.

    Raises:
        ConfigError: it cannot be the name of a package, or a strategy of that kind is installed.
    """
    if not NAME.fullmatch(kind) or len(kind) > MOST:
        raise ConfigError(
            f"{kind!r} cannot be the name of a plugin: take up to {MOST} small letters and digits, words joined by "
            "`-`, a letter first, as in keep-food-allergies"
        )
    if kind.startswith("ctxkit"):
        raise ConfigError(
            f"leave `ctxkit` out of {kind!r}: the name is the strategy's, the package adds ctxkit-"
        )
    for each in installed():
        if each.kind == kind:
            raise ConfigError(
                f"a strategy {kind!r} is installed already, by {each.origin}; take another name"
            )
    words = [word.capitalize() for word in kind.split("-")]
    class_name = "".join(words if words[0] == "Keep" and len(words) > 1 else ["Keep", *words])
    module = f"ctxkit_{kind.replace('-', '_')}"
    if find_spec(module):
        raise ConfigError(f"a package {module} is installed already; take another name than {kind!r}")
    return Names(kind, f"ctxkit-{kind}", module, class_name, version("ctxkit-core"))


def write(names: Names, folder: Path) -> list[Path]:
    """Write the package into a folder that is new or empty; the files written.

    Raises:
        ConfigError: something is in the folder, or it is a file.
        OSError: it cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is there already and not empty; choose another folder with --folder")
    written = []
    for place, template in FILES.items():
        file = folder / Template(place).substitute(asdict(names))
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (files("ctxkit.scaffold") / "template" / template).read_text(encoding="utf-8")
        file.write_text(Template(text).substitute(asdict(names)), encoding="utf-8", newline="\n")
        written.append(file)
    return written
