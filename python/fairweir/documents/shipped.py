"""The files shipped with fairweir: scenarios, rules, queries, policies, controllers, encoders and templates, by name.

They are package data: a wheel holds them in ``fairweir/data``. In the repository ``python/fairweir/data`` has links to
the folders ``scenarios/``, ``rules/``, ``queries/``, ``policies/``, ``controllers/`` and ``encoders/`` at the top, so
that there is one copy of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

#: Beginnings of a path that is never a name.
_PATH_PREFIXES: Final = ("./", "../", "/", "~")


@dataclass(frozen=True)
class Kind:
    """A kind of files.

    Attributes
    ----------
    noun : str, one of them, as messages call it
    folder : str, below ``fairweir/data``
    patterns : of the files in it; a name is a file's path below `folder` without its suffix
    """

    noun: str
    folder: str
    patterns: tuple[str, ...]


#: By the word that ``fairweir list`` takes. Experiments are scenarios with published outcomes (docs/reproduce.md).
KINDS: Final = {
    "scenarios": Kind("scenario", "scenarios", ("*.toml", "agree/*.toml", "guard/*.toml")),
    "video": Kind("video scenario", "scenarios/video", ("*.toml",)),
    "experiments": Kind("published experiment", "scenarios/published", ("*.toml",)),
    "rules": Kind("rule", "rules", ("*.toml",)),
    "queries": Kind("query", "queries", ("*.toml",)),
    "game-queries": Kind("query of the game", "queries/game", ("*.toml",)),
    "controllers": Kind("controller", "controllers", ("*.json",)),
    "policies": Kind("policy", "policies", ("*.toml",)),
    "forests": Kind("forest", "policies/forests", ("*.json",)),
    "encoders": Kind("encoder table", "encoders", ("*.json",)),
}


@cache
def folder(kind: str) -> Path:
    """Return the folder of a kind; in the repository the one at the top."""
    return _package("data", *KINDS[kind].folder.split("/")).resolve()


def skeleton(name: str, room: str = "ccas") -> str:
    """Return the text of a template, of ``fairweir new`` or of generated C; words between at signs are placeholders.

    Parameters
    ----------
    name : str, its file
    room : str, the folder whose `skeletons` has it
    """
    return _package(*room.split("/"), "skeletons", name).read_text(encoding="utf-8")


@cache
def by_name(kind: str) -> dict[str, Path]:
    """Return every file of a kind by its name, sorted by name within each folder."""
    root = folder(kind)
    found = [file for pattern in KINDS[kind].patterns for file in sorted(root.glob(pattern))]
    return {file.relative_to(root).with_suffix("").as_posix(): file for file in found}


def find(kind: str, text: str | Path) -> Path:
    """Return the file that `text` refers to: an existing file of that path, else the shipped one of that name.

    Any other text is returned as a path; opening it reports that there is no such file. ``./x`` is always a path.
    """
    path = Path(text)
    if _is_file(path) or str(text).startswith(_PATH_PREFIXES):
        return path
    return by_name(kind).get(str(text), path)


def hidden(kind: str, text: str | Path) -> Path | None:
    """Return the shipped file that is hidden by an existing file of path `text`; None if there is none."""
    named = by_name(kind).get(str(text))
    return named if named is not None and _is_file(Path(text)) else None


def _is_file(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False


def _package(*parts: str) -> Path:
    """Return a path in the package, which holds a compiled module and is therefore never read from an archive."""
    return Path(str(files("fairweir").joinpath(*parts)))
