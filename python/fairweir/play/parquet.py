"""Parquet files, which may be damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairweir.errors import ConfigError

if TYPE_CHECKING:
    import arro3.core as arrow

HINT: Final = "use a Parquet file of numbers and text"
#: The first and the last bytes of a Parquet file.
_MAGIC: Final = b"PAR1"
#: Rows that are decoded at once.
_BATCH: Final = 1 << 20
#: Decode a file: exit with 0 if it could be decoded, else print the reason if there is one.
_TRIAL: Final = f"""
import sys
sys.path[:] = sys.argv[2:]
from arro3.io import read_parquet
try:
    read_parquet(sys.argv[1], batch_size={_BATCH}).read_all()
except Exception as error:
    print(error)
    sys.exit(1)
"""


def read_arrow(path: Path) -> arrow.Table:
    """Read a Parquet file.

    Raises
    ------
    ConfigError : it cannot be read, or is damaged
    """
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC)) == _MAGIC
            is_parquet = begins and file.seek(-len(_MAGIC), os.SEEK_END) > 0 and file.read() == _MAGIC
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {(error.strerror or str(error)).lower()}", hint=HINT, source=str(path)
        ) from None
    if not is_parquet:
        raise _not_parquet(path, f"does not begin and end with {_MAGIC.decode()}")
    _try_to_read(path)
    from arro3.io import read_parquet

    return read_parquet(path, batch_size=_BATCH).read_all()


def _try_to_read(path: Path) -> None:
    """Decode the file in a process of its own: arro3 panics at some damaged bytes, and at some aborts the process."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-S", "-c", _TRIAL, str(path), *sys.path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stdout.decode("utf-8", "replace").split("\n")
        raise _not_parquet(path, lines[0] or "it is damaged")


def _not_parquet(path: Path, reason: str) -> ConfigError:
    return ConfigError(f"cannot be read as Parquet: {reason}", hint=HINT, source=str(path))
