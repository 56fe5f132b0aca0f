"""Convert between the forms in which users specify a CCA: a name, a name with parameters, a table, or a class."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fairweir.ccas import class_objects
from fairweir.ccas.cca import Cca
from fairweir.ccas.lookup import check
from fairweir.errors import CcaError

#: ``"vegas"``, ``"vegas{alpha=4}"``, ``{"name": "vegas", "alpha": 4}`` or a class.
AnyCca = str | Mapping[str, Any] | type[Cca]

_HINT: Final = "write a name, `cubic{beta=0.5}`, a table with `name`, or a class"


def table_of(cca: object) -> dict[str, Any]:
    """Return `cca` as a table, in the form that scenarios contain: ``name`` and the parameters.

    Parameters
    ----------
    cca : str, mapping or class. If other processes cannot import a class, the class gets a generated name
        (:mod:`fairweir.ccas.class_objects`)

    Raises
    ------
    CcaError : `cca` has another type, is a class that is not a :class:`Cca`, or its parameters are not TOML
    """
    if isinstance(cca, str):
        return _from_text(cca)
    if isinstance(cca, type):
        return {"name": class_objects.name_of(cca)}
    if isinstance(cca, Mapping):
        table = dict(cca)
        if isinstance(table.get("name"), type):
            table["name"] = class_objects.name_of(table["name"])
        if not isinstance(table.get("name"), str):
            raise CcaError(f"a controller without a name: `{cca!r}`", hint=_HINT, cca=repr(cca))
        return table
    raise CcaError(f"not a congestion controller: `{cca!r}`", hint=_HINT, cca=repr(cca))


def as_written(cca: object) -> str | dict[str, Any]:
    """Return `cca` in the form for scenario documents: a string is returned unchanged, and anything else as a table.

    Raises
    ------
    CcaError : as :func:`table_of`
    """
    return cca if isinstance(cca, str) else table_of(cca)


def require(cca: object, *, base: Path | None = None) -> None:
    """Raise a CcaError or ConfigError unless `cca` is a CCA that can run. Its parameters are not checked."""
    check(table_of(cca)["name"], base=base)


def text_of(cca: object) -> str:
    """Return `cca` as one string, under which its results are stored: ``cubic``, ``cubic{beta=0.5}``, ``mine.py:Mine``.

    Raises
    ------
    CcaError : as :func:`table_of`
    """
    if isinstance(cca, str):
        table_of(cca)
        return cca
    import tomlkit

    table = table_of(cca)
    name = str(table.pop("name", ""))
    params = ", ".join(f"{key}={tomlkit.item(value).as_string()}" for key, value in table.items())
    return f"{name}{{{params}}}" if params else name


def name_part(text: str) -> tuple[str, str]:
    """Split ``cubic{beta=0.5}`` into the name and the text of the parameters. For ``{name="cubic"}`` the name is
    empty.
    """
    name, brace, rest = text.partition("{")
    return (name, brace + rest) if brace and text.rstrip().endswith("}") else (text, "")


def _from_text(text: str) -> dict[str, Any]:
    name, params = name_part(text)
    if not params:
        class_objects.offer(text)
        return {"name": text}
    try:
        table: dict[str, Any] = tomllib.loads(f"params = {params}")["params"]
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = f"parameters are not TOML: `{params.strip()}`"
        raise CcaError(reason, hint='write `cubic{beta=0.5}` or `copa{min_rtt_window="5s"}`', cca=text) from error
    if name.strip():
        if "name" in table:
            raise CcaError(f"two names for one controller: `{text}`", hint=_HINT, cca=text)
        table = {"name": name.strip(), **table}
    elif not isinstance(table.get("name"), str):
        raise CcaError(f"a controller without a name: `{text}`", hint='write {name="cubic", beta=0.5}', cca=text)
    class_objects.offer(table["name"])
    return table
