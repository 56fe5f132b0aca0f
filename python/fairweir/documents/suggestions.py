"""Suggest known words for misspelled words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: Minimum similarity of a suggestion, from 0 to 1 (difflib's ratio). With 0.5, `expo` would be suggested for `reno`.
CUTOFF = 0.6


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most similar to `word`.

    If no known word is similar enough, return the known word that begins with `word`; if there is none or several,
    None.
    """
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
    otherwise : the hint if no known word is similar; None: a list of the known words

    Returns
    -------
    str; ``did you mean `x`?`` if a known word is similar; if not, `otherwise`; if that is None, ``known are x, y``
    """
    words = list(known)
    near = nearest(word, words)
    if near is not None:
        return f"did you mean `{near}`?"
    return otherwise if otherwise is not None else f"known are {', '.join(words)}"
