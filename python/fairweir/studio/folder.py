"""The files that the studio reads and writes: scenarios in the working folder, and those that fairweir ships."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fairweir.documents import shipped
from fairweir.documents.atomic_write import write_text
from fairweir.documents.toml import MAX_FILE_BYTES, parse_document
from fairweir.errors import ConfigError

#: Number of folders below the working folder in which scenarios are listed.
_DEPTH: Final = 3
_MAX_LISTED: Final = 500
#: Kinds of shipped files that shipped scenarios name by their paths.
_NAMED_BY_SHIPPED: Final = ("scenarios", "rules", "controllers")


@dataclass(frozen=True)
class Opened:
    """A scenario's text.

    Attributes
    ----------
    name : str, the path relative to the working folder, or the name of a shipped scenario
    text : str, TOML
    version : str, fingerprint of the text on disk; empty for a shipped scenario, which cannot be written
    base : Path of the folder to which file names in the text are relative
    """

    name: str
    text: str
    version: str
    base: Path


class ChangedOnDiskError(ConfigError):
    """The file differs from the text that was opened."""


@dataclass(frozen=True)
class Folder:
    """The working folder, outside of which nothing is read or written, except for shipped scenarios."""

    root: Path

    def open(self, name: str) -> Opened:
        """Read a scenario of the folder, or a shipped one by its name.

        Raises
        ------
        ConfigError : the file is outside the folder, cannot be read, is too large, or is not text
        """
        shipped_file = shipped.by_name("scenarios").get(name)
        path = shipped_file or self.inside(name)
        try:
            with path.open("rb") as file:
                raw = file.read(MAX_FILE_BYTES + 1)
            text = raw.decode().replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise ConfigError("not a text file", source=name, hint="a scenario is TOML, UTF-8") from None
        except OSError as error:
            reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
            raise ConfigError(reason, source=name, hint="`fairweir list scenarios` lists shipped scenarios") from None
        if len(raw) > MAX_FILE_BYTES:
            raise ConfigError(f"larger than {MAX_FILE_BYTES >> 20} MiB, the limit", source=name)
        return Opened(name, text, "" if shipped_file else _version(text), path.parent)

    def save(self, name: str, text: str, version: str | None) -> str:
        """Write a scenario and return its new version.

        Parameters
        ----------
        version : str, the version that was opened; None: replace any file; "": require that no file exists

        Raises
        ------
        ChangedOnDiskError : the file has another version
        ConfigError : the file is outside the folder or cannot be written
        """
        path = self.inside(name)
        if path.suffix != ".toml":
            raise ConfigError("a scenario's file ends in .toml", source=name, hint=f"write `{path.stem}.toml`")
        if version is not None and self._version_on_disk(path) != version:
            raise ChangedOnDiskError("changed on disk since it was opened", source=name)
        try:
            write_text(path, text)
        except OSError as error:
            raise ConfigError(f"cannot be written: {(error.strerror or str(error)).lower()}", source=name) from None
        return _version(text)

    def inside(self, name: str) -> Path:
        """Return the path of a name in the folder.

        Raises
        ------
        ConfigError : the path leads out of the folder, also through a link, or is none
        """
        path = _resolved(self.root / name, name)
        if not name or not path.is_relative_to(self.root.resolve()):
            hint = "start `fairweir studio` in the folder that contains the file"
            raise ConfigError("outside the folder in which the studio was started", source=name, hint=hint)
        return path

    def names(self) -> Iterator[str]:
        """Yield the scenarios in the folder and below it, by their relative paths."""
        patterns = ["/".join(["*"] * depth + ["*.toml"]) for depth in range(_DEPTH)]
        found = (path for pattern in patterns for path in sorted(self.root.glob(pattern)))
        number = 0
        for path in found:
            if any(part.startswith(".") for part in path.relative_to(self.root).parts) or not is_scenario(path):
                continue
            yield str(path.relative_to(self.root))
            number += 1
            if number == _MAX_LISTED:
                return

    def check_files(self, document: Mapping[str, Any], base: Path) -> None:
        """Raise an error if the scenario names a file outside the folder.

        Raises
        ------
        ConfigError : a link's trace, or a controller's file, is outside
        """
        for key, name in files_of(document):
            path = Path(name) if Path(name).is_absolute() else base / name
            try:
                path = _resolved(path, name)
                self.inside(str(path))
            except ConfigError as error:
                is_shipped = any(path.is_relative_to(shipped.folder(kind)) for kind in _NAMED_BY_SHIPPED)
                if is_shipped and base.is_relative_to(shipped.folder("scenarios")):
                    continue
                raise ConfigError(error.message, key=key, hint=error.hint) from None

    def _version_on_disk(self, path: Path) -> str:
        try:
            return _version(path.read_text(encoding="utf-8").replace("\r\n", "\n"))
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError:
            return "unreadable"
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ConfigError(
                f"cannot be written: {reason}", source=str(path.relative_to(self.root.resolve()))
            ) from None


def _resolved(path: Path, name: str) -> Path:
    """Return an absolute path without links.

    Raises
    ------
    ConfigError : the links lead in a circle, or a name has a character that no file's name has
    """
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # RuntimeError: before Python 3.13
        raise ConfigError("a link that leads in a circle", source=name) from None
    except ValueError:
        raise ConfigError("a file's name has no NUL and no half of a character", source=ascii(name)) from None


def files_of(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the key and the name of each file that a scenario's document names."""
    links = document.get("link")
    for name, link in links.items() if isinstance(links, Mapping) else ():
        if isinstance(link, Mapping) and isinstance(link.get("trace"), str):
            yield f"link.{name}.trace", link["trace"]
    for key, cca in controllers_of(document):
        file = cca.partition(":")[0]
        if file.endswith((".py", ".so", ".c", ".toml", ".json")):
            yield key, file


def controllers_of(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the key and the name of each flow's controller."""
    flows = document.get("flow")
    for i, flow in enumerate(flows if isinstance(flows, list) else ()):
        cca = flow.get("cca") if isinstance(flow, Mapping) else None
        name = cca.get("name") if isinstance(cca, Mapping) else cca
        if isinstance(name, str):
            yield f"flow.{i}.cca", name


def only_world_of(text: str) -> str:
    """Return the only world in which a scenario runs, "quic" for one with hosts; empty if it runs in several."""
    with suppress(ConfigError):
        return "quic" if "host" in parse_document(text, None) else ""
    return ""


def _version(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_scenario(path: Path) -> bool:
    """Return whether a file looks like a scenario, without parsing it."""
    try:
        head = path.read_bytes()[: 1 << 16]
    except OSError:
        return False
    return b"[[flow]]" in head or b"\nflow = [" in head
