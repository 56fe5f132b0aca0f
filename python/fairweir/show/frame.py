"""Encode a document with large arrays of numbers for the pages: JSON, followed by the numbers as float32.

The layout is the length of the JSON text in bytes (uint32, little-endian), the text in UTF-8, zeros up to a multiple of
four bytes, and the numbers (float32, little-endian). In the text, ``{"$numbers": [first, count]}`` stands for a part of
the numbers; equal arrays are the same part. `web/charts/frame.ts` decodes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

NUMBERS: Final = "$numbers"


def encode(document: Mapping[str, Any]) -> bytes:
    """Return a document whose NumPy arrays follow its text; infinities and NaN outside arrays become null.

    Raises
    ------
    ValueError : a key of the document is the name that stands for numbers
    """
    parts: dict[bytes, list[int]] = {}
    length = 0

    def convert(value: Any) -> Any:
        nonlocal length
        if isinstance(value, np.ndarray):
            numbers = np.ascontiguousarray(value, dtype="<f4").tobytes()
            if numbers not in parts:
                parts[numbers] = [length, value.size]
                length += value.size
            return {NUMBERS: parts[numbers]}
        if isinstance(value, Mapping):
            if NUMBERS in value:
                raise ValueError(f"reserved key: `{NUMBERS}`")
            return {str(key): convert(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [convert(inner) for inner in value]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value

    text = json.dumps(convert(document), separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    return b"".join([len(text).to_bytes(4, "little"), text, bytes(-len(text) % 4), *parts])
