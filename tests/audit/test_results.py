"""``results.json``, its comparison with a baseline, JUnit and the files of failing exhibits."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from fairweir.audit.baseline import compare
from fairweir.audit.evidence import write_evidence
from fairweir.audit.junit import write_junit
from fairweir.audit.report.page import render_report
from fairweir.audit.results import AuditResults, CcaResults, ClaimResult
from fairweir.audit.summary import write_summary
from fairweir.documents.filenames import slug
from fairweir.errors import ConfigError
from fairweir.judging.outcome import Direction, Outcome, Threshold
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

if TYPE_CHECKING:
    from pathlib import Path

AT_MOST_2 = Threshold(bound=2.0, direction=Direction.AT_MOST, reason="because", source="here")
AT_LEAST_HALF = Threshold(bound=0.5, direction=Direction.AT_LEAST, reason="because", source="here")


def exhibit(
    value: float | None, lo: float | None, hi: float | None, verdict: Outcome, threshold: Threshold | None = AT_MOST_2
) -> ClaimResult:
    return ClaimResult(
        name="sweep.ratio",
        family="sweep",
        metric="ratio",
        title="fairness",
        claim="rates are even",
        value=value,
        lo=lo,
        hi=hi,
        unit="",
        at="96 Mbps",
        threshold=threshold,
        verdict=verdict,
        why="at every point",
        scenario_toml=dumbbell(["reno", "reno"]).to_toml(),
    )


def results(*exhibits: ClaimResult, cca: str = "bbr") -> AuditResults:
    return AuditResults(
        version="0.1.0",
        depth="quick",
        seeds=[1, 2, 3],
        complete=True,
        ccas=[CcaResults(cca=cca, verdict=Outcome.HOLDS, exhibits=list(exhibits))],
    )


def test_saved_results_load_unchanged(tmp_path: Path) -> None:
    written = results(exhibit(1.5, 1.4, 1.6, Outcome.HOLDS))
    written.save(tmp_path / "results.json")
    assert AuditResults.load(tmp_path / "results.json") == written
    assert [p.name for p in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize("text", ["", "{}", '{"format": "other/1"}', "[1]"])
def test_other_files_are_rejected(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="not the results of an audit"):
        AuditResults.load(path)


def test_a_missing_baseline_is_reported_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such file: `.*none\.json`"):
        AuditResults.load(tmp_path / "none.json")


BEFORE = results(exhibit(1.5, 1.4, 1.6, Outcome.HOLDS))


def directions(before: AuditResults, now: AuditResults) -> list[str]:
    return [change.direction for change in compare(before, now).changes]


def test_nothing_changes_within_the_interval() -> None:
    assert directions(BEFORE, BEFORE) == []
    assert directions(BEFORE, results(exhibit(1.58, 1.5, 1.7, Outcome.HOLDS))) == []


def test_a_whole_interval_on_the_good_side_is_an_improvement() -> None:
    assert directions(BEFORE, results(exhibit(1.0, 1.0, 1.1, Outcome.HOLDS))) == ["improved"]


def test_a_whole_interval_beyond_the_old_one_is_a_worsening() -> None:
    (found,) = compare(BEFORE, results(exhibit(1.8, 1.7, 1.9, Outcome.HOLDS))).worsened
    assert "bbr: sweep.ratio worsened: 1.50 [1.40, 1.60] holds -> 1.80 [1.70, 1.90] holds" in str(found)


def test_a_claim_that_held_and_fails_is_a_worsening() -> None:
    now = results(exhibit(None, None, None, Outcome.FAILS))
    (found,) = compare(BEFORE, now).worsened
    assert found.reason == "its claim held and now fails"
    (found,) = compare(now, BEFORE).improved
    assert found.reason == "its claim failed and now holds"


def test_for_lower_bounds_less_is_worse() -> None:
    before = results(exhibit(0.9, 0.89, 0.91, Outcome.HOLDS, AT_LEAST_HALF))
    assert directions(before, results(exhibit(0.8, 0.79, 0.81, Outcome.HOLDS, AT_LEAST_HALF))) == ["worsened"]
    assert directions(before, results(exhibit(0.99, 0.98, 1.0, Outcome.HOLDS, AT_LEAST_HALF))) == ["improved"]


def test_the_third_digit_is_no_change() -> None:
    before = results(exhibit(1.5, 1.5, 1.5, Outcome.HOLDS))
    assert directions(before, results(exhibit(1.51, 1.51, 1.51, Outcome.HOLDS))) == []
    assert directions(before, results(exhibit(1.55, 1.55, 1.55, Outcome.HOLDS))) == ["worsened"]


def test_only_claims_of_both_documents_are_compared() -> None:
    found = compare(BEFORE, results(exhibit(9.0, 9.0, 9.0, Outcome.FAILS), cca="reno"))
    assert (found.compared, found.changes) == (0, [])
    assert found.not_compared == ["reno: sweep.ratio (only in this audit)", "bbr: sweep.ratio (only in the baseline)"]
    assert compare(BEFORE, BEFORE).compared == 1


def test_with_a_baseline_junit_fails_only_for_what_worsened(tmp_path: Path) -> None:
    failing = exhibit(3.0, 2.9, 3.1, Outcome.FAILS)
    other = exhibit(1.5, 1.5, 1.5, Outcome.HOLDS).model_copy(update={"name": "sweep.other"})
    worse = exhibit(4.0, 4.0, 4.0, Outcome.FAILS).model_copy(update={"name": "sweep.other"})
    now = results(failing, worse)
    now.comparison = compare(results(failing, other), now)
    write_junit(now, tmp_path / "junit.xml")
    suite = ET.parse(tmp_path / "junit.xml").getroot().find("testsuite")  # noqa: S314
    assert suite is not None
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "0")
    (case,) = [case for case in suite if case.find("failure") is not None]
    assert case.get("name") == "sweep.other"
    failure = case.find("failure")
    assert failure is not None
    assert "sweep.other worsened: 1.50 holds -> 4.00 fails" in failure.get("message", "")


def test_the_comparison_is_in_the_document_the_summary_and_the_report(tmp_path: Path) -> None:
    now = results(exhibit(3.0, 2.9, 3.1, Outcome.FAILS))
    now.comparison = compare(BEFORE, now, "before/results.json")
    now.save(tmp_path / "results.json")
    assert AuditResults.load(tmp_path / "results.json").comparison == now.comparison
    assert json.loads(now.for_stdout())["comparison"]["changes"][0]["direction"] == "worsened"
    write_summary(now, tmp_path / "summary.md")
    summary = (tmp_path / "summary.md").read_text()
    assert "## Against the baseline: 1 worsened (1 claims compared)" in summary
    assert "| worsened | bbr | sweep.ratio |" in summary
    page = render_report(now)
    assert "before/results.json" in page
    assert '<tr class="worsened">' in page
    assert '<tr class="open changed">' in page


def test_the_summary_escapes_markup_of_users(tmp_path: Path) -> None:
    failing = exhibit(3.0, 2.9, 3.1, Outcome.FAILS)
    failing.why = "raised <img src=x> | `rm`\n# heading"
    write_summary(results(failing), tmp_path / "summary.md")
    summary = (tmp_path / "summary.md").read_text()
    assert r"raised \<img src=x\> \| \`rm\` # heading |" in summary


def test_junit_has_a_case_an_exhibit_and_survives_control_characters(tmp_path: Path) -> None:
    failing = exhibit(3.0, 2.9, 3.1, Outcome.FAILS)
    failing.why = "raised \x00 < & >"
    unknown = exhibit(2.0, 1.0, 3.0, Outcome.UNKNOWN).model_copy(update={"name": "sweep.other"})
    write_junit(results(failing, unknown), tmp_path / "junit.xml")
    suite = ET.parse(tmp_path / "junit.xml").getroot().find("testsuite")  # noqa: S314
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    assert [case.get("name") for case in suite] == ["sweep.ratio", "sweep.other"]


def test_a_failing_exhibit_leaves_a_scenario_that_loads(tmp_path: Path) -> None:
    found = results(exhibit(3.0, 2.9, 3.1, Outcome.FAILS))
    stale = tmp_path / "failing"
    stale.mkdir()
    (stale / "old.toml").write_text("")
    write_evidence(found, tmp_path)
    kept = found.ccas[0].exhibits[0]
    assert kept.scenario == "failing/bbr-sweep.ratio.toml"
    assert kept.replay == f"fairweir run {tmp_path}/failing/bbr-sweep.ratio.toml"
    assert len(Scenario.load(tmp_path / kept.scenario).flow) == 2
    assert [p.name for p in stale.iterdir()] == ["bbr-sweep.ratio.toml"]


def test_ccas_of_one_file_name_do_not_share_a_scenario(tmp_path: Path) -> None:
    found = results(exhibit(3.0, 2.9, 3.1, Outcome.FAILS), cca="a/mine.py:X")
    found.ccas += results(exhibit(4.0, 3.9, 4.1, Outcome.FAILS), cca="b/mine.py:X").ccas
    write_evidence(found, tmp_path)
    assert [cca.exhibits[0].scenario for cca in found.ccas] == [
        "failing/mine.py-X-sweep.ratio.toml",
        "failing/mine.py-X-sweep.ratio-2.toml",
    ]


def test_holding_exhibits_leave_none(tmp_path: Path) -> None:
    write_evidence(results(exhibit(1.0, 1.0, 1.0, Outcome.HOLDS)), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bbr", "bbr"),
        ("/a/b/mine.py:Class", "mine.py-Class"),
        ("../x.bpf.c", "x.bpf.c"),
        ("///", "cca"),
        ("s2n-quic/bbr", "s2n-quic-bbr"),
    ],
)
def test_names_become_file_names(name: str, expected: str) -> None:
    assert slug(name) == expected
