"""Convert names to parts of file names."""

from __future__ import annotations

import re


def slug(name: str) -> str:
    """Return `name`, without directories, as part of a file name."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    return re.sub(r"[^A-Za-z0-9._]+", "-", base).strip("-.") or "cca"
