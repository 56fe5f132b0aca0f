"""Thesis Table 6.1, by algebra and packet by packet."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.contracts.analytical import alpha_fair
from fairweir.judging.outcome import Outcome
from fairweir.papers.thesis import alpha_fair as table
from fairweir.play.batch import Archive
from fairweir.play.run import run


@given(alpha=st.floats(0.2, 10.0))
def test_the_closed_form_is_the_most_useful(alpha: float) -> None:
    assert alpha_fair(alpha, table.HOPS)[0] == pytest.approx(table.most_useful(alpha), abs=1e-6)


def test_the_table_is_as_printed(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(table, "ALPHAS", (1.0, 2.0))
    monkeypatch.setattr(table, "RENO_SEEDS", range(1, 2))
    from fairweir.reproduce.computed import judge_number

    computation = table.table(Archive(tmp_path))
    found = {n.case: judge_number("thesis-table-6.1", n) for n in computation.numbers}
    judged = {case: f.outcome for case, f in found.items() if not case.startswith(("reno", "poseidon"))}
    assert set(judged.values()) == {Outcome.HOLDS}
    assert found["poseidon, max-min"].outcome is Outcome.UNKNOWN
    assert computation.draw is not None
    assert len(computation.draw().axes[0].lines) == 6


def test_reno_is_between_proportional_and_equal() -> None:
    long, *short = (flow["throughput_mbps"] for flow in run(table._reno()).summary.document["flows"])
    assert math.sqrt(2) * 0.75 < sum(short) / 2 / long < math.sqrt(2) * 1.25
