"""Data in a page as a text: compressed with gzip, in Base64. The browser decompresses it without a library."""

from __future__ import annotations

import base64
import gzip


def pack(content: bytes) -> str:
    """Return the content as a text for a script element; equal contents give equal texts."""
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def unpack(text: str) -> bytes:
    """Return the content of a packed text.

    Raises
    ------
    ValueError, OSError : the text is not a packed content
    """
    return gzip.decompress(base64.b64decode(text))
