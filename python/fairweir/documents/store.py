"""Finished work on disk, so that the same command resumes: a file each, named after all that the work depends on.

A file is written whole or not at all. A file that is damaged, or lacks a part, counts as missing: the work is done
again and replaces it. Files of other names are never touched. Answers that are evidence are sealed as well, and
verified when they are read (:mod:`fairweir.documents.sealed`).
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

#: What decoders raise for damaged files.
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
    """Return a name for what the parts describe: 32 hexadecimal digits of the SHA-256 of their JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Store(Generic[T]):
    """Results in a directory; without a directory nothing is stored.

    Attributes
    ----------
    directory : Path or None; created when the first result is stored
    encode, decode : functions from a result to a file's content and back; `decode` raises ValueError, KeyError or
        TypeError unless the content is a whole result
    suffix : str, of the files
    """

    directory: Path | None
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]
    suffix: str = ".json"

    def get(self, key: str) -> T | None:
        """Return the result stored under a fingerprint; None if there is none, or it is damaged."""
        if self.directory is None:
            return None
        path = self.path(key)
        try:
            # Only a regular file is opened: another kind of that name, such as a pipe, could block.
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
    """Encode a JSON document."""
    return json.dumps(document).encode()
