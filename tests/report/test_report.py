"""The page of an audit: its content, and that it needs no other files."""

from __future__ import annotations

import json
import math
import re
import struct
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import pytest

from fairweir.audit.report import render_report, write_report
from fairweir.audit.report.overtime import side_by_side
from fairweir.judging.outcome import Outcome
from fairweir.show import formats
from fairweir.show.figure import SERIES_DIGITS
from fairweir.show.frame import NUMBERS
from fairweir.show.packed import unpack

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fairweir.audit.results import AuditResults, FamilyResult

BYTES_OF_AN_EMPTY_PAGE = 1_500_000
"""The page's maximum size; plotly takes 0.7 MB."""


class Reader(HTMLParser):
    """Collects the elements, ids, links and scripts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.words: list[str] = []
        self._script: str | None = None
        self._is_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        keys = dict(attrs)
        self.tags.append((tag, keys))
        self._script = (keys.get("id") or f"script {len(self.scripts)}") if tag == "script" else None
        self._is_style = tag == "style"

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data
        elif not self._is_style:
            self.words.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._script, self._is_style = None, False

    @property
    def ids(self) -> list[str]:
        return [str(keys["id"]) for _, keys in self.tags if "id" in keys]

    @property
    def specs(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = json.loads(unpack(self.scripts["specs"])) if "specs" in self.scripts else {}
        return found

    @property
    def courses(self) -> dict[str, Any]:
        """The pictures over time by their ids."""
        return {name: one for name, (one,) in decode(unpack(self.scripts["courses"])).items()}

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(results: AuditResults) -> Reader:
    reader = Reader()
    reader.feed(render_report(results))
    reader.close()
    return reader


def test_the_page_makes_no_network_requests(results: AuditResults) -> None:
    page = render_report(results)
    reader = read(results)
    policy = next(k["content"] for _, k in reader.tags if k.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert "connect-src" not in policy
    for tag, keys in reader.tags:
        assert tag not in {"link", "iframe", "img", "object", "embed", "base"}
        for key in ("src", "srcset", "data", "action", "poster"):
            assert key not in keys, (tag, keys)
        assert not (keys.get("href") or "#").startswith(("http", "//")), keys
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_every_figure_is_valid_for_plotly(results: AuditResults) -> None:
    specs = read(results).specs
    assert len(specs) > 5
    for spec in specs.values():
        go.Figure(spec)


def test_flows_of_ccas_with_parameters_have_the_names_of_the_others(results: AuditResults) -> None:
    traces = []
    for cca, name in (("reno", "reno"), ("cubic{beta=0.5}", "cubic")):
        trace = next(f for f in results.ccas[0].families if f.traces).traces[0]
        flows = [flow.model_copy(update={"cca": cca, "id": f"{name}-{i + 1}"}) for i, flow in enumerate(trace.flows)]
        traces.append((cca, trace.model_copy(update={"flows": flows})))
    panels = side_by_side("ideal-rate", traces).picture.panels
    assert [[curve.label for curve in panel.curves] for panel in panels] == [["flow 1", "flow 2"]] * 2


def test_every_figure_has_its_place_and_every_link_its_target(results: AuditResults) -> None:
    reader = read(results)
    assert len(reader.ids) == len(set(reader.ids))
    plots = {k["id"] for tag, k in reader.tags if tag == "div" and k.get("class") == "plot"}
    assert plots == set(reader.specs)
    assert {k["data-runs"] for _, k in reader.tags if "data-runs" in k} == set(reader.courses)
    anchors = {k["href"] for tag, k in reader.tags if tag == "a"}
    assert anchors <= {f"#{name}" for name in reader.ids}
    controlled = {k["aria-controls"] for _, k in reader.tags if "aria-controls" in k}
    assert controlled <= set(reader.ids)


def test_curves_show_the_results_numbers(results: AuditResults) -> None:
    spec = read(results).specs["fig-ideal-rate-ratio"]
    drawn = {t["name"]: t for t in spec["data"]}
    for cca in results.ccas:
        points = next(c for c in family(results, cca.cca, "ideal-rate").curves if c.metric == "ratio").points
        assert drawn[cca.cca]["x"] == [p.x for p in points]
        assert drawn[cca.cca]["y"] == [p.value for p in points]
        above = [p.hi - p.value for p in points if p.hi is not None and p.value is not None]
        assert drawn[cca.cca]["error_y"]["array"] == above
    assert spec["layout"]["xaxis"]["ticktext"] == ["12", "96", "1000"]
    theory = read(results).specs["fig-ideal-rate-rtt-ms"]["data"][1]
    assert theory["name"] == "bbr: theory"
    assert theory["y"] == [30.0, 30.0, 30.0]


def test_a_single_place_shows_ccas_next_to_each_other(results: AuditResults) -> None:
    for cca in ("bbr", "mine.py:MyCca"):
        for curve in family(results, cca, "ideal-rate").curves:
            del curve.points[1:]
    spec = read(results).specs["fig-ideal-rate-ratio"]
    assert spec["layout"]["xaxis"]["ticktext"] == ["12 Mbps"]
    first, second = (t["x"] for t in spec["data"])
    assert first != second


def test_series_show_the_results_numbers(results: AuditResults) -> None:
    trace = family(results, "bbr", "ideal-rate").traces[0]
    picture = read(results).courses["run-ideal-rate-bbr-96-mbps-1"]
    panels = {panel["name"]: [one["values"] for one in panel["curves"]] for panel in picture["panels"]}
    assert panels["throughput_mbps"] == [single(flow.throughput_mbps) for flow in trace.flows]
    assert panels["cwnd_pkts"] == [single(flow.cwnd_pkts) for flow in trace.flows]
    assert panels["rtt_ms"] == [single(flow.rtt_ms) for flow in trace.flows]
    assert panels["queue_pkts"] == [single(link.queue_pkts) for link in trace.links]
    assert picture["t_s"] == single(trace.t_s)
    assert picture["warmup_s"] == trace.warmup_s


def test_ccas_are_drawn_side_by_side_at_their_own_times(results: AuditResults) -> None:
    first, second = (family(results, cca, "ideal-rate").traces[0] for cca in ("bbr", "mine.py:MyCca"))
    second.t_s[3] += 0.5
    picture = read(results).courses["together-ideal-rate-96-mbps"]
    assert [panel["name"] for panel in picture["panels"]] == ["bbr", "mine.py:MyCca"]
    assert picture["t_s"] == single(sorted({*first.t_s, *second.t_s}))
    tops = [panel["top"] for panel in picture["panels"]]
    largest = max(v for trace in (first, second) for flow in trace.flows for v in flow.throughput_mbps if v is not None)
    assert tops == [pytest.approx(1.06 * largest)] * 2
    for panel, trace in zip(picture["panels"], (first, second), strict=True):
        drawn = dict(zip(picture["t_s"], panel["curves"][0]["values"], strict=True))
        assert [drawn[t] for t in single(trace.t_s)] == single(trace.flows[0].throughput_mbps)
        assert sum(value is not None for value in drawn.values()) == len(trace.t_s)


def test_every_number_in_a_figure_is_in_the_results(results: AuditResults) -> None:
    known = set()
    for number in numbers_in(results.model_dump(mode="json")):
        known |= {number, float(f"{number:.{SERIES_DIGITS}g}")}
    for name, spec in read(results).specs.items():
        if name.startswith(("grid", "fig-coexistence", "fig-hunt-smallest")):
            continue  # logarithms and horizontal offsets are derived from the numbers
        for drawn in spec["data"]:
            strange = {y for y in drawn["y"] if y is not None} - known
            assert not strange, (name, drawn["name"], strange)


def test_the_coexistence_grid_prints_the_results_numbers(results: AuditResults) -> None:
    (grid,) = read(results).specs["grid-coexistence-new-by-incumbent"]["data"]
    assert grid["y"] == ["bbr", "mine.py:MyCca"]
    assert grid["text"] == [["9.50", "3.25", "1.00"], ["—", "0.125", "—"]]
    assert grid["z"][1][0] is None


def test_the_matrix_has_a_cell_for_every_exhibit_and_cca(results: AuditResults) -> None:
    reader = read(results)
    classes = [str(k.get("class")) for tag, k in reader.tags if tag == "td"]
    cells = [c.split()[1] for c in classes if c.startswith("cell ")]
    assert cells == ["fails", "holds", "info", "absent", "unknown", "unknown", "fails", "absent", "holds", "absent"]
    for cca in results.ccas:
        for exhibit in cca.exhibits:
            assert formats.number(exhibit.value) in reader.text
            assert exhibit.why in reader.text


def test_a_failure_comes_with_bound_reason_expectation_scenario_and_replay(results: AuditResults) -> None:
    text = read(results).text
    assert "≤ 2: no excuse for <more>" in text
    assert "thesis chapter 5" in text
    assert "starves <the short flow>" in text
    assert "fairweir run failing/bbr-ideal-rate.ratio.toml" in text
    assert 'name = "ideal-rate" duration = "120s"' in text


def test_a_fault_is_shown_with_its_message(results: AuditResults) -> None:
    text = read(results).text
    assert "Runs that did not complete" in text
    assert "the controller misbehaved at 1000 Mbps, seed 2: cwnd is NaN" in text


def test_texts_of_a_scenario_are_never_markup(results: AuditResults) -> None:
    page = render_report(results)
    assert "<script>alert" not in page
    assert "&lt;/script&gt;&lt;script&gt;alert" in page


def test_hunt_and_contract_are_drawn(results: AuditResults) -> None:
    reader = read(results)
    assert "starvation with ack-aggregation of D = 31.5 ms on one flow at 96 Mbps" in reader.text
    growth = reader.specs["fig-hunt-growth-rate-mbps"]["data"][0]
    assert growth["y"] == [12.0, 24.0]
    assert "run-starvation-hunt-bbr-96-mbps-1" in reader.courses
    contract = reader.specs["fig-contract-bbr"]["data"]
    assert contract[-1]["name"] == "fit"
    assert contract[-1]["y"] == [48.0, 12.0, 3.0, 1.5]
    assert sum(len(t["x"]) for t in contract[:-1]) == 6


def test_one_cca_alone(results: AuditResults) -> None:
    alone = results.model_copy(update={"ccas": results.ccas[:1]})
    reader = read(alone)
    assert "Audit of bbr" in reader.text
    assert not [s for s in reader.courses if s.startswith("together")]
    assert not [k for tag, k in reader.tags if tag == "input" and "data-cca" in k]


def test_exhibits_without_measurements_still_have_a_section(results: AuditResults) -> None:
    bare = results.model_copy(deep=True)
    for cca in bare.ccas:
        cca.families, cca.hunt, cca.hunt_trace, cca.contract = [], None, None, None
    reader = read(bare)
    assert "family-ideal-rate" in reader.ids
    assert reader.specs == {}


def test_nothing_measured_at_all(results: AuditResults) -> None:
    empty = results.model_copy(update={"ccas": [], "complete": False, "runs": 0, "packets": 0})
    assert "Incomplete." in read(empty).text


def test_an_interrupted_audit_reports_it(results: AuditResults) -> None:
    assert "Incomplete." not in read(results).text
    assert "Incomplete." in read(results.model_copy(update={"complete": False})).text


def test_unknown_is_neither_good_nor_bad(results: AuditResults) -> None:
    for cca in results.ccas:
        for exhibit in cca.exhibits:
            exhibit.verdict = Outcome.UNKNOWN
        cca.verdict = Outcome.UNKNOWN
    reader = read(results)
    scores = [str(k["class"]) for tag, k in reader.tags if tag == "li" and str(k.get("class")).startswith("score ")]
    assert scores == ["score unknown", "score unknown"]


@pytest.mark.parametrize("count", [1, 2, 12])
def test_any_number_of_ccas(results: AuditResults, count: int) -> None:
    ccas = [results.ccas[i % 2].model_copy(update={"cca": f"cca-{i}"}, deep=True) for i in range(count)]
    reader = read(results.model_copy(update={"ccas": ccas}))
    assert len([1 for tag, k in reader.tags if k.get("class") == "score fails"]) == (count + 1) // 2


def test_an_interval_without_end_is_drawn_without_it(results: AuditResults) -> None:
    for curve in family(results, "bbr", "ideal-rate").curves:
        curve.points[0].hi = math.inf
    results.ccas[0].exhibits[0].hi = math.inf
    reader = read(results)
    assert reader.specs["fig-ideal-rate-ratio"]["data"][0]["error_y"]["array"][0] is None
    assert "[28.5, ∞]" in reader.text


def test_the_same_results_give_the_same_page(results: AuditResults) -> None:
    assert render_report(results) == render_report(results.model_copy(deep=True))


def test_the_file_is_whole_and_bounded(results: AuditResults, tmp_path: Path) -> None:
    path = write_report(results, tmp_path / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.stat().st_size < BYTES_OF_AN_EMPTY_PAGE
    assert re.search(r"</html>\s*$", path.read_text(encoding="utf-8"))


def single(values: Iterable[float | None]) -> list[float | None]:
    """Return numbers as pages have them, in single precision."""
    return [None if value is None else struct.unpack("<f", struct.pack("<f", value))[0] for value in values]


def decode(frame: bytes) -> Any:
    """Return the document of a frame (fairweir/show/frame.py); NaN becomes None."""
    length = int.from_bytes(frame[:4], "little")
    start = 4 + length + -length % 4
    numbers = [None if math.isnan(x) else x for (x,) in struct.iter_unpack("<f", frame[start:])]

    def part(value: dict[str, Any]) -> Any:
        if NUMBERS not in value:
            return value
        first, count = value[NUMBERS]
        return numbers[first : first + count]

    return json.loads(frame[4 : 4 + length], object_hook=part)


def family(results: AuditResults, cca: str, name: str) -> FamilyResult:
    measured = results.cca(cca)
    assert measured is not None
    found = measured.family(name)
    assert found is not None
    return found


def numbers_in(value: object) -> list[float]:
    if isinstance(value, dict):
        return [n for v in value.values() for n in numbers_in(v)]
    if isinstance(value, list):
        return [n for v in value for n in numbers_in(v)]
    return [float(value)] if isinstance(value, int | float) else []


def test_a_notebook_shows_an_audit_in_sentences_and_a_table(results: AuditResults) -> None:
    assert (
        repr(results)
        == str(results)
        == ("<AuditResults of the default battery: bbr fails, mine.py:MyCca unknown; 152 runs>")
    )
    assert repr(results.ccas[0]) == "<CcaResults of 'bbr': fails, 5 claims>"
    both = results._repr_html_()
    assert "<strong>bbr</strong>: ✗ fails" in both
    assert "<td>ideal-rate.ratio</td><td>✗ 31.6 [28.5, 34.8]</td><td>✓ 1.26 [1.14, 1.39]</td>" in both
    assert "<td>starvation-hunt.ratio</td>" in both
    assert both.index("ideal-rate.ratio") < both.index("coexistence.harm_done")
    alone = results.model_copy(update={"ccas": results.ccas[:1], "complete": False})._repr_html_()
    assert "Incomplete" in alone
    assert alone.index("✗ fails</td>") < alone.index("? unknown</td>") < alone.index("✓ holds</td>")
    hostile = results.ccas[0].model_copy(update={"cca": "<script>x"})
    assert "<script>" not in hostile._repr_html_()
    assert "&lt;script&gt;x" in hostile._repr_html_()
