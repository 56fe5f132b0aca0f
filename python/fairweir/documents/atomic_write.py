"""Write a file completely or not at all, even in a folder that other users can write to.

Another user may own the folder, or may have created symbolic links in it. Therefore the content is first written to a
draft: a new file whose name cannot be guessed, and which is not used if it exists already. The complete draft is then
renamed to the file's name in one step. If a symbolic link has that name, the link is replaced; its target is not
modified.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from fairweir.errors import ConfigError


def write_text(path: Path, text: str) -> Path:
    """Write a text as UTF-8, completely or not at all, and return `path`."""
    return write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> Path:
    """Write bytes, completely or not at all, and return `path`."""
    with draft(path) as file:
        file.write(content)
    return path


@contextmanager
def draft(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file. When the block ends, the file is renamed to `path`; if the block raises an exception, it is
    deleted.

    Parameters
    ----------
    path : Path; its folder is created if it does not exist

    Raises
    ------
    ConfigError : `path` is a device, a pipe or a socket, or a link to one of these, which must not be replaced
    """
    _require_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{secrets.token_hex(16)}.part")
    try:
        with unfinished.open("xb") as file:
            yield file
        unfinished.replace(path)
    except BaseException as error:
        with suppress(OSError):  # such as of a file system that has become read-only
            unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in {None, str(unfinished)}:
            # The error shows the file's name instead of the draft's name, which the user does not know.
            error.filename, error.filename2 = str(path), None
        raise


def append_line(path: Path, line: str) -> None:
    """Append a line to a file, which is created if it does not exist.

    If the file does not end with a newline, a crash interrupted the last write. A newline is then added first, so that
    only the incomplete line is lost.

    Parameters
    ----------
    line : str, without the newline

    Raises
    ------
    ConfigError : `path` is a symbolic link or not a regular file
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
        # The file does not exist or is a broken link; other errors are raised when the draft is created.
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise _not_a_file(path)


def _not_a_file(path: Path) -> ConfigError:
    return ConfigError(f"not a regular file: `{path}`", hint="choose the name of a file, not of a link, device or pipe")
