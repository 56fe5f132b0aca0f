"""Find the files that are shipped with fairweir by name: scenarios, rules, queries, policies, controllers, encoders and
templates.

A rule is a CCA as data, a query is the input of a search for CCAs, a policy is the configuration of the receiver's
guard, a controller is a decision tree, an encoder is a table of frame sizes, and a lesson is a part of the studio's
tour. The files are package data: a wheel contains them in ``fairweir/data``. In the repository,
``python/fairweir/data`` contains links to the top-level folders ``scenarios/``, ``rules/``, ``queries/``,
``policies/``, ``controllers/``, ``encoders/``, ``lessons/`` and ``include/``, so that there is only one copy of each
file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

#: If a text has one of these prefixes, it is always a path and never the name of a shipped file.
_PATH_PREFIXES: Final = ("./", "../", "/", "~")


@dataclass(frozen=True)
class Kind:
    """A kind of shipped files.

    Attributes
    ----------
    noun : str, the singular noun for messages
    folder : str, the folder, relative to ``fairweir/data``
    patterns : glob patterns of the files; a file's name is its path below `folder` without the suffix
    """

    noun: str
    folder: str
    patterns: tuple[str, ...]


#: Argument of ``fairweir list`` -> kind. Experiments are scenarios with published results (docs/reproduce.md).
KINDS: Final = {
    "scenarios": Kind(
        "scenario",
        "scenarios",
        ("*.toml", "agree/*.toml", "conform/*.toml", "guard/*.toml", "stacks/*.toml", "transport/*.toml"),
    ),
    "video": Kind("video scenario", "scenarios/video", ("*.toml",)),
    "experiments": Kind("published experiment", "scenarios/published", ("*.toml",)),
    "rules": Kind("rule", "rules", ("*.toml",)),
    "queries": Kind("query", "queries", ("*.toml",)),
    "game-queries": Kind("query of the game", "queries/game", ("*.toml",)),
    "controllers": Kind("controller", "controllers", ("*.json",)),
    "policies": Kind("policy", "policies", ("*.toml",)),
    "forests": Kind("forest", "policies/forests", ("*.json",)),
    "encoders": Kind("encoder table", "encoders", ("*.json",)),
    "lessons": Kind("lesson of the studio", "lessons", ("*.toml",)),
}


@cache
def folder(kind: str) -> Path:
    """Return the folder of a kind of files; in the repository, this is the top-level folder."""
    return _package("data", *KINDS[kind].folder.split("/")).resolve()


def skeleton(name: str, room: str = "ccas") -> str:
    """Return the text of a template for ``fairweir new`` or for generated C. Words between at signs are placeholders.

    Parameters
    ----------
    name : str, name of the template's file
    room : str, the subpackage of fairweir whose folder `skeletons` contains the template
    """
    return _package(*room.split("/"), "skeletons", name).read_text(encoding="utf-8")


def header(name: str) -> str:
    """Return the text of a C header of the interface for plug-ins, given its file name."""
    return _package("data", "include", name).read_text(encoding="utf-8")


@cache
def by_name(kind: str) -> dict[str, Path]:
    """Return the files of a kind: name -> path, sorted by name within each folder."""
    root = folder(kind)
    found = [file for pattern in KINDS[kind].patterns for file in sorted(root.glob(pattern))]
    return {file.relative_to(root).with_suffix("").as_posix(): file for file in found}


def find(kind: str, text: str | Path) -> Path:
    """Return the file that `text` refers to: the file at that path if it exists, or else the shipped file with that
    name.

    If there is neither, `text` is returned as a path, so that opening it reports the missing file. ``./x`` is always a
    path.
    """
    path = Path(text)
    if _is_file(path) or str(text).startswith(_PATH_PREFIXES):
        return path
    return by_name(kind).get(str(text), path)


def hidden(kind: str, text: str | Path) -> Path | None:
    """Return the shipped file called `text` if a file at the path `text` takes precedence over it; otherwise None."""
    named = by_name(kind).get(str(text))
    return named if named is not None and _is_file(Path(text)) else None


def _is_file(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False


def _package(*parts: str) -> Path:
    """Return a path in the installed package. The package is never in an archive, because it contains a compiled
    module.
    """
    return Path(str(files("fairweir").joinpath(*parts)))
