"""Document what has no docstring of its own: classes of the compiled module (by its stubs), callable packages."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from importlib import import_module
from pathlib import Path

from sphinx.application import Sphinx

import fairweir

#: Packages of the facade that can be called, and the functions that they call.
CALLABLE = {"fairweir.audit": "audit.runner:run_audit", "fairweir.explain": "explain.explanation:explain"}
STUBS = Path(fairweir.__file__).with_name("_core.pyi")


@cache
def properties() -> dict[str, tuple[str, str]]:
    """Return ``Ack.acked`` -> its type and its text, with those of base classes."""
    found: dict[str, tuple[str, str]] = {}
    for part in ast.parse(STUBS.read_text(encoding="utf-8")).body:
        if not isinstance(part, ast.ClassDef):
            continue
        for base in part.bases:
            above = f"{ast.unparse(base)}."
            found |= {f"{part.name}.{k.removeprefix(above)}": v for k, v in found.items() if k.startswith(above)}
        for member in part.body:
            if isinstance(member, ast.FunctionDef) and member.returns:
                text = ast.get_docstring(member) or ""
                found[f"{part.name}.{member.name}"] = ast.unparse(member.returns), text
    return found


def describe(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Set the text of a callable package, or the type and the text of a property of a compiled class."""
    if name in CALLABLE:
        home, _, function = CALLABLE[name].partition(":")
        lines[:] = (inspect.getdoc(getattr(import_module(f"fairweir.{home}"), function)) or "").splitlines()
        return
    known = properties().get(name.removeprefix("fairweir."))
    if known is not None:
        kind, text = known
        lines[:] = [f"``{kind}``" + (f": {' '.join(text.split())}" if text else ""), ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the texts with Sphinx."""
    app.connect("autodoc-process-docstring", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
