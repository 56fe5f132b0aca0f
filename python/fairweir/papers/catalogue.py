"""Find the computations that ``fairweir reproduce`` offers: the functions of this package decorated with ``@computed``.

This module reads the decorators from the source files without importing the files, because an import takes seconds and
needs packages that a minimal installation does not have. The arguments of a decorator may therefore only be strings,
f-strings, constants of the module, and tuples of these.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fairweir import papers
from fairweir.reproduce.computed import Computed

#: The decorator's name.
DECORATOR = "computed"


def computed_entries() -> list[Computed]:
    """Return the decorators of all modules, sorted by id; digits in an id are compared as numbers."""
    found = [
        entry
        for folder in map(Path, papers.__path__)
        for path in folder.rglob("*.py")
        for entry in _entries(path, ".".join((papers.__name__, *path.relative_to(folder).with_suffix("").parts)))
    ]
    return sorted(found, key=lambda entry: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", entry.id)])


def _entries(path: Path, module: str) -> Iterator[Computed]:
    constants: dict[str, object] = {}
    for node in ast.parse(path.read_text(encoding="utf-8"), str(path)).body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant() | ast.JoinedStr() as value):
                constants[name] = _value(value, constants)
            case ast.FunctionDef():
                for decorator in node.decorator_list:
                    match decorator:
                        case ast.Call(func=ast.Name(id=name), args=[first], keywords=keywords) if name == DECORATOR:
                            values = {str(word.arg): _value(word.value, constants) for word in keywords}
                            values["id"] = _value(first, constants)
                            yield Computed(home=f"{module}:{node.name}", **values)  # type: ignore[arg-type]


def _value(node: ast.expr, constants: Mapping[str, object]) -> object:
    """Return the value of a decorator's argument: a string, an f-string, a constant of the module, or a tuple of these.

    Raises
    ------
    ValueError : the expression is none of these
    """
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in constants:
            return constants[name]
        case ast.JoinedStr(values=parts):
            return "".join(str(_value(part, constants)) for part in parts)
        case ast.FormattedValue(value=value):
            return _value(value, constants)
        case ast.Tuple(elts=parts):
            return tuple(_value(part, constants) for part in parts)
        case _:
            raise ValueError(f"@{DECORATOR} takes texts, constants and tuples: `{ast.unparse(node)}`")
