"""Files of results in the working folder: listed for a page, and sent to the browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from fairweir.errors import ConfigError
from fairweir.studio.folder import Folder, is_scenario

#: Media type by suffix; no other files are sent.
TYPES: Final = {
    ".html": "text/html",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
    ".json": "application/json",
    ".xml": "text/plain",
    ".md": "text/plain",
    ".txt": "text/plain",
    ".toml": "text/plain",
    ".csv": "text/plain",
    ".smt2": "text/plain",
    ".parquet": "application/octet-stream",
}
#: A page from the working folder runs its own scripts, but in an origin of its own: it cannot call the studio, and it
#: loads nothing from the network.
_PAGE_POLICY: Final = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: Folders in which commands store finished runs, and the files of such runs (fairweir/documents/store.py).
_STORES: Final = frozenset({"runs", "cache"})
_STORED: Final = re.compile(r"[0-9a-f]{32,64}(-.*)?\.json")
_DEPTH: Final = 3
_MAX_LISTED: Final = 300


@dataclass(frozen=True)
class ResultFile:
    """A file of results.

    Attributes
    ----------
    name : str, path relative to the working folder
    kind : str, "page", "scenario" or "file"
    """

    name: str
    kind: str


def result_files(folder: Folder, output: Path) -> list[ResultFile]:
    """Return the files in a folder of results, or the one file, that the browser can show: pages first."""
    start = folder.inside(str(output))
    found = [start] if start.is_file() else list(_below(start, _DEPTH)) if start.is_dir() else []
    root = folder.root.resolve()
    listed = [ResultFile(path.relative_to(root).as_posix(), _kind(path)) for path in found if path.suffix in TYPES]
    return sorted(listed, key=lambda file: (file.kind != "page", file.name.count("/"), file.name))[:_MAX_LISTED]


def _below(folder: Path, depth: int) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name.startswith(".") or path.name in _STORES:
            continue
        if path.is_dir() and depth > 1:
            yield from _below(path, depth - 1)
        elif path.is_file() and not _STORED.fullmatch(path.name):
            yield path


def _kind(path: Path) -> str:
    if path.suffix == ".html":
        return "page"
    return "scenario" if path.suffix == ".toml" and is_scenario(path) else "file"


def send(folder: Folder, name: str) -> Response:
    """Return the answer with a file of the working folder.

    Raises
    ------
    HTTPException : the file is outside the folder, hidden, of another type, or does not exist
    """
    path = _sendable(folder, name)
    if path is None:
        raise HTTPException(404)
    return FileResponse(path, media_type=TYPES[path.suffix], headers={"content-security-policy": _PAGE_POLICY})


def _sendable(folder: Folder, name: str) -> Path | None:
    try:
        path = folder.inside(name)
        parts = path.relative_to(folder.root.resolve()).parts
        is_hidden = any(part.startswith(".") for part in parts)
        return path if path.suffix in TYPES and not is_hidden and path.is_file() else None
    except (ConfigError, ValueError, OSError):
        return None
