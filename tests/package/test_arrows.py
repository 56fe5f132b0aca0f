"""Rooms (top-level folders and modules of the Python package) import only rooms above them in ARCHITECTURE.md.

Imports in functions count; imports only for type checkers do not count. ``python -m tests.package.test_arrows
[FOLDER]`` prints the numbers of rooms, imports (arrows) and import cycles (circles) of the package in a folder, to
compare versions.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path("python/fairweir")
#: Known exceptions, which import a room below them; there are none.
KNOWN: set[tuple[str, str]] = set()

Arrows = Mapping[str, set[str]]


def modules(package: Path) -> dict[str, Path]:
    """Return the modules by their dotted names below the package; the package's name is empty."""
    names = {path: path.relative_to(package).with_suffix("").parts for path in package.rglob("*.py")}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for path, parts in names.items()}


def statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield all imports that are executed, at any depth."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from statements(ast.Module(node.orelse, []))
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            names = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            yield ast.Import([ast.alias(name) for name in names])
        yield from statements(node)


def imported(path: Path, known: Mapping[str, Path]) -> set[str]:
    """Return the modules that the module at `path` imports, except the compiled module and the facade."""
    found = set()
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names]
        dotted = [f"{node.module}.{name}" for name in names] if isinstance(node, ast.ImportFrom) else names
        for name in (name.removeprefix("fairweir.") for name in dotted if name.startswith("fairweir.")):
            # The last part may be a module or a name in one.
            found.add(name if name in known else name.rpartition(".")[0])
    return found - {"", "_core"}


def arrows(package: Path) -> dict[str, set[str]]:
    """Return the imports of each module."""
    known = modules(package)
    return {name: imported(path, known) for name, path in known.items()}


def rooms(found: Arrows) -> dict[str, set[str]]:
    """Return the rooms that each room imports; the facade, which imports from all rooms, is not a room."""
    room = {name: name.partition(".")[0] for name in found}
    joined: dict[str, set[str]] = {one: set() for one in room.values() if one}
    for name, others in found.items():
        if name:
            joined[room[name]] |= {other.partition(".")[0] for other in others} - {room[name]}
    return joined


def circles(found: Arrows) -> list[list[str]]:
    """Return the sets of names that import each other, directly or not: one cycle, or several with a common name."""
    reached: dict[str, set[str]] = {}
    for name in found:
        seen: set[str] = set()
        todo = [name]
        while todo:
            new = found.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        reached[name] = seen
    together = {frozenset({name, *(o for o in reached[name] if name in reached.get(o, ()))}) for name in found}
    return sorted((sorted(one) for one in together if len(one) > 1), key=len, reverse=True)


def upward(order: list[str], found: Arrows) -> set[tuple[str, str]]:
    """Return the imports of rooms that are not above the importing room in `order`."""
    place = {name: index for index, name in enumerate(order)}
    return {(name, other) for name, others in found.items() for other in others if place[other] >= place[name]}


def listed() -> list[str]:
    """Return the rooms in the order of ARCHITECTURE.md."""
    text = Path("ARCHITECTURE.md").read_text(encoding="utf-8")
    block = re.search(r"^python/fairweir .*\n((?:  .*\n)+)", text, re.MULTILINE)
    assert block is not None
    return re.findall(r"^  (\w+)(?:/|\.py) ", block[1], re.MULTILINE)


def test_every_room_is_listed() -> None:
    assert sorted(listed()) == sorted(rooms(arrows(PACKAGE)).keys() - {"__main__"})


def test_rooms_import_only_rooms_above_them() -> None:
    assert upward([*listed(), "__main__"], rooms(arrows(PACKAGE))) == KNOWN
    assert upward(["play", "cli"], {"play": {"cli"}, "cli": {"play"}}) == {("play", "cli")}


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(arrows(PACKAGE)) == []


def test_rooms_take_the_version_alone_from_the_facade() -> None:
    known = modules(PACKAGE)
    for path in (path for name, path in known.items() if name):
        for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
            names = {alias.name for alias in node.names}
            if isinstance(node, ast.Import):
                assert "fairweir" not in names, path
            elif node.module == "fairweir":
                assert names <= {"__version__", "_core", *known}, path


def test_imports_in_functions_count_and_those_for_types_do_not(tmp_path: Path) -> None:
    lines = "from typing import TYPE_CHECKING", "if TYPE_CHECKING:", "    from fairweir.a import A", "def f():"
    (tmp_path / "b.py").write_text("\n".join([*lines, "    from fairweir import c", "    from fairweir.d import e"]))
    for name in "acd":
        (tmp_path / f"{name}.py").touch()
    assert arrows(tmp_path)["b"] == {"c", "d"}
    other = "else:", "    import fairweir.d", "def f():", "    importlib.import_module('fairweir.c')"
    (tmp_path / "b.py").write_text("\n".join([*lines[:3], *other]))
    assert arrows(tmp_path)["b"] == {"c", "d"}
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def main(package: Path) -> None:
    """Print the counts."""
    found = arrows(package)
    for title, graph in ("rooms", rooms(found)), ("modules", found):
        rings = circles(graph)
        print(f"{len(graph)} {title}, {sum(map(len, graph.values()))} arrows, {len(rings)} circles", end="")  # noqa: T201
        print("".join(f"\n  {len(ring)}: {' '.join(ring)}" for ring in rings))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
