"""The modules of each crate import each other in one direction: no circles, neither of files nor of folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CRATES = sorted(path.parent.name for path in Path("crates").glob("*/src"))

Arrows = dict[str, set[str]]


def modules(src: Path) -> dict[str, Path]:
    """Return the modules of a crate by their paths, such as ``flow::table``; tests and crate roots are none."""
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


def exports(root: str) -> dict[str, list[str]]:
    """Return where the names come from that a crate's root re-exports."""
    names = {}
    for statement in re.findall(r"pub(?:\(crate\))? use (?:self::|crate::)?([^;]+);", root):
        for path in expand(re.sub(r"\s+", " ", statement)):
            names[path.split("::")[-1].strip()] = [part.strip() for part in path.split("::")]
    return names


def arrows(src: Path) -> Arrows:
    """Return which modules each module of a crate names by ``crate::``, ``super::`` or ``self::``."""
    files = modules(src)
    roots = "".join(code(path.read_text()) for path in (src / "lib.rs", src / "main.rs") if path.exists())
    exported = exports(roots)
    found: Arrows = {}
    for name, file in files.items():
        own, found[name] = name.split("::"), set()
        for keyword, tail in re.findall(
            r"\b(crate|super|self)((?:::(?:\w+|\{[^;]*?\}(?=;)))+)", code(file.read_text())
        ):
            for path in expand(re.sub(r"\s+", "", keyword + tail)):
                first, *rest = path.split("::")
                start = {"crate": [], "self": own, "super": own[:-1]}[first]
                while rest and rest[0] == "super":
                    start, rest = start[:-1], rest[1:]
                full = start + rest
                full = exported.get(full[0], full) if len(full) == 1 else full
                named = ("::".join(full[:length]) for length in range(len(full), 0, -1))
                found[name] |= {module for module in [next((m for m in named if m in files), name)] if module != name}
    return found


def folders(of_files: Arrows) -> Arrows:
    """Return the same between the modules directly below the root."""
    found: Arrows = {name.split("::")[0]: set() for name in of_files}
    for name, others in of_files.items():
        top = name.split("::")[0]
        found[top] |= {other.split("::")[0] for other in others} - {top}
    return found


def reachable(start: str, graph: Arrows) -> set[str]:
    """Return what `start` imports, directly or not."""
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
        "b/mod.rs": "mod inner;\n#[cfg(test)]\nmod tests { use crate::c; }",
        "b/inner.rs": "use super::super::a;\n// use crate::c;",
        "c.rs": "use std::fmt;",
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    graph = arrows(tmp_path)
    assert graph == {"a": {"b::inner", "b", "c"}, "b": set(), "b::inner": {"a"}, "c": set()}
    assert circles(graph) == [["a", "b::inner"]]
    assert circles(folders(graph)) == [["a", "b"]]
