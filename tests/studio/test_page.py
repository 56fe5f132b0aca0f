"""The studio in a browser: text and form in step, figures, pins, files, links, and what ends a run."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page
from tests.accessibility import faults
from tests.studio.serving import SCENARIO, TIMEOUT_MS, Served, descendants, is_alive, serve


@dataclass
class Window:
    """A window of the studio."""

    page: Page

    @property
    def drawn(self) -> int:
        return int(self.page.evaluate("document.documentElement.dataset.drawn ?? '0'"))

    def wait_drawn(self, more_than: int) -> None:
        self.page.wait_for_function(
            "n => Number(document.documentElement.dataset.drawn ?? 0) > n", arg=more_than, timeout=TIMEOUT_MS
        )

    def set(self, key: str, value: str) -> None:
        before = self.drawn
        self.page.fill(f'[id="field-{key}"]', value)
        self.page.keyboard.press("Tab")
        self.wait_drawn(before)

    def text(self) -> str:
        return "\n".join(self.page.locator(".cm-line").all_text_contents())

    def summary(self, quantity: str) -> str:
        return self.page.locator("table.summary tr", has_text=quantity).first.inner_text()


@pytest.fixture
def window(browser: Browser, served: Served) -> Iterator[Window]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield opened(context.new_page(), served.url)
    context.close()


def opened(page: Page, url: str) -> Window:
    window = Window(page)
    page.goto(url)
    window.wait_drawn(0)
    return window


def test_form_and_text_are_in_step(window: Window) -> None:
    window.set("link.bottleneck.rate", "24Mbps")
    window.page.click("#tab-toml")
    assert window.text() == SCENARIO.replace("12Mbps", "24Mbps")
    before = window.drawn
    window.page.locator(".cm-content").fill(SCENARIO.replace("12Mbps", "6Mbps"))
    window.wait_drawn(before)
    window.page.click("#tab-form")
    assert window.page.input_value('[id="field-link.bottleneck.rate"]') == "6Mbps"
    assert float(window.summary("throughput").split()[-2]) == pytest.approx(6, rel=0.1)


def test_a_slider_plays_and_its_value_is_written(window: Window) -> None:
    before = window.drawn
    slider = window.page.locator('[id="field-flow.0.rtprop-slider"]')
    slider.focus()
    for _ in range(5):
        window.page.keyboard.press("ArrowRight")
    window.wait_drawn(before)
    # A reply to an earlier key shows its own value, so the field is read together with the text.
    window.page.wait_for_function(
        """() => {
            const shown = document.getElementById('field-flow.0.rtprop').value;
            const lines = [...document.querySelectorAll('.cm-line')];
            return parseFloat(shown) > 20 && lines.some(line => line.innerText.includes(shown));
        }"""
    )
    shown = window.page.input_value('[id="field-flow.0.rtprop"]')
    assert 20 < float(shown.removesuffix("ms")) < 25


def test_errors_are_at_their_field_and_line(window: Window) -> None:
    window.page.fill('[id="field-flow.0.rtprop"]', "20")
    window.page.keyboard.press("Tab")
    window.page.wait_for_selector('[id="field-flow.0.rtprop"][aria-invalid="true"]')
    assert "no unit" in window.page.inner_text('[id="field-flow.0.rtprop-error"]')
    window.page.click("#tab-toml")
    window.page.locator(".cm-content").fill(SCENARIO.replace("rtprop", "rtpropp"))
    window.page.wait_for_selector("#messages p:has-text('rtprop')")
    window.page.wait_for_selector(".cm-lint-marker-error")


def test_text_of_a_scenario_never_becomes_html(window: Window) -> None:
    window.page.click("#tab-toml")
    before = window.drawn
    evil = "<img src=x onerror=document.title='hacked'>"
    window.page.locator(".cm-content").fill(f'name = "{evil}"\n{SCENARIO.replace("cubic", "reno")}id = "{evil}"\n')
    window.wait_drawn(before)
    assert "hacked" not in window.page.title()
    assert window.page.locator("img").count() == 0
    assert evil in window.page.inner_text("#summary")


def test_a_pinned_run_is_drawn_and_compared(window: Window) -> None:
    before = window.drawn
    window.page.click("#pin")
    window.wait_drawn(before)
    window.set("link.bottleneck.rate", "24Mbps")
    cells = window.page.locator("table.summary tr", has_text="throughput").first.locator("td").all_inner_texts()
    assert [float(cells[i].split()[0]) for i in (0, 1)] == pytest.approx([12, 24], rel=0.1)
    assert cells[2].startswith("+")
    assert "cubic-1 · pin 1" in window.page.inner_text(".legend")


def test_seeds_without_randomness_have_no_interval(window: Window) -> None:
    before = window.drawn
    window.page.select_option('[id="field-noise"]', "none")
    window.wait_drawn(before)
    before = window.drawn
    window.page.fill("#seeds", "3")
    window.page.keyboard.press("Tab")
    window.wait_drawn(before)
    assert "all seeds gave the same numbers" in window.page.inner_text("#messages")


def test_zoom_shows_more_points_of_the_visible_part(window: Window) -> None:
    panel = window.page.locator(".u-over").first
    box = panel.bounding_box()
    assert box is not None
    with window.page.expect_response(re.compile("api/views")) as asked:
        window.page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
        window.page.mouse.down()
        window.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20, steps=5)
        window.page.mouse.up()
    assert asked.value.ok
    body = asked.value.request.post_data_json
    assert body is not None
    assert body["view"] == pytest.approx([1.0, 2.0], abs=0.1)


def test_many_curves_move_as_an_image_and_are_drawn_when_they_rest(window: Window) -> None:
    """The top of a figure of 40 flows moves to the right, and is drawn again when it rests."""
    window.set("flow.0.count", "40")
    count = "document.querySelector('canvas').toDataURL().length"  # an empty canvas: a tenth
    whole = window.page.evaluate(count)
    window.page.locator('.panel [role="img"]').first.focus()
    with window.page.expect_response(re.compile("api/views")):
        window.page.keyboard.press("+")
        window.page.wait_for_timeout(40)  # two frames; the window rests after 120 ms
        moving = window.page.evaluate(count)
    assert whole / 2 < moving
    window.page.wait_for_function(f"least => {count} > least", arg=whole / 2, timeout=TIMEOUT_MS)


def test_a_changed_file_is_asked_for_and_never_overwritten(window: Window, served: Served) -> None:
    file = served.folder / "one.toml"
    window.set("link.bottleneck.rate", "3Mbps")
    file.write_text(SCENARIO + "# of an editor\n", encoding="utf-8")
    asked: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    window.page.on("dialog", dismiss)
    window.page.click("#save")
    window.page.wait_for_selector("#messages .error")
    assert len(asked) == 1
    assert file.read_text(encoding="utf-8") == SCENARIO + "# of an editor\n"
    file.write_text(SCENARIO, encoding="utf-8")
    window.page.click("#save")
    window.page.wait_for_selector("#messages .note")
    assert file.read_text(encoding="utf-8") == SCENARIO.replace("12Mbps", "3Mbps")
    file.write_text(SCENARIO, encoding="utf-8")


def test_a_link_carries_the_scenario_and_runs_no_users_code(window: Window, served: Served, browser: Browser) -> None:
    window.set("link.bottleneck.rate", "7Mbps")
    window.page.click("#copy-link")
    window.page.wait_for_selector("#messages .note")
    link = window.page.evaluate("navigator.clipboard.readText()")
    context = browser.new_context()
    other = opened(context.new_page(), link)
    assert other.page.input_value('[id="field-link.bottleneck.rate"]') == "7Mbps"
    (served.folder / "mine.py").write_text("open('ran', 'w').close()\n", encoding="utf-8")
    window.page.click("#tab-toml")
    window.page.locator(".cm-content").fill(SCENARIO.replace('"cubic"', '"mine.py:Mine"'))
    window.page.wait_for_selector("#messages .error")
    (served.folder / "ran").unlink(missing_ok=True)
    window.page.click("#copy-link")
    window.page.wait_for_selector("#messages .note")
    page = context.new_page()
    page.goto(window.page.evaluate("navigator.clipboard.readText()"))
    page.wait_for_selector("#run:visible")
    assert not (served.folder / "ran").exists()
    context.close()


def test_a_page_to_share_is_drawn_without_network(window: Window, browser: Browser, tmp_path: Path) -> None:
    with window.page.expect_download() as download:
        window.page.click("#html")
    file = tmp_path / "shared.html"
    download.value.save_as(file)
    assert file.stat().st_size < 1_000_000
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("[data-drawn] canvas")
    assert "12Mbps" in page.inner_text("#scenario")
    context.close()


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_figures_are_saved_under_the_name_of_the_scenario(kind: str, window: Window) -> None:
    with window.page.expect_download() as download:
        window.page.click(f"#{kind}")
    assert download.value.suggested_filename == f"one-course.{kind}"
    with window.page.expect_download() as download:
        window.page.get_by_role("button", name=f"Save as {kind.upper()}: queue").click()
    assert download.value.suggested_filename == f"one-queue_pkts.{kind}"


def test_the_tour_is_played_through(window: Window) -> None:
    options = window.page.locator('#files optgroup[label="tour"] option')
    names = [str(option.get_attribute("value")) for option in options.all()]
    assert len(names) == 10
    window.page.select_option("#files", names[0])
    for i, name in enumerate(names):
        window.page.wait_for_selector(f'html[data-name="{name}"]', state="attached", timeout=TIMEOUT_MS)
        before = window.drawn
        window.page.locator('.emphasized input[type="range"]').focus()
        window.page.keyboard.press("ArrowRight")
        window.wait_drawn(before)
        assert window.page.locator("#messages .error").count() == 0, name
        assert faults(window.page) == [], name
        if i < len(names) - 1:
            window.page.click("#lesson button")


def test_a_browser_has_more_windows_than_connections(window: Window, served: Served) -> None:
    """A browser opens six connections to an address."""
    for _ in range(6):
        opened(window.page.context.new_page(), served.url)


def test_a_runaway_scenario_ends_with_the_next_change(window: Window) -> None:
    window.page.fill('[id="field-duration"]', "700h")
    window.page.keyboard.press("Tab")
    window.page.wait_for_selector("#progress:visible")
    started = time.monotonic()
    window.set("duration", "3s")
    assert time.monotonic() - started < 20


def test_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO, encoding="utf-8")
    served = serve(tmp_path)
    children = descendants(served.process.pid)
    assert children
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(20) == 0
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(map(is_alive, children)):
        time.sleep(0.05)
    assert not any(map(is_alive, children))


def test_a_port_in_use_is_an_error(served: Served, tmp_path: Path) -> None:
    port = served.url.split(":")[2].split("/")[0]
    (tmp_path / "one.toml").write_text(SCENARIO, encoding="utf-8")
    words = [sys.executable, "-m", "fairweir", "studio", "one.toml", "--no-open", "--port", port]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "in use" in done.stderr
    assert "--port" in done.stderr
