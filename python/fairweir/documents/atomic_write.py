"""Write a file whole or not at all, wherever it goes.

The folder may belong to someone else, or hold links that someone else has planted. The draft has a name that cannot be
guessed, and is never opened if that name exists; the finished draft takes the file's name in one step. A link of that
name is replaced: its target is not touched.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fairweir.errors import ConfigError


def write_text(path: Path, text: str) -> Path:
    """Write a text as UTF-8; return `path`."""
    return write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> Path:
    """Write bytes; return `path`."""
    with draft(path) as file:
        file.write(content)
    return path


@contextmanager
def draft(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file next to `path`, which takes its name when the block ends; after an exception nothing is left.

    Parameters
    ----------
    path : Path; its folder is made if it is missing

    Raises
    ------
    ConfigError : `path` is a device, a pipe or a socket, or leads to one, which a file cannot replace
    """
    _require_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{secrets.token_hex(16)}.part")
    try:
        with unfinished.open("xb") as file:
            yield file
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def append_line(path: Path, line: str) -> None:
    """Add a line at the end of a file, which is created if it is missing.

    A line that a crash cut short is ended first, so that only that one is lost.

    Parameters
    ----------
    line : str, without its end

    Raises
    ------
    ConfigError : `path` is a link, or no file
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENXIO}:
            raise
        raise _not_a_file(path) from None
    with os.fdopen(descriptor, "wb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _not_a_file(path)
        is_cut = status.st_size > 0 and os.pread(descriptor, 1, status.st_size - 1) != b"\n"
        file.write(b"\n" * is_cut + line.encode() + b"\n")


def _require_replaceable(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError:
        # Nothing is there, or a link that leads nowhere; what else is wrong shows when the draft is made.
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise _not_a_file(path)


def _not_a_file(path: Path) -> ConfigError:
    return ConfigError(f"not a regular file: `{path}`", hint="choose the name of a file, not of a link, device or pipe")
