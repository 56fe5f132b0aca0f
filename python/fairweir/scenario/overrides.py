"""Change values of a scenario's document at dotted keys, for ``--set`` and for sweeps."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from fairweir.ccas.cca_spec import table_of
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError


def apply(document: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `document` with the values of `settings` at their dotted keys.

    Parameters
    ----------
    document : dict, a parsed TOML document
    settings : dict from dotted keys to values; a key such as ``flow.0.cca`` names tables and list entries, ``*`` all
        entries

    Raises
    ------
    ConfigError : a part of a key names nothing in the document
    """
    changed: dict[str, Any] = copy.deepcopy(dict(document))
    for key, value in settings.items():
        *parents, last = key.split(".")
        for parent in list(_reach(changed, parents, key)):
            for name in _entries(parent, last, key) if last == "*" or isinstance(parent, list) else [last]:
                parent[name] = copy.deepcopy(value)
    return changed


def _reach(here: Any, parts: list[str], key: str) -> Iterator[Any]:
    if not isinstance(here, (dict, list)):
        before = ".".join(key.split(".")[: -len(parts) - 1])
        raise ConfigError(
            f"key `{key}` leads through something that is not a table", hint=f"write {before}=VALUE", key=key
        )
    if not parts:
        yield here
        return
    part, rest = parts[0], parts[1:]
    may_be_new = part not in {"*", "link", "flow"} and not key.startswith(f"link.{part}.")
    if isinstance(here, dict) and part not in here and may_be_new:
        here[part] = {}
    for name in _entries(here, part, key):
        if part == "cca" and isinstance(here[name], str):
            # A CCA is a string or a table; a CCA without parameters is usually written as a string.
            here[name] = table_of(here[name])
        yield from _reach(here[name], rest, key)


def _entries(here: Any, part: str, key: str) -> list[Any]:
    if isinstance(here, dict):
        if part == "*":
            return list(here)
        if part in here:
            return [part]
    elif isinstance(here, list):
        if part == "*":
            return list(range(len(here)))
        if part.isdigit() and int(part) < len(here):
            return [int(part)]
        raise ConfigError(
            f"key `{key}` does not exist: no entry `{part}`",
            hint=f"entries are 0 to {len(here) - 1}, or *",
            key=key,
        )
    raise ConfigError(f"key `{key}` does not exist: no `{part}`", hint=did_you_mean(part, here), key=key)


def parse_setting(text: str) -> tuple[str, Any]:
    """Parse a setting such as ``flow.0.cca=bbr``, and return the key and the value.

    If the value is not TOML, it is a string.

    Raises
    ------
    ConfigError : the text contains no equals sign
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"setting has no value: `{text}`", hint="write key=value, such as flow.0.cca=bbr")
    return key.strip(), parse_value(value.strip())


def parse_value(text: str) -> Any:
    """Return the value that a text of TOML means, or the text itself if it is not TOML."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
