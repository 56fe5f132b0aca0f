"""Values of a call's body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairweir.errors import ConfigError


def text_of(body: Mapping[str, Any], key: str) -> str:
    """Return a text of a call's body.

    Raises
    ------
    ConfigError : the value is missing, not a text, or not valid Unicode
    """
    value = body.get(key)
    if not isinstance(value, str):
        raise ConfigError(f"`{key}` is a text", key=key)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"`{key}` has half of a character: a surrogate without the other", key=key) from None
    return value
