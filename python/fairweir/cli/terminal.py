"""Text from outside, made safe to show on a terminal.

A terminal executes what it receives: ESC sequences set its title, move the cursor, or type for the user
(CVE-2003-0063); C1 controls do the same in one character; bidirectional overrides reorder what a reader sees
(CVE-2021-42574). Scenarios, captures, host names and process names come from others.
"""

from __future__ import annotations


def escape(text: str, *, keep: str = "") -> str:
    r"""Replace every character that is not printable by its escape sequence.

    Printable is what :meth:`str.isprintable` accepts: everything but Unicode's categories Other (C0 and C1 controls,
    bidirectional and other format characters, surrogates, unassigned code points) and Separator, with the exception of
    the ASCII space. Backslashes are not doubled, so the result is for display and cannot be decoded.
    ``crates/guardd/src/terminal.rs`` is the same function in Rust.

    Parameters
    ----------
    text : str, from a file, the network or another program
    keep : str, characters that are not replaced; ``"\n"`` for a text of several lines

    Returns
    -------
    str; ``"\x1b[2J"`` becomes ``"\\x1b[2J"``, U+202E becomes ``"\\u202e"``

    Notes
    -----
    Rich interprets ``[...]`` in addition: ``rich.markup.escape(terminal.escape(text))``.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _sequence(c) for c in text)


def _sequence(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
