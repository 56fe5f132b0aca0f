"""Text from outside on a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.cli.terminal import escape


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("link.rate = 24Mbps, [bold] C:\\x", "link.rate = 24Mbps, [bold] C:\\x"),
        ("Zürich ≥ 5 µs 日本 e\u0301", "Zürich ≥ 5 µs 日本 e\u0301"),
        ("\x1b]0;PWN\x07\x1b[2J", "\\x1b]0;PWN\\x07\\x1b[2J"),
        ("a\nb\tc\r\x00\x7f", "a\\x0ab\\x09c\\x0d\\x00\\x7f"),
        ("\x9b31m\x85", "\\x9b31m\\x85"),  # C1: CSI in one character, next line
        ("user\u202egpj.exe\u2066\u200f", "user\\u202egpj.exe\\u2066\\u200f"),
        ("a\u2028b\u2029c\u00a0d\ufeff", "a\\u2028b\\u2029c\\xa0d\\ufeff"),
        ("\udc1b", "\\udc1b"),  # a byte of a file's name that is not UTF-8
        ("\U000e0041", "\\U000e0041"),  # an invisible tag character
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert escape(text) == shown


def test_lines_are_stored_where_they_are_wanted() -> None:
    assert escape("a\n\tb\x1b\r\n", keep="\n\t") == "a\n\tb\\x1b\\x0d\n"


@given(st.text(st.characters()), st.sampled_from(["", "\n", "\n\t"]))
def test_nothing_else_is_left_and_escaping_twice_changes_nothing(text: str, keep: str) -> None:
    shown = escape(text, keep=keep)
    assert all(c.isprintable() or c in keep for c in shown)
    assert escape(shown, keep=keep) == shown
    if text.isprintable():
        assert shown == text
