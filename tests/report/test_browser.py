"""Each kind of page is opened in a browser: no script fails, and all figures are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Browser, Locator, Page
from tests.accessibility import faults, violations
from tests.summaries import filled

import fairweir
from fairweir.agree.compare import compare
from fairweir.agree.matrix import Agreement
from fairweir.agree.measured import Measured
from fairweir.agree.page import render as render_agreement
from fairweir.audit.report import render_report
from fairweir.audit.report.leaderboard import html, leaderboard_of
from fairweir.audit.results import AuditResults
from fairweir.audit.standings import Relative, Side, Standing
from fairweir.cli.main import main
from fairweir.conform.page import render as render_conformance
from fairweir.conform.runner import conform
from fairweir.conform.side import Side as ConformSide
from fairweir.documents import shipped
from fairweir.documents.toml import read_document
from fairweir.explain.page import render as render_explained
from fairweir.explain.read import explain_file
from fairweir.explain.table import split_small
from fairweir.game.page import render as render_synthesis
from fairweir.game.query import GameQuery
from fairweir.game.synthesis import Workshop
from fairweir.judging.difference import Relation
from fairweir.judging.outcome import Interval
from fairweir.play.course import course_of
from fairweir.play.run import run
from fairweir.play.runs_page import runs_page
from fairweir.play.simulate import Capture
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.overrides import apply
from fairweir.video.evaluate import Bar, Evaluation
from fairweir.video.page import write_evaluation, write_session
from fairweir.video.play import play
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender

#: Maximum time until a page has drawn its figures on a busy machine, ms.
TIMEOUT_MS = 60_000
#: Templates of pages; templates that only provide parts are excluded.
TEMPLATES = {path.name for path in Path(fairweir.__file__).parent.rglob("templates/*.html.j2")} - {
    "parts.html.j2",
    "layout.html.j2",
    "leaderboard-table.html.j2",
}
#: Elements of the pages that are drawn without plotly; the script of a page in a frame has marked the frame's root.
DRAWN = {
    "runs.html.j2": "[data-drawn] canvas",
    "course.html.j2": "iframe",
    "leaderboard.html.j2": "table[data-sortable] button",
}
#: Options for a quick synthesis.
SMALL = {"depth": 2, "sampling": {"sessions": 2, "boxes": 20, "rounds": 0}, "tree": {"leaves": [6, 12], "trials": 2}}


def agreement() -> str:
    summary: dict[str, Any] = {
        "flows": [{"id": "flow-0", "throughput_mbps": 6.0, "rtt_ms": {"mean": 40.0}}],
        "emulator": {"judged": True, "reason": "", "release_error_us": {"p99": 80.0}},
    }
    cells = [
        compare("reno", name, [Measured.of(filled(summary))], [Measured.of(filled(summary))])
        for name in ("one", "<b>two")
    ]
    terms: dict[str, Any] = {"kernel": "6.1", "seeds": [1], "kernel_runs": 1, "host_stall": ""}
    return render_agreement(Agreement(scenarios=["one", "<b>two"], ccas=["reno"], cells=cells, **terms))


def conformance() -> str:
    scenario = dumbbell("reno", rate="10Mbps", duration="40s", warmup="8s")
    return render_conformance(conform([(ConformSide.of("cubic"), ConformSide.of("reno"))], [scenario], seeds=3))


def explained(folder: Path) -> str:
    path = folder / "a.pcap"
    run(dumbbell(["cubic", "bbr"], duration="3s"), capture=Capture(path))
    document = explain_file(path)
    return render_explained(document, split_small(document["flows"])[0], "<script>alert(1)</script>.pcap")


def runs() -> str:
    courses = [
        course_of([run(dumbbell(cca, duration="3s"), seed=seed, interval="10ms") for seed in (1, 2)], f"<b>{cca}")
        for cca in ("cubic", "bbr")
    ]
    return runs_page("<script>alert(1)</script>", courses, [("<i>one", "name = '</script>'")])


def leaderboard(results: AuditResults) -> str:
    """Return a page of two CCAs with values of a property; the first has more failing claims."""
    audits = [results.model_copy(update={"ccas": [cca]}) for cca in results.ccas]
    reports = [Path("bbr/report.html"), Path("mine/report.html")]
    return html(leaderboard_of(audits, Path("board.html"), reports, "fairweir audit --all <i>"))


def in_a_notebook() -> str:
    """Return the output of a cell that draws a run, as a notebook has it in its page."""
    scenario = dumbbell("cubic", duration="3s", name="</script><b>'\"")
    return f"<!DOCTYPE html><html lang=en><title>x</title>{run(scenario, interval='10ms').plot()._repr_html_()}"


def synthesised(folder: Path) -> str:
    path = shipped.find("game-queries", "conference")
    query = GameQuery.load(path, apply(read_document(path), SMALL))
    return render_synthesis(Workshop(query, folder, 1, lambda *_: None).synthesise(), folder)


def video(folder: Path) -> str:
    scenario = VideoScenario.load("fixed").override(duration="4s")
    session = play(scenario, Sender.parse("rules"), seed=1, records=True)
    return write_session(session, scenario, folder / "session.html").read_text(encoding="utf-8")


@dataclass
class Opened:
    """A page in the browser."""

    page: Page

    def wait_for(self, selector: str) -> None:
        self.page.wait_for_selector(selector, state="attached", timeout=TIMEOUT_MS)


OpenPage = Callable[..., Opened]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[OpenPage]:
    """Open a document as a file, offline, in a window of this width in CSS pixels."""
    context = browser.new_context(offline=True, accept_downloads=True, color_scheme="dark")

    def opened(document: str, width: int = 1200, height: int = 20_000) -> Opened:
        file = tmp_path / "page.html"
        file.write_text(document, encoding="utf-8")
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.goto(file.as_uri(), timeout=TIMEOUT_MS)
        return Opened(page)

    yield opened
    context.close()


@pytest.mark.parametrize("template", sorted(TEMPLATES))
def test_a_page_opens_without_an_error_draws_its_figures_and_is_accessible(
    template: str, opened: OpenPage, results: AuditResults, tmp_path: Path
) -> None:
    make: dict[str, Callable[[], str]] = {
        "report.html.j2": lambda: render_report(results),
        "conform.html.j2": conformance,
        "explain.html.j2": lambda: explained(tmp_path),
        "agreement.html.j2": agreement,
        "synthesis.html.j2": lambda: synthesised(tmp_path),
        "video.html.j2": lambda: video(tmp_path),
        "runs.html.j2": runs,
        "course.html.j2": in_a_notebook,
        "leaderboard.html.j2": lambda: leaderboard(results),
    }
    shown = opened(make[template]())
    # figures behind tabs and far below are drawn when they become visible
    shown.wait_for(DRAWN.get(template, ".plot.js-plotly-plot"))
    assert ">This figure cannot be drawn" not in shown.page.content()
    assert shown.page.locator("[data-title^=Share]").count() == 0
    assert faults(shown.page) == []


def test_the_page_of_a_run_and_of_its_record_are_accessible(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = browser.new_page(offline=True)
    for words in (["three-rtprops", "--out", "record", "--plot", "run.html"], ["record", "--plot", "record.html"]):
        assert main(["run", *words]) == 0
        page.goto((tmp_path / words[-1]).as_uri(), timeout=TIMEOUT_MS)
        page.wait_for_selector("[data-drawn] canvas", timeout=TIMEOUT_MS)
        assert faults(page) == []


def compared(results: AuditResults) -> AuditResults:
    """Add a comparison with a reference: a metric of each verdict, with long names."""
    standings = [
        Standing(
            name="random-jitter-48mbps-40ms.loss_rate",
            family="random-jitter-48mbps-40ms",
            metric="loss_rate",
            title="loss rate",
            relation=relation,
            why="at 1 of 2 points",
            at="<b>1/16 BDP",
            reference=0.0189,
            candidate=0.028,
            difference=0.0091,
            lo=0.0057,
            hi=0.0126,
            pairs=12,
            points=2,
            shown_by=[Side(cca=name, replay=f"fairweir run worse/{name}.toml") for name in ("new", "old")],
        )
        for relation in Relation
    ]
    long = "cubic{fast_convergence=false}"
    relative = Relative(cca=f"new {long}", reference="<i>old", standings=standings, notes=["<u>another version"])
    return results.model_copy(update={"relative": [relative]})


def test_a_comparison_comes_first_and_opens_without_an_error(opened: OpenPage, results: AuditResults) -> None:
    shown = opened(render_report(compared(results)))
    shown.wait_for(".plot.js-plotly-plot")
    assert shown.page.locator("h1").inner_text() == "new cubic{fast_convergence=false} against <i>old"
    verdicts = shown.page.locator(".comparison table").first.locator("tbody td:first-child").all_inner_texts()
    assert verdicts == ["▼ worse", "▲ better"]
    header = shown.page.locator("header").inner_text()
    assert header.index("1 worse, 1 better, 1 same, 1 undecided") < header.index("fail")


@pytest.mark.parametrize("kind", ["report", "relative"])
def test_a_long_report_is_no_wider_than_a_phone(kind: str, opened: OpenPage, results: AuditResults) -> None:
    # As many sections as a whole battery, so that their list is longer than the window.
    shown = results.ccas[0].exhibits[0]
    results.ccas[0].exhibits += [shown.model_copy(update={"family": f"another-{i}"}) for i in range(30)]
    make: dict[str, Callable[[], str]] = {
        "report": lambda: render_report(results),
        "relative": lambda: render_report(compared(results)),
    }
    shown_page = opened(make[kind](), 400, 900)
    shown_page.page.locator(".plot:visible").first.scroll_into_view_if_needed()
    shown_page.wait_for(".plot.js-plotly-plot")
    assert shown_page.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_word_of_a_row_is_not_broken_on_a_phone(opened: OpenPage, tmp_path: Path) -> None:
    measured = Interval(value=123.45, lo=120.0, hi=126.0)
    bars = [Bar("fixed", "published", "talking-head-x264", "delay p95, ms", 150.0, measured, is_upper=True)]
    path = write_evaluation(Evaluation([], bars, []), tmp_path / "evaluation.html")
    shown = opened(path.read_text(encoding="utf-8"), 400, 900)
    row = shown.page.locator("tbody th[scope=row]", has_text="fixed").first
    lines = "e => { const r = document.createRange(); r.selectNodeContents(e); return r.getClientRects().length }"
    assert row.evaluate(lines) == 1
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_run_in_a_notebook_is_drawn_in_its_frame_and_fits_it(opened: OpenPage) -> None:
    shown = opened(in_a_notebook(), 800, 1200)
    frame = shown.page.frame_locator("iframe")
    frame.locator("[data-drawn] canvas").first.wait_for(timeout=TIMEOUT_MS)
    root = frame.locator(":root")
    assert root.evaluate("e => [Math.max(e.scrollHeight - innerHeight, 0), e.scrollWidth - innerWidth]") == [0, 0]
    assert root.evaluate("() => { try { return parent.document.title } catch { return 'refused' } }") == "refused"
    assert violations(shown.page.frames[1]) == []


def test_a_leaderboard_is_sorted_by_its_headings_and_the_keyboard(opened: OpenPage, results: AuditResults) -> None:
    shown = opened(leaderboard(results), 400, 900)
    names = shown.page.locator("table[data-sortable] tbody th")
    assert names.all_inner_texts() == ["mine.py:MyCca", "bbr"]
    head = shown.page.locator("thead th").first
    head.locator("button").press("Enter")
    assert (head.get_attribute("aria-sort"), names.all_inner_texts()) == ("ascending", ["bbr", "mine.py:MyCca"])
    head.locator("button").press("Enter")
    assert (head.get_attribute("aria-sort"), names.all_inner_texts()) == ("descending", ["mine.py:MyCca", "bbr"])
    shown.page.locator("thead th", has_text="fair shares").locator("button").click()
    assert names.all_inner_texts() == ["mine.py:MyCca", "bbr"]
    assert head.get_attribute("aria-sort") == "none"
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 400


SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: bytes) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - of our own page


def saved(page: Page, button: Locator) -> tuple[str, bytes]:
    """Press a button with the keyboard; return the name of the file that it saves and its content."""
    button.focus()
    with page.expect_download(timeout=TIMEOUT_MS) as download:
        page.keyboard.press("Enter")
    return download.value.suggested_filename, download.value.path().read_bytes()


def test_a_panel_is_saved_as_svg_of_its_curves(opened: OpenPage) -> None:
    shown = opened(runs())
    shown.wait_for("[data-drawn] canvas")
    name, svg = saved(shown.page, shown.page.get_by_role("button", name="Save as SVG: throughput (Mbps)"))
    assert name == "script-alert-1-script-throughput_mbps.svg"
    image = parsed(svg)
    assert image.findtext(f"{SVG}title") == "<script>alert(1)</script>"
    assert image.find(f".//{SVG}image") is None
    curves = {path.findtext(f"{SVG}title"): path.get("d", "") for path in image.iter(f"{SVG}path")}
    assert {"cubic-1 · <b>cubic", "bbr-1 · <b>bbr"} <= curves.keys()
    # 3 s in intervals of 10 ms
    assert curves["cubic-1 · <b>cubic"].count(",") == 300
    shown.page.get_by_role("button", name="cubic-1 · <b>cubic").click()
    _, less = saved(shown.page, shown.page.get_by_role("button", name="Save as SVG: throughput (Mbps)"))
    assert b"cubic-1" not in less
    assert b"bbr-1" in less


def test_all_panels_are_saved_and_the_name_has_the_visible_part(opened: OpenPage) -> None:
    shown = opened(runs())
    shown.wait_for("[data-drawn] canvas")
    _, whole = saved(shown.page, shown.page.get_by_role("button", name="Save all figures as SVG"))
    assert len(parsed(whole).findall(f"{SVG}clipPath")) == 5
    shown.page.locator('[role="img"]').first.focus()
    shown.page.keyboard.press("+")
    name, png = saved(shown.page, shown.page.get_by_role("button", name="Save all figures as PNG"))
    assert name == "script-alert-1-script-course-0.3s-2.7s.png"
    assert png.startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", ["PNG", "SVG"])
def test_a_figure_of_a_report_is_saved(kind: str, opened: OpenPage, results: AuditResults) -> None:
    shown = opened(render_report(results))
    shown.wait_for(".plot.js-plotly-plot")
    figure = shown.page.locator("figure:has(.js-plotly-plot)").first
    name, content = saved(shown.page, figure.get_by_role("button", name=f"Save as {kind}"))
    identifier = figure.locator(".plot").get_attribute("id")
    assert name.endswith(f"-{identifier}.{kind.lower()}")
    if kind == "SVG":
        image = parsed(content)
        assert image.find(f".//{SVG}path") is not None
        assert image.find(f".//{SVG}image") is None
    else:
        assert content.startswith(b"\x89PNG")


def test_one_cursor_reads_all_panels_of_a_report(opened: OpenPage, results: AuditResults) -> None:
    shown = opened(render_report(results))
    shown.wait_for("figure [data-drawn] canvas")
    figure = shown.page.locator("figure:has([data-drawn])").first
    panel = figure.locator(".panel .u-over").first
    panel.scroll_into_view_if_needed()
    panel.hover()
    readouts = figure.locator(".panel .readout").all_inner_texts()
    assert len(readouts) == figure.locator(".panel").count() > 1
    times = {text.partition(" s: ")[0] for text in readouts}
    assert len(times) == 1
    assert all(text.partition(" s: ")[2] for text in readouts)


def test_a_course_in_a_tab_is_drawn_when_the_tab_is_chosen(opened: OpenPage, results: AuditResults) -> None:
    shown = opened(render_report(results))
    shown.wait_for("figure [data-drawn] canvas")
    tab = shown.page.locator("[role=tab][aria-selected=false]").first
    course = shown.page.locator(f"#{tab.get_attribute('aria-controls')} [data-runs]")
    assert course.get_attribute("data-drawn") is None
    tab.click()
    course.locator("canvas").first.wait_for(timeout=TIMEOUT_MS)
    assert course.evaluate("e => Math.abs(e.clientWidth - e.querySelector('canvas').clientWidth)") < 2
    name, svg = saved(shown.page, course.locator("xpath=..").get_by_role("button", name="Save as SVG").first)
    assert name.startswith("Audit-of-bbr")
    assert parsed(svg).find(f".//{SVG}path") is not None


def test_messages_and_errors_of_pages_are_seen(opened: OpenPage, said: list[str]) -> None:
    scripts = "<script>console.log('one')</script><script>document.getElementById('none').remove()</script>"
    opened(f"<!DOCTYPE html><title>x</title>{scripts}").wait_for("script")
    assert said[0] == "one"
    assert "null" in said[1]
    said.clear()
