"""Every kind of page opened in a browser: no script fails, and the figures are drawn."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fairweir
from fairweir import shipped
from fairweir.agree.compare import compare
from fairweir.agree.matrix import Agreement
from fairweir.agree.page import render as render_agreement
from fairweir.audit.results import AuditResults
from fairweir.explain.page import render as render_explained
from fairweir.explain.read import explain_file
from fairweir.explain.table import split_small
from fairweir.game.page import render as render_synthesis
from fairweir.game.query import GameQuery
from fairweir.game.synthesis import Workshop
from fairweir.overrides import apply
from fairweir.report import render_report
from fairweir.run import run
from fairweir.scenario import dumbbell, read_document
from fairweir.video.page import write_session
from fairweir.video.play import play
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender
from fairweir.world_sim import Capture

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: Nothing is asked of a network, nothing kept, and figures get the time that their timers ask for.
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--enable-logging=stderr", "--v=0", "--dump-dom"),
    *("--virtual-time-budget=20000", "--window-size=1200,20000"),
)
#: Pages of a kind are made by a template; what others take parts from is none.
TEMPLATES = {path.name for path in Path(fairweir.__file__).parent.rglob("templates/*.html.j2")} - {
    "parts.html.j2",
    "layout.html.j2",
}
#: Makes a synthesis quick.
SMALL = {"depth": 2, "sampling": {"sessions": 2, "boxes": 20, "rounds": 0}, "tree": {"leaves": [6, 12], "trials": 2}}


def agreement() -> str:
    summary: dict[str, Any] = {
        "flows": [{"id": "flow-0", "throughput_mbps": 6.0, "rtt_ms": {"mean": 40.0}}],
        "emulator": {"judged": True, "reason": "", "release_error_us": {"p99": 80.0}},
    }
    cells = [compare("reno", name, [summary], [summary]) for name in ("one", "<b>two")]
    terms: dict[str, Any] = {"kernel": "6.1", "seeds": [1], "kernel_runs": 1, "host_stall": ""}
    return render_agreement(Agreement(scenarios=["one", "<b>two"], ccas=["reno"], cells=cells, **terms))


def explained(folder: Path) -> str:
    path = folder / "a.pcap"
    run(dumbbell(["cubic", "bbr"], duration="3s"), capture=Capture(path))
    document = explain_file(path)
    return render_explained(document, split_small(document["flows"])[0], "<script>alert(1)</script>.pcap")


def synthesised(folder: Path) -> str:
    path = shipped.find("game-queries", "conference")
    query = GameQuery.load(path, apply(read_document(path), SMALL))
    return render_synthesis(Workshop(query, folder, 1, lambda *_: None).synthesise(), folder)


def video(folder: Path) -> str:
    scenario = VideoScenario.load("fixed").override(duration="4s")
    session = play(scenario, Sender.parse("rules"), seed=1, records=True)
    return write_session(session, scenario, folder / "session.html").read_text(encoding="utf-8")


def errors(log: str) -> list[str]:
    """What a page said on its console: pages of ours say nothing."""
    return [line for line in log.splitlines() if "CONSOLE" in line]


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[str], tuple[str, list[str]]]:
    """Open a page; gives the document that its scripts made of it, and what stood on the console."""
    if BROWSER is None:
        pytest.skip("no Chromium: pages are not opened in a browser")

    def opened(page: str) -> tuple[str, list[str]]:
        file = tmp_path / "page.html"
        file.write_text(page, encoding="utf-8")
        command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", file.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout, errors(done.stderr)

    return opened


@pytest.mark.parametrize("template", sorted(TEMPLATES))
def test_a_page_opens_without_an_error_and_draws_its_figures(
    template: str, opened: Callable[[str], tuple[str, list[str]]], results: AuditResults, tmp_path: Path
) -> None:
    make: dict[str, Callable[[], str]] = {
        "report.html.j2": lambda: render_report(results),
        "explain.html.j2": lambda: explained(tmp_path),
        "agreement.html.j2": agreement,
        "synthesis.html.j2": lambda: synthesised(tmp_path),
        "video.html.j2": lambda: video(tmp_path),
    }
    page = make[template]()
    dom, said = opened(page)
    assert said == []
    assert ">This figure cannot be drawn" not in dom
    # those behind tabs and far below are drawn when they come into sight
    assert 'class="plot js-plotly-plot"' in dom


#: Says how wide the page around it is laid out, in CSS pixels, once it is drawn.
MEASURE = """<script>addEventListener("load", () => setTimeout(() => {
  parent.document.title = `${innerWidth} of ${document.documentElement.scrollWidth}`; }, 5000))</script>"""


@pytest.mark.parametrize("kind", ["report", "explain", "synthesis"])
def test_a_page_is_no_wider_than_a_phone(
    kind: str, opened: Callable[[str], tuple[str, list[str]]], results: AuditResults, tmp_path: Path
) -> None:
    # As many sections as a whole battery has, so that the list of them is longer than its place.
    shown = results.ccas[0].exhibits[0]
    results.ccas[0].exhibits += [shown.model_copy(update={"family": f"another-{i}"}) for i in range(30)]
    make: dict[str, Callable[[], str]] = {
        "report": lambda: render_report(results),
        "explain": lambda: explained(tmp_path),
        "synthesis": lambda: synthesised(tmp_path),
    }
    page = make[kind]().replace("</body>", f"{MEASURE}</body>")
    # Windows of a browser have a minimum width, frames have none.
    dom, _ = opened(f'<title>none</title><iframe srcdoc="{html.escape(page)}" style="width: 400px; height: 900px">')
    inner, _, whole = re.findall("<title>(.*?)</title>", dom)[0].partition(" of ")
    assert int(inner) == 400
    assert int(whole) <= 400


def test_an_error_on_the_console_is_seen(opened: Callable[[str], tuple[str, list[str]]]) -> None:
    _, said = opened("<!DOCTYPE html><title>x</title><script>document.getElementById('none').remove()</script>")
    assert len(said) == 1
    assert "TypeError" in said[0]
