"""Store the answers of solvers on disk, and verify stored answers when they are read.

A question is a formula given to a solver. The stored file may have been edited or damaged, or may come from another
user. A certificate is a proof that small independent programs, the checkers, can verify; a trace is a counterexample
that is computed again in exact fractions. An answer with neither needs a valid seal: a keyed hash of the answer and the
question, with a key that only this user's installation has. A valid seal shows that this installation found the answer
and that the file has not changed since. A seal is not a proof, so an answer that only a seal verifies is reported as
"not re-checked". All other answers are rejected, and their questions are solved again.

The key is created at its first use, in ``$XDG_STATE_HOME/fairweir/seal.key`` (default ``~/.local/state``), readable
only by its owner. If the key cannot be created, nothing is sealed, and answers without a certificate or trace are
rejected.
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
#: Maximum size of a file that is read, bytes. A trace or an answer has a few kB; a file of the FRCC proofs has a few
#: MB.
LARGEST_BYTES: Final = 1 << 28


class NotBelievedError(Exception):
    """A stored answer is rejected; the message states the reason."""


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a document with a seal; if there is no key, the copy has no seal."""
    body = {name: value for name, value in document.items() if name != "seal"}
    key = _key(is_wanted=True)
    return body if key is None else {**body, "seal": _hash(key, body)}


def is_sealed(document: Mapping[str, Any]) -> bool:
    """Return whether this installation sealed the document and it has not changed since."""
    key, seal = _key(is_wanted=False), document.get("seal")
    if key is None or not isinstance(seal, str):
        return False
    body = {name: value for name, value in document.items() if name != "seal"}
    return hmac.compare_digest(_hash(key, body).encode(), seal.encode("utf-8", "replace"))


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Seal a document and write it to a file, completely or not at all."""
    write_text(path, json.dumps(sealed(document), indent=1) + "\n")


def read(path: Path) -> dict[str, Any]:
    """Return a document from a file. The seal is not checked; :func:`is_sealed` checks it.

    Raises
    ------
    NotBelievedError : the file cannot be read or is not a JSON object
    """
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise NotBelievedError(f"{path} is damaged: not JSON") from None
    if not isinstance(document, dict):
        raise NotBelievedError(f"{path} is damaged: not a JSON object")
    return document


def read_text(path: Path) -> str:
    """Return the content of a text file.

    Raises
    ------
    NotBelievedError : the path cannot be read, is not a file, is too large, or is not UTF-8
    """
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_BYTES:
            raise NotBelievedError(f"{path} is missing, too large, or not a file")
        # Line ends are not converted, because a checker that reads the same file would otherwise see other bytes.
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise NotBelievedError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NotBelievedError(f"{path} is damaged: not UTF-8") from None


def _hash(key: bytes, body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _key(*, is_wanted: bool) -> bytes | None:
    """Return this user's key, or None if there is none. If `is_wanted` is set, a missing key is created."""
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        path = Path(state) / "fairweir" / "seal.key"
        if is_wanted and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = path.with_name(f"seal.{secrets.token_hex(8)}.part")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            try:
                # If two processes create the key at the same time, both use the key that was linked first.
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        found = path.lstat()
        is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
        key = path.read_bytes() if is_own else b""
    except (OSError, RuntimeError):
        # There is no home directory, no disk space, or no permission.
        return None
    return key if len(key) == _KEY_BYTES else None
