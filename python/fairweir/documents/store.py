"""Store the results of finished work on disk, so that an interrupted command can resume.

Each result is one file, whose name is the fingerprint (a hash) of all inputs of the work. A file is written completely
or not at all. A damaged or incomplete file counts as missing: the work is repeated, and the file is replaced. Files
with other names are not modified. Results that are evidence are also sealed, and verified when they are read
(:mod:`fairweir.documents.sealed`).
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from zipfile import BadZipFile

from fairweir.documents.atomic_write import write_bytes

T = TypeVar("T")

#: Exceptions that the function `decode` of a store raises for damaged files.
_DAMAGED: Final = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    EOFError,
    RecursionError,
    BadZipFile,
    zlib.error,
)


def fingerprint(*parts: Any) -> str:
    """Return the fingerprint of inputs: the first 32 hexadecimal digits of the SHA-256 of their JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Store(Generic[T]):
    """A directory of results. If `directory` is None, nothing is stored.

    Attributes
    ----------
    directory : Path or None; created when the first result is stored
    encode, decode : functions that convert a result to the content of a file, and back; `decode` raises ValueError,
        KeyError or TypeError if the content is not a complete result
    suffix : str, suffix of the files' names
    """

    directory: Path | None
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]
    suffix: str = ".json"

    def get(self, key: str) -> T | None:
        """Return the result that is stored under a fingerprint; None if it is missing or damaged."""
        if self.directory is None:
            return None
        path = self.path(key)
        try:
            # Only a regular file is opened, because opening another kind of file, such as a pipe, could block.
            return self.decode(path.read_bytes()) if path.is_file() else None
        except (OSError, *_DAMAGED):
            return None

    def put(self, key: str, result: T) -> None:
        """Store a result under a fingerprint."""
        if self.directory is not None:
            write_bytes(self.path(key), self.encode(result))

    def path(self, key: str) -> Path:
        """Return the file of a fingerprint."""
        return (self.directory or Path()) / f"{key}{self.suffix}"


def to_json(document: Any) -> bytes:
    """Return a document as bytes of JSON."""
    return json.dumps(document).encode()
