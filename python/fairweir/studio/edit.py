"""Change values in the TOML text of a scenario, keeping comments and layout, and find the line of a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fairweir.ccas.cca_spec import table_of
from fairweir.errors import ConfigError

_HEADING: Final = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT: Final = re.compile(r"^\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


def edit(text: str, settings: Mapping[str, Any]) -> str:
    """Return the text with other values at dotted keys, such as ``flow.0.rtprop``; None removes a key.

    Raises
    ------
    ConfigError : the text is not TOML, or a key leads through something that is not a table
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        for key, value in settings.items():
            _set(document, key.split("."), value, key)
        return tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ConfigError(f"not TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None


def _set(here: Any, parts: list[str], value: Any, key: str) -> None:
    *parents, last = parts
    for i, part in enumerate(parents):
        if part == "*" and isinstance(here, list):
            for entry in list(here):
                _set(entry, parts[i + 1 :], value, key)
            return
        here = _inner(here, part, key)
    if last == "*" and isinstance(here, list):
        raise ConfigError(f"key `{key}` does not exist", key=key)
    if isinstance(here, list):
        index = _index(here, last, key)
        if value is None:
            del here[index]
        else:
            here[index] = _toml(value)
    elif not isinstance(here, dict):
        raise _not_a_table(key)
    elif value is None:
        here.pop(last, None)
    else:
        here[last] = _toml(value)


def _inner(here: Any, part: str, key: str) -> Any:
    import tomlkit

    if isinstance(here, list):
        return here[_index(here, part, key)]
    if not isinstance(here, dict):
        raise _not_a_table(key)
    if part == "cca" and isinstance(here.get(part), str):
        # A CCA without parameters is a string.
        here[part] = _toml(table_of(str(here[part])))
    if part not in here:
        here[part] = tomlkit.inline_table()
    return here[part]


def _index(here: list[Any], part: str, key: str) -> int:
    if not part.isdecimal() or int(part) >= len(here):
        raise ConfigError(f"key `{key}` does not exist: no entry `{part}`", key=key)
    return int(part)


def _not_a_table(key: str) -> ConfigError:
    return ConfigError(f"key `{key}` leads through something that is not a table", key=key)


def _toml(value: Any) -> Any:
    import tomlkit

    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update({name: _toml(inner) for name, inner in value.items()})
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(_toml(inner) for inner in value)
        return array
    return value


def line_of(text: str, key: str | None) -> int | None:
    """Return the line, from 1, of a dotted key or of the innermost table around it; None if there is neither.

    A value that spans several lines is not searched: for a key inside the value, the line at which the value begins is
    returned.
    """
    if not key:
        return None
    wanted = key.split(".")
    best: tuple[int, int] | None = None
    table: list[str] = []
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := _HEADING.match(line):
            table = [part.strip().strip("\"'") for part in heading[2].split(".")]
            if heading[1] == "[[":
                name = ".".join(table)
                counts[name] = counts.get(name, -1) + 1
            table = _numbered(table, counts)
            path = table
        elif assignment := _ASSIGNMENT.match(line):
            path = table + [part.strip().strip("\"'") for part in assignment[1].split(".")]
        else:
            continue
        if path == wanted[: len(path)] and (best is None or len(path) > best[0]):
            best = len(path), number
    return None if best is None else best[1]


def _numbered(table: list[str], counts: Mapping[str, int]) -> list[str]:
    """Insert the index of the current entry after each name of a list of tables."""
    path: list[str] = []
    for i, part in enumerate(table):
        path.append(part)
        name = ".".join(table[: i + 1])
        if name in counts:
            path.append(str(counts[name]))
    return path
