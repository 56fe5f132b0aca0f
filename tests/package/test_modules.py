"""The imports between the modules of each crate have no cycles, neither between files nor between folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CRATES = sorted(path.parent.name for path in Path("crates").glob("*/src"))

Arrows = dict[str, set[str]]


def modules(src: Path) -> dict[str, Path]:
    """Return the modules of a crate by path, such as ``flow::table``, except tests and the crate root."""
    found = {}
    for path in sorted(src.rglob("*.rs")):
        parts = path.relative_to(src).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "mod" else parts
        if parts not in (("lib",), ("main",)) and "tests" not in parts:
            found["::".join(parts)] = path
    return found


def code(text: str) -> str:
    """Return a file without its tests and comments."""
    return re.sub(r"//[^\n]*", "", re.split(r"#\[cfg\(test\)\]\s*(?:pub(?:\(crate\))? )?mod ", text)[0])


def expand(path: str) -> Iterator[str]:
    """Yield the paths of ``a::{b, c::{d, e}}``."""
    head, brace, body = path.partition("{")
    if not brace:
        yield path
        return
    depth, part = 0, ""
    for letter in body[: body.rindex("}")] + ",":
        if letter == "," and depth == 0:
            if part.strip():
                yield from expand(head + part.strip())
            part = ""
        else:
            depth += {"{": 1, "}": -1}.get(letter, 0)
            part += letter


def exports(text: str) -> dict[str, str]:
    """Return the paths of the names that a module imports or re-exports for its submodules."""
    statements = re.findall(r"\buse ([^;]+);", text)
    paths = (path for statement in statements for path in expand(re.sub(r"\s+", " ", statement)))
    return {path.split("::")[-1].strip(): path.strip() for path in paths if " as " not in path}


def absolute(path: str, own: list[str]) -> list[str]:
    """Return the parts of a path relative to the crate's root; a path without a keyword is relative to module `own`."""
    first, *rest = path.split("::")
    start = {"crate": [], "self": own, "super": own[:-1]}.get(first, [*own, first])
    while rest and rest[0] == "super":
        start, rest = start[:-1], rest[1:]
    return start + rest


class Names:
    """The modules of a crate and their re-exports."""

    def __init__(self, src: Path) -> None:
        self.files = modules(src)
        root = "".join(code(path.read_text()) for path in (src / "lib.rs", src / "main.rs") if path.exists())
        above = {name.rpartition("::")[0] for name in self.files} - {""}
        texts = {name: code(self.files[name].read_text()) for name in above if name in self.files} | {"": root}
        self.exports = {name: exports(text) for name, text in texts.items()}

    def module(self, full: list[str], followed: int = 0) -> str | None:
        """Return the module that defines the item at a path, through re-exports; None for the root or another crate."""
        for length in range(len(full), 0, -1):
            name, home = "::".join(full[:length]), "::".join(full[: length - 1])
            if name in self.files:
                rest = full[length : length + 1]
                target = self.exports.get(name, {}).get(rest[0]) if rest else None
                inner = self.module(absolute(target, full[:length]), followed + 1) if target and followed < 8 else None
                return inner or name
            target = self.exports.get(home, {}).get(full[length - 1])
            if target and followed < 8:
                found = self.module(absolute(target, full[: length - 1]), followed + 1)
                if found:
                    return found
        return None


def arrows(src: Path) -> Arrows:
    """Return for each module of a crate the modules that it names by ``crate::``, ``super::`` or ``self::``."""
    names = Names(src)
    found: Arrows = {}
    for name, file in names.files.items():
        found[name] = set()
        for tail in re.findall(r"\b((?:crate|super|self)(?:::(?:\w+|\{[^;]*?\}(?=;)))+)", code(file.read_text())):
            for path in expand(re.sub(r"\s+", "", tail)):
                module = names.module(absolute(path, name.split("::")))
                if module is not None and module != name:
                    found[name].add(module)
    return found


def folders(of_files: Arrows) -> Arrows:
    """Return the imports between the modules directly below the root."""
    found: Arrows = {name.split("::")[0]: set() for name in of_files}
    for name, others in of_files.items():
        top = name.split("::")[0]
        found[top] |= {other.split("::")[0] for other in others} - {top}
    return found


def reachable(start: str, graph: Arrows) -> set[str]:
    """Return the modules that `start` imports, directly or indirectly."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - seen
        seen |= new
        waiting.extend(new)
    return seen


def circles(graph: Arrows) -> list[list[str]]:
    """Return the groups of modules that import each other."""
    below = {name: reachable(name, graph) for name in graph}
    groups = {
        tuple(sorted({name} | {other for other in below[name] if name in below[other]}))
        for name in graph
        if name in below[name]
    }
    return [list(group) for group in sorted(groups)]


@pytest.mark.parametrize("crate", CRATES)
def test_modules_import_in_one_direction(crate: str) -> None:
    graph = arrows(Path("crates") / crate / "src")
    assert circles(graph) + circles(folders(graph)) == []


def test_circles_are_found(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    sources = {
        "lib.rs": "mod a; mod b; mod c; pub use c::{C, D};",
        "a.rs": "use crate::{b::{inner::{X, Y}, Z}, D};",
        "b/mod.rs": "mod inner; mod one; mod two; pub use one::One; use two::Two;\n#[cfg(test)]\nmod tests {}",
        "b/one.rs": "use super::Two;",
        "b/two.rs": "use crate::b::One;\n#[cfg(test)]\nmod tests { use crate::c; }",
        "b/inner.rs": "use super::super::a;\n// use crate::c;",
        "c.rs": "use std::fmt;",
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    graph = arrows(tmp_path)
    inner = {"b::inner": {"a"}, "b::one": {"b::two"}, "b::two": {"b::one"}}
    assert graph == {"a": {"b::inner", "b", "c"}, "b": set(), **inner, "c": set()}
    assert circles(graph) == [["a", "b::inner"], ["b::one", "b::two"]]
    assert circles(folders(graph)) == [["a", "b"]]
