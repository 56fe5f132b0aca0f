"""The studio's speed in headless Chromium: time from a slider's change to the drawn figure, first paint, frames.

Usage: .venv/bin/python -m benches.studio [CHANGES]
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SLIDER = "field-link.bottleneck.rate-slider"
DRAWN = "performance.getEntriesByName('studio:drawn')"
#: 6,000 intervals of each flow: a million samples.
MANY = """duration = "300s"
[link.bottleneck]
rate = "100Mbps"
buffer = "1bdp"
[[flow]]
cca = "cubic"
rtprop = "40ms"
count = 166
"""
#: Frames are counted while the figure pans for this long, s.
PANNED_S = 3.0


def serve(folder: str) -> tuple[subprocess.Popen[str], str]:
    """Start a studio in `folder` and return its process and its address."""
    Path(folder, "many.toml").write_text(MANY)
    command = [sys.executable, "-m", "fairweir", "studio", "three-rtprops", "--no-open"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline() if process.stderr is not None else ""
    found = re.search(r"http\S+", line)
    if found is None:
        raise SystemExit(f"the studio did not start: {line}")
    return process, found[0]


def open_page(page: Page, url: str) -> tuple[float, int]:
    """Open the page; return the time of the first paint, ms, and the number of bytes of scripts and styles."""
    sizes: list[int] = []
    page.on("response", lambda answer: sizes.append(len(answer.body())) if "studio." in answer.url else None)
    page.goto(url)
    page.wait_for_selector("html[data-drawn]", state="attached", timeout=60_000)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    return float(paint), sum(sizes)


def latencies(page: Page, changes: int) -> list[float]:
    """Move the slider of the link's rate, and return the times until each figure was drawn, ms."""
    before = int(page.evaluate(f"{DRAWN}.length"))
    for i in range(changes):
        page.evaluate(
            "([id, value]) => { const slider = document.getElementById(id); slider.value = value; "
            "slider.dispatchEvent(new Event('input')); }",
            [SLIDER, 90 + i % 20],
        )
        page.wait_for_function(f"n => {DRAWN}.length > n", arg=before + i)
        time.sleep(0.05)
    found: list[float] = page.evaluate(f"{DRAWN}.map(entry => entry.duration)")
    return found[before:]


def frames_per_second(page: Page) -> float:
    """Pan the figures by keys, and return the number of frames drawn per second."""
    page.locator('[role="img"]').first.focus()
    for _ in range(5):
        page.keyboard.press("+")
    page.evaluate(
        "window.frames_ = 0; const count = () => { window.frames_ += 1; requestAnimationFrame(count); };"
        " requestAnimationFrame(count);"
    )
    start = time.monotonic()
    while time.monotonic() - start < PANNED_S:
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
    return float(page.evaluate("window.frames_")) / (time.monotonic() - start)


def main() -> None:
    """Print the measurements."""
    changes = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        process, url = serve(folder)
        try:
            browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
            paint, size = open_page(page, url)
            found = sorted(latencies(page, changes))
            print(f"first paint {paint:.0f} ms; scripts and styles {size / 1000:.0f} kB, not compressed")
            median, p95 = statistics.median(found), found[int(0.95 * (len(found) - 1))]
            print(f"slider to figure, {len(found)} changes of three-rtprops (300 s): {median:.0f} ms, p95 {p95:.0f} ms")
            print(f"panning: {frames_per_second(page):.0f} frames per second")
            page.goto("about:blank")
            open_page(page, f"{url}#open=many.toml")
            page.wait_for_selector("html[data-name='many.toml']", state="attached")
            print(f"panning, a million samples of 166 flows: {frames_per_second(page):.0f} frames per second")
            browser.close()
        finally:
            process.terminate()
            process.wait(20)


if __name__ == "__main__":
    main()
