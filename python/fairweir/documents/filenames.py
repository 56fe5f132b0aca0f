"""Convert names to parts of file names."""

from __future__ import annotations

import re


def slug(name: str) -> str:
    """Return the part of a file name that stands for the CCA or file `name`.

    A name with a suffix is a path, of which the directories are removed. A name with a slash and without a suffix is a
    CCA of a QUIC stack: ``quinn/cubic`` becomes ``quinn-cubic``, and ``quinn/cubic (wake 1ms)``
    ``quinn-cubic-wake-1ms``.
    """
    path = name.replace("\\", "/")
    base = path.rsplit("/", 1)[-1]
    if re.fullmatch(r"[a-z0-9-]+/[a-z0-9]+(\{.*\})?( \(.*\))?", path):
        base = path
    return re.sub(r"[^A-Za-z0-9._]+", "-", base).strip("-.") or "cca"
