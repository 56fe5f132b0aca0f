"""Escape untrusted text for display on a terminal.

A terminal executes control sequences that it receives: ESC sequences set its title, move the cursor, or insert input
(CVE-2003-0063); C1 controls have the same effects in one character; bidirectional overrides reorder the displayed text
(CVE-2021-42574). Scenarios, captures, host names and process names are untrusted.
"""

from __future__ import annotations


def escape(text: str, *, keep: str = "") -> str:
    r"""Replace each character that is not printable with its escape sequence.

    A character is printable if :meth:`str.isprintable` accepts it: all characters except those of Unicode's categories
    Other (C0 and C1 controls, bidirectional and other format characters, surrogates, unassigned code points) and
    Separator; the ASCII space is printable. Backslashes are not doubled, so the result is only for display and cannot
    be decoded. ``crates/guardd/src/terminal.rs`` has the same function in Rust.

    Parameters
    ----------
    text : str, from a file, the network or another program
    keep : str, characters that are not replaced; ``"\n"`` for a text of several lines

    Returns
    -------
    str; ``"\x1b[2J"`` becomes ``"\\x1b[2J"``, U+202E becomes ``"\\u202e"``

    Notes
    -----
    Rich also interprets ``[...]``; for Rich markup use ``rich.markup.escape(terminal.escape(text))``.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _sequence(c) for c in text)


def _sequence(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
