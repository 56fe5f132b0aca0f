"""Quantities: exact conversion from and to text, operators with consistent dimensions, no factors in other modules."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairweir
from fairweir.errors import ConfigError
from fairweir.units import Bytes, Duration, Rate

NS = st.integers(0, 2**53)


def test_numbers_enter_and_leave_in_named_units() -> None:
    assert Rate.parse("24Mbps") == Rate.from_mbps(24) == Rate.from_bytes_per_s(3_000_000)
    assert (Rate.parse("24Mbps").mbps, Rate.parse("24Mbps").bps) == (24.0, 24e6)
    assert Duration.parse("40ms") == Duration.from_ms(40) == Duration.from_us(40_000) == Duration.from_s(0.04)
    assert (Duration.parse("1.5s").ms, Duration.parse("1.5s").s, Duration.parse("1.5s").ns) == (1500.0, 1.5, 1.5e9)
    assert (Bytes.parse("64KiB").bytes, Bytes.parse("3MB").kb) == (65536, 3000.0)


@given(ns=NS, bytes_per_s=st.integers(0, 2**50), size=NS)
def test_text_is_exact_both_ways(ns: int, bytes_per_s: int, size: int) -> None:
    assert Duration.parse(str(Duration.from_ns(ns))) == Duration.from_ns(ns)
    assert Rate.parse(str(Rate.from_bytes_per_s(bytes_per_s))) == Rate.from_bytes_per_s(bytes_per_s)
    assert Bytes.parse(str(Bytes(size))) == Bytes(size)


@given(mbps=st.integers(1, 10**6), ms=st.integers(1, 10**6))
def test_dimensions_combine_as_they_do_in_rust(mbps: int, ms: int) -> None:
    rate, time = Rate.from_mbps(mbps), Duration.from_ms(ms)
    data = rate * time
    assert data.bytes == mbps * ms * 125
    assert (data / rate).ns == time.ns
    assert (data / time).bytes_per_s == rate.bytes_per_s
    assert (2 * rate) / rate == (rate * 2) / rate == (np.float64(2.0) * rate) / rate == 2.0
    assert time + time == 2 * time
    assert (time - 3 * time).ms == -2 * ms
    assert str(-time) == f"-{time}"


WRONG: list[tuple[Callable[[Any, Any], object], object, object]] = [
    (operator.add, Rate.from_mbps(1), Duration.from_ms(1)),
    (operator.sub, Rate.from_mbps(1), Bytes(1)),
    (operator.lt, Rate.from_mbps(1), Duration.from_ms(1)),
    (operator.ge, Bytes(1), Rate.from_mbps(1)),
    (operator.mul, Rate.from_mbps(1), Rate.from_mbps(1)),
    (operator.mul, Duration.from_ms(1), Duration.from_ms(1)),
    (operator.mul, Duration.from_ms(1), Bytes(1)),
    (operator.truediv, Rate.from_mbps(1), Duration.from_ms(1)),
    (operator.truediv, Duration.from_ms(1), Bytes(1)),
    (operator.add, Rate.from_mbps(1), 1.0),
    (operator.lt, Duration.from_ms(1), 1.0),
    (operator.truediv, 1.0, Rate.from_mbps(1)),
    (operator.mul, Rate.from_mbps(1), "2"),
]


@pytest.mark.parametrize(("combine", "left", "right"), WRONG)
def test_wrong_dimensions_are_errors(combine: Callable[[Any, Any], object], left: object, right: object) -> None:
    with pytest.raises(TypeError):
        combine(left, right)


def test_wrong_dimensions_are_type_errors_too() -> None:
    """The type errors are checked by mypy, which reports an unnecessary ignore as an error."""
    rate, time = Rate.from_mbps(1), Duration.from_ms(1)
    with pytest.raises(TypeError):
        rate + time  # type: ignore[operator]
    with pytest.raises(TypeError):
        assert rate < time  # type: ignore[operator]
    with pytest.raises(TypeError):
        time * time  # type: ignore[operator]
    assert rate != time  # type: ignore[comparison-overlap]


@pytest.mark.parametrize("text", ["1Mbit/s", "1Mbit", "1000kbit/s", "0.001Gbit", "1000000bit/s", "1Mbps"])
def test_rates_are_read_in_every_spelling_that_is_documented(text: str) -> None:
    assert Rate.parse(text) == Rate.from_mbps(1)
    assert str(Rate.parse(text)) == "1Mbps"


def test_a_number_without_a_unit_is_rejected() -> None:
    for parse in (Rate.parse, Duration.parse, Bytes.parse):
        with pytest.raises(ConfigError, match="has no unit"):
            parse("24")


FACTORS = {10.0**n for n in (3, 6, 9, 12, -3, -6, -9, -12)} | {8e-3, 8e-6, 8e-9, 8e3, 8e6, 125.0, 125e3, 0.125, 12e3}
PACKAGE = Path(fairweir.__file__).parent
#: Models whose units are C = R = 1.
ELSEWHERE = {"formal", "synth"}
#: Figures of such models.
FIGURES = {str(Path("papers", "thesis", name)) for name in ("frontier.py", "probes.py")}
#: Factors without a dimension: millions of packets, seeds, ends of searches. File -> how many.
NO_UNIT = {
    "audit/summary.py": 1,
    "cli/audit.py": 1,
    "cli/run.py": 1,
    "contracts/design.py": 1,
    "contracts/fit.py": 3,
    "cli/checks.py": 1,
    "guard/configurations.py": 1,
}


def conversions(tree: ast.AST) -> Iterator[ast.expr]:
    """Return products and quotients by a power of ten, and all factors between bits and bytes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.FloorDiv):
            sides = [side.value for side in (node.left, node.right) if isinstance(side, ast.Constant)]
            if any(isinstance(value, int | float) and float(value) in FACTORS for value in sides):
                yield node
        elif isinstance(node, ast.Constant) and node.value in (8e-3, 8e-6, 8e-9):
            yield node


def names(tree: ast.AST) -> Iterator[ast.Name]:
    """Return names of factors, such as NS_PER_S, that a module assigns."""
    factor = re.compile(r"_?(NS|US|MS|BITS?|BYTES?)_PER_(US|MS|S|BYTE|MEGABIT|MBPS)")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and factor.fullmatch(node.id):
            yield node


def test_no_other_module_converts_units() -> None:
    def found_in(tree: ast.AST) -> list[ast.expr]:
        return [*conversions(tree), *names(tree)]

    found: list[str] = []
    for file in sorted(PACKAGE.rglob("*.py")):
        place = file.relative_to(PACKAGE)
        if place.name == "units.py" or place.parts[0] in ELSEWHERE or str(place) in FIGURES:
            continue
        source = file.read_text(encoding="utf-8")
        here = [f"{place}:{n.lineno}: {ast.get_source_segment(source, n)}" for n in found_in(ast.parse(source))]
        found += here if len(here) != NO_UNIT.get(str(place), 0) else []
    assert not found, "\n".join(found)
