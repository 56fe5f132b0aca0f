"""The place of a CCA among the known ones, from shipped values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fairweir
from fairweir.audit import Depth, run_audit
from fairweir.audit.profile import PROPERTIES, Known, known, profile_of, save_known
from fairweir.audit.report import render_report
from fairweir.audit.results import CcaResults, ClaimResult
from fairweir.cli.main import main
from fairweir.judging.outcome import Outcome

OTHERS = Known(
    version="0.0.1",
    depth="quick",
    seeds=3,
    ccas={
        "a": {"ideal-rate.ratio": 1.0, "many-flows.jain": 0.5},
        "b": {"ideal-rate.ratio": 1.005, "many-flows.jain": 0.9},
        "c": {"ideal-rate.ratio": 4.0},
    },
)


def audited(cca: str, **values: float | None) -> CcaResults:
    exhibits = [
        ClaimResult(
            name=name,
            family=name.split(".")[0],
            metric=name.split(".")[1],
            title="",
            claim="",
            value=value,
            lo=None,
            hi=None,
            unit="",
            verdict=Outcome.HOLDS,
            why="",
        )
        for name, value in values.items()
    ]
    return CcaResults(cca=cca, verdict=Outcome.HOLDS, exhibits=exhibits)


def test_a_rank_counts_the_better_ones_and_nearly_equal_ones_share_it() -> None:
    profile = profile_of(audited("mine", **{"ideal-rate.ratio": 2.0, "many-flows.jain": 0.7}), OTHERS)
    assert profile is not None
    ratio, jain = profile.places
    assert (ratio.name, ratio.rank, ratio.of, ratio.best, ratio.best_value) == ("fair shares", 3, 4, "a, b", 1.0)
    assert (jain.rank, jain.of, jain.best) == (2, 3, "b")
    equal = profile_of(audited("mine", **{"ideal-rate.ratio": 1.004}), OTHERS)
    assert equal is not None
    assert equal.places[0].rank == 1


def test_a_known_cca_is_not_ranked_against_itself_and_missing_values_are_left_out() -> None:
    profile = profile_of(audited("a", **{"ideal-rate.ratio": 1.0, "many-flows.jain": None}), OTHERS)
    assert profile is not None
    assert [(place.rank, place.of, place.best) for place in profile.places] == [(1, 3, "b")]
    assert profile_of(audited("mine"), OTHERS) is None


def test_every_property_has_a_good_side() -> None:
    assert all(one.metric.better is not None for one in PROPERTIES)


@pytest.mark.parametrize("depth", [Depth.QUICK, Depth.DEFAULT])
def test_shipped_values_are_complete(depth: Depth) -> None:
    shipped = known(depth)
    assert shipped is not None
    assert shipped.depth == depth
    assert {"reno", "cubic", "bbr"} <= set(shipped.ccas)
    for cca, values in shipped.ccas.items():
        assert set(values) == {one.exhibit for one in PROPERTIES}, cca


def test_the_command_that_shipped_values_come_from_gives_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part of them; a change of the simulator that changes them needs new files."""
    monkeypatch.chdir(tmp_path)
    exhibits = ["policer", "rate-steps", "deep-buffer"]
    words = ["audit", "reno", "bbr", "--quick", *(word for name in exhibits for word in ("--only", name))]
    assert main([*words, "--save-known", "known.json"]) in (0, 1)
    assert "reno among the known CCAs (fairweir" in capsys.readouterr().out
    measured = json.loads((tmp_path / "known.json").read_text(encoding="utf-8"))
    shipped = known(Depth.QUICK)
    assert shipped is not None
    assert measured["version"] == fairweir.__version__
    for cca, values in measured["ccas"].items():
        assert values == {name: shipped.ccas[cca][name] for name in values}
        assert len(values) == len(exhibits)


def test_the_report_and_the_json_lead_with_the_profile_unless_there_is_a_reference(tmp_path: Path) -> None:
    results = run_audit("vegas{alpha=3}", depth=Depth.QUICK, only=["policer"])
    assert [place.name for place in results.profiles[0].places] == ["policer"]
    page = render_report(results)
    assert 0 < page.index("Among the known CCAs") < page.index('id="verdicts"')
    compared = run_audit("vegas{alpha=3}", depth=Depth.QUICK, only=["policer"], against="vegas")
    assert compared.profiles == []
    assert "Among the known CCAs" not in render_report(compared)
    save_known(results, tmp_path / "one.json")
    assert Known.model_validate_json((tmp_path / "one.json").read_text(encoding="utf-8")).ccas.keys() == {
        "vegas{alpha=3}"
    }
