"""Read and write TOML files of limited size and depth, such as scenarios, rules (CCAs as data) and queries."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairweir.documents import shipped
from fairweir.documents.suggestions import nearest
from fairweir.errors import ConfigError

#: Maximum size of a file, bytes. A file with a table for each of a hundred thousand flows is smaller.
MAX_FILE_BYTES = 4 << 20

#: Maximum nesting depth of tables and lists. Scenarios and queries need a depth of six.
MAX_NESTING = 32

#: Matches a dotted key with more than 256 parts, because the parser's time is quadratic in the number of parts.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){256}""", re.ASCII)


def read_document(path: Path, *, noun: str = "scenario", hint: str | None = None) -> dict[str, Any]:
    """Read a TOML file, and return its content.

    Parameters
    ----------
    path : Path
    noun : str, the kind of document, for error messages
    hint : str, the hint of the error if the file does not exist; None: the file with the most similar name

    Raises
    ------
    ConfigError : the file cannot be read or is not TOML
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        _check_size(raw, str(path))
        text = raw.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ConfigError(f"{noun} is not a text file", source=str(path), hint=f"a {noun} is TOML, UTF-8") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        meant = None if path.exists() else hint or _file_meant(path, noun)
        raise ConfigError(f"{noun} cannot be read: {reason}", source=str(path), hint=meant) from None
    return parse_document(text, str(path))


def _file_meant(path: Path, noun: str) -> str | None:
    """Return a hint with the name of the file that the user probably meant."""
    files = {found.name: str(found) for found in path.parent.glob("*.toml")} if path.parent.is_dir() else {}
    near = nearest(path.name, files)
    if near is not None:
        return f"did you mean `{files[near]}`?"
    kind = next((kind for kind, one in shipped.KINDS.items() if one.noun == noun), None)
    if kind is None:
        return None
    # If the working directory is not the repository, `scenarios/NAME.toml` still refers to the shipped scenario.
    near = nearest(path.name.removesuffix(".toml"), shipped.by_name(kind))
    return f"did you mean the shipped `{near}`?" if near else f"`fairweir list {kind}` lists them"


def parse_document(text: str, source: str | None) -> dict[str, Any]:
    """Parse TOML text, and return its content.

    Raises
    ------
    ConfigError : the text is not TOML, is larger than :data:`MAX_FILE_BYTES`, or is nested deeper than
        :data:`MAX_NESTING`
    """
    _check_size(text.encode(errors="surrogatepass"), source)
    if _LONG_KEY.search(text):
        raise _too_deep(source)
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        reason = str(error) if not isinstance(error, RecursionError) else "nested too deeply"
        hint = 'texts are in quotes: rate = "96Mbps"' if "Invalid value" in reason else None
        raise ConfigError(f"not TOML: {reason[:1].lower()}{reason[1:]}", source=source, hint=hint) from None
    level: list[Any] = [document]
    for _ in range(MAX_NESTING + 1):
        inner = (value.values() if isinstance(value, dict) else value for value in level)
        level = [value for values in inner for value in values if isinstance(value, (dict, list))]
    if level:
        raise _too_deep(source)
    return document


def _check_size(text: bytes, source: str | None) -> None:
    if len(text) > MAX_FILE_BYTES:
        hint = "write flows of one kind as one table with a count, and put a link's trace in its own file"
        raise ConfigError(f"larger than {MAX_FILE_BYTES >> 20} MiB, the limit", source=source, hint=hint)


def _too_deep(source: str | None) -> ConfigError:
    reason = f"tables are nested more than {MAX_NESTING} deep"
    return ConfigError(reason, source=source, hint="docs/scenarios.md lists all keys")


def dump_document(document: Mapping[str, Any]) -> str:
    """Return a document as TOML text in the layout of scenarios: ``[link.NAME]``, ``[[flow]]``, and inner tables in
    braces.
    """
    import tomlkit

    def inline(value: Any) -> Any:
        if isinstance(value, Mapping):
            table = tomlkit.inline_table()
            table.update({key: inline(inner) for key, inner in value.items()})
            return table
        if isinstance(value, (list, tuple)):
            array = tomlkit.array()
            array.extend(inline(inner) for inner in value)
            return array
        return value

    def table(rows: Mapping[str, Any]) -> Any:
        block = tomlkit.table()
        block.update({key: inline(value) for key, value in rows.items()})
        return block

    text = tomlkit.document()
    text.update({key: inline(value) for key, value in document.items() if key not in {"link", "flow", "sweep"}})
    links = tomlkit.table(is_super_table=True)
    for name, rows in document.get("link", {}).items():
        links.append(name, table(rows))
    text.append("link", links)
    flows = tomlkit.aot()
    for rows in document.get("flow", []):
        flows.append(table(rows))
    text.append("flow", flows)
    if document.get("sweep"):
        text.append("sweep", table(document["sweep"]))
    return tomlkit.dumps(text)
