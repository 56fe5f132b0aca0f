"""Draw docs/_static/studio.png, the picture of the studio in README.md and docs/studio.md, in headless Chromium.

Usage: .venv/bin/python -m benches.studio_picture [FILE]
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Final

from benches.studio import BROWSER, DRAWN, serve
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from fairweir.documents.atomic_write import write_bytes

PICTURE: Final = Path(__file__).parents[1] / "docs" / "_static" / "studio.png"
SIZE: Final = {"width": 1440, "height": 780}
#: The page has few colors; a palette makes the file a third as large.
COLORS: Final = 128
MAX_BYTES: Final = 200_000
TIMEOUT_MS: Final = 60_000
#: BBR takes most of the link from a CUBIC flow that started earlier; the smaller the buffer, the more.
SCENARIO: Final = """\
name = "late-start"
duration = "60s"
warmup = "30s"
seed = 1

[link.bottleneck]
rate = "48Mbps"
buffer = "1bdp"

[[flow]]
cca = "cubic"
rtprop = "40ms"

[[flow]]
cca = "bbr"
rtprop = "40ms"
start = "15s"
"""


def fill(page: Page, key: str, value: str) -> None:
    """Change a field of the form, and wait until the run is drawn."""
    before = int(page.evaluate(f"{DRAWN}.length"))
    page.fill(f'[id="field-{key}"]', value)
    page.keyboard.press("Enter")
    page.wait_for_function(f"n => {DRAWN}.length > n", arg=before, timeout=TIMEOUT_MS)


def draw(page: Page, url: str) -> bytes:
    """Pin a run, change the buffer, read the values at a time, and return the picture."""
    page.goto(url)
    page.wait_for_selector("html[data-drawn]", state="attached", timeout=TIMEOUT_MS)
    page.click("#pin")
    fill(page, "link.bottleneck.buffer", "0.1bdp")
    page.evaluate("document.activeElement.blur()")
    page.locator(".u-over").first.hover()
    return page.screenshot()


def main() -> None:
    """Write the picture."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        Path(folder, "late-start.toml").write_text(SCENARIO, encoding="utf-8")
        process, url = serve(folder)
        try:
            browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
            page = browser.new_context(viewport=SIZE, color_scheme="light", reduced_motion="reduce").new_page()
            shot = draw(page, f"{url}#open=late-start.toml")
            browser.close()
        finally:
            process.terminate()
            process.wait(20)
    packed = io.BytesIO()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLORS).save(packed, "PNG", optimize=True)
    if packed.tell() > MAX_BYTES:
        raise SystemExit(f"the picture has {packed.tell()} bytes; the limit is {MAX_BYTES}")
    write_bytes(target, packed.getvalue())
    print(f"{target}: {packed.tell() / 1000:.0f} kB")


if __name__ == "__main__":
    main()
