"""The erasure code with bytes, called from Python; crates/video tests it packet by packet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir import _core
from fairweir.errors import ConfigError


@given(st.data(), st.integers(1, 20), st.integers(0, 20), st.integers(0, 30))
def test_any_sufficient_set_recovers(data: st.DataObject, message: int, repair: int, length: int) -> None:
    packets = [data.draw(st.binary(min_size=length, max_size=length)) for _ in range(message)]
    code = packets + _core.fec_repair(packets, message + repair)
    assert len(code) == message + repair
    arrived = data.draw(st.permutations(range(message + repair)))[:message]
    assert _core.fec_recover(message, message + repair, {i: code[i] for i in arrived}) == packets


def test_a_vector_of_rfc_5510s_matrix() -> None:
    # Two packets: the line through (1, a) and (alpha, b), read off at alpha^2: (1 + alpha) b - alpha a = 3 b + 2 a.
    assert _core.fec_repair([b"\x01\x00\x80", b"\x00\x01\x80"], 3) == [b"\x02\x03\x80"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: _core.fec_repair([], 3), "no erasure code has 0 data packets among 3 packets"),
        (lambda: _core.fec_repair([b"a"] * 3, 256), "no erasure code has 3 data packets among 256 packets"),
        (lambda: _core.fec_repair([b"ab", b"a"], 3), "packet 1 has 1 bytes, but the first packet has 2"),
        (lambda: _core.fec_recover(2, 3, {0: b"a"}), "1 packets are too few: the code needs 2"),
        (lambda: _core.fec_recover(2, 3, {0: b"a", 7: b"b"}), "index 7 is not below the 3 packets of the code"),
    ],
)
def test_invalid_input_is_rejected(call: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        call()  # type: ignore[operator]
    assert caught.value.hint
