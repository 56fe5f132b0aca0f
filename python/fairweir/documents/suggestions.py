"""Hints for misspelled words: the nearest known word, or all known words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Minimum similarity (difflib's ratio, 0 to 1) of a suggestion; at 0.5 `reno` still suggested `expo`.
CUTOFF = 0.6


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most similar to `word`, or the only known word that begins with `word`; else None."""
    words = list(known)
    folded = {one.lower(): one for one in reversed(words)}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=CUTOFF)
    if close:
        return folded[close[0]]
    begun = [one for one in words if word and one.lower().startswith(word.lower())]
    return begun[0] if len(begun) == 1 else None


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str | None = None) -> str:
    """Return a hint for an unknown word.

    Parameters
    ----------
    known : known words, in the order in which the hint lists them if none is similar
    otherwise : the hint if no known word is similar; default the list of known words

    Returns
    -------
    str; ``did you mean `x`?``, else `otherwise`, else ``known are x, y``
    """
    words = list(known)
    near = nearest(word, words)
    if near is not None:
        return f"did you mean `{near}`?"
    return otherwise if otherwise is not None else f"known are {', '.join(words)}"
