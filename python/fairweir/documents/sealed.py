"""Answers stored on disk, and their verification when they are read again.

A file may have been edited or damaged, or come from someone else. Answers that can be verified are: a certificate by
the checkers, a trace by the exact evaluator. The others need a valid seal: a keyed hash over the answer and the
question, with a key that only this user's installation has. A sealed answer was found here and has not been changed
since; that is not a proof, so an answer verified by its seal only is reported as "not re-checked". Other answers are
rejected, and their question is asked again.

The key is made at its first use: ``$XDG_STATE_HOME/fairweir/seal.key`` (default ``~/.local/state``), readable by its
owner alone. If it cannot be created, nothing is sealed, and answers without a certificate or trace are rejected.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fairweir.documents.atomic_write import write_text

_KEY_BYTES: Final = 32
#: Larger files are not read; a trace or an answer has some kB, FRCC's cells some MB.
LARGEST_BYTES: Final = 1 << 28


class NotBelievedError(Exception):
    """A stored answer is rejected; the text has the reason."""


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with its seal; without a key, unchanged."""
    body = {name: value for name, value in document.items() if name != "seal"}
    key = _key(is_wanted=True)
    return body if key is None else {**body, "seal": _hash(key, body)}


def is_sealed(document: Mapping[str, Any]) -> bool:
    """Return whether this document was sealed here, and not changed since."""
    key, seal = _key(is_wanted=False), document.get("seal")
    if key is None or not isinstance(seal, str):
        return False
    body = {name: value for name, value in document.items() if name != "seal"}
    return hmac.compare_digest(_hash(key, body).encode(), seal.encode("utf-8", "replace"))


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a sealed document completely or not at all."""
    write_text(path, json.dumps(sealed(document), indent=1) + "\n")


def read(path: Path) -> dict[str, Any]:
    """Read a document; its seal is not checked.

    Raises
    ------
    NotBelievedError : it cannot be read, or is not a JSON object
    """
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise NotBelievedError(f"{path} is damaged: not JSON") from None
    if not isinstance(document, dict):
        raise NotBelievedError(f"{path} is damaged: not an object")
    return document


def read_text(path: Path) -> str:
    """Read a text.

    Raises
    ------
    NotBelievedError : it cannot be read, is not a file, too large, or not UTF-8
    """
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_BYTES:
            raise NotBelievedError(f"{path} is missing, too large, or not a file")
        # Bytes as on disk: line ends are not translated, since a checker that reads the file itself would see them.
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise NotBelievedError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NotBelievedError(f"{path} is damaged: not UTF-8") from None


def _hash(key: bytes, body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _key(*, is_wanted: bool) -> bytes | None:
    """Return this user's key; optionally create it if it does not exist."""
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        path = Path(state) / "fairweir" / "seal.key"
        if is_wanted and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = path.with_name(f"seal.{secrets.token_hex(8)}.part")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            try:
                # If two processes create it at once, the first one's key is used.
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        found = path.lstat()
        is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
        key = path.read_bytes() if is_own else b""
    except (OSError, RuntimeError):
        # No home, no room, no permission.
        return None
    return key if len(key) == _KEY_BYTES else None
