"""Convert names to parts of file names."""

from __future__ import annotations

import re


def slug(name: str) -> str:
    """Return `name`, without directories, as part of a file name.

    Names of files have a suffix. A name with a slash and without one is a controller of a QUIC stack: ``quinn/cubic``
    becomes ``quinn-cubic``.
    """
    path = name.replace("\\", "/")
    base = path.rsplit("/", 1)[-1]
    if re.fullmatch(r"[a-z0-9-]+/[a-z0-9]+(\{.*\})?", path):
        base = path
    return re.sub(r"[^A-Za-z0-9._]+", "-", base).strip("-.") or "cca"
