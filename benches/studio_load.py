"""The studio while others use it: clicks next to runs that do not end and next to a command, and the end of such runs.

Usage: .venv/bin/python -m benches.studio_load [CHANGES]
"""

from __future__ import annotations

import os
import select
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from benches.studio import BROWSER, latencies, open_page, serve
from playwright.sync_api import Browser, Page, sync_playwright

TIMEOUT_MS: Final = 60_000
SIZE: Final = {"width": 1400, "height": 900}
#: Runs that do not end: a simulation of eleven days, and a controller that loops.
ENDLESS: Final = {
    "days.toml": """duration = "1000000s"
[link.bottleneck]
rate = "1Gbps"
[[flow]]
cca = "cubic"
rtprop = "40ms"
count = 100
""",
    "loops.toml": """duration = "10s"
[link.bottleneck]
rate = "10Mbps"
[[flow]]
cca = "loops.py:Loops"
rtprop = "40ms"
""",
}
LOOPS: Final = """import fairweir
class Loops(fairweir.Cca):
    def on_ack(self, ack):
        while True:
            pass
"""
#: Maximum number of windows with a run that does not end.
RUNAWAYS: Final = 4
#: Time over which the processor time of processes is compared, s.
SAMPLED_S: Final = 0.5


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started, and theirs."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from descendants(child)


def ticks(pid: int) -> int:
    """Return the processor time of a process, clock ticks; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] == "Z" else int(fields[11]) + int(fields[12])


def busiest(studio: int) -> int:
    """Return the studio's process that uses the most processor time."""
    before = {pid: ticks(pid) for pid in descendants(studio)}
    time.sleep(SAMPLED_S)
    return max(before, key=lambda pid: ticks(pid) - before[pid])


class Death(threading.Thread):
    """Waits for the end of a process; ``at`` is its time, s since the epoch."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._end = os.pidfd_open(pid)
        self.at = 0.0
        self.start()

    def run(self) -> None:
        """Wait."""
        select.select([self._end], [], [])
        self.at = time.time()
        os.close(self._end)


@contextmanager
def runaway(browser: Browser, url: str, name: str) -> Iterator[Page]:
    """Open a window of another user, with a run that does not end."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.goto(f"{url}#open={name}")
    page.wait_for_selector("#progress:visible", timeout=TIMEOUT_MS)
    yield page
    context.close()


def clicks(page: Page, changes: int) -> str:
    """Return the times from a slider's change to its figure, as text."""
    found = sorted(latencies(page, changes))
    p95 = found[int(0.95 * (len(found) - 1))]
    return f"{statistics.median(found):.0f} ms, p95 {p95:.0f} ms, max {found[-1]:.0f} ms"


def replace_scenario(page: Page) -> None:
    """Open another scenario in the window."""
    page.select_option("#files", "three-rtprops")
    page.wait_for_selector("html[data-name='three-rtprops']", state="attached", timeout=TIMEOUT_MS)


def break_text(page: Page) -> None:
    """Type a text that is not TOML."""
    page.click("#tab-toml")
    page.click(".cm-content")
    page.keyboard.type("[")
    page.wait_for_selector("#messages .error", timeout=TIMEOUT_MS)


WAYS: Final[dict[str, Callable[[Page], None]]] = {
    "another scenario is opened": replace_scenario,
    "the text becomes invalid": break_text,
    "the window is closed": lambda page: page.close(),
}


def time_to_end(page: Page, studio: int, leave: Callable[[Page], None]) -> float:
    """Return the time from the request that replaces a run, or the end of its window, to the end of its process, ms."""
    death = Death(busiest(studio))
    since = time.time()
    leave(page)
    if not page.is_closed():
        since = page.evaluate(
            "(performance.timeOrigin + Math.max(...performance.getEntriesByType('resource')"
            ".filter(one => one.name.endsWith('api/play')).map(one => one.startTime))) / 1000"
        )
    death.join(TIMEOUT_MS / 1000)
    return (death.at - since) * 1000 if death.at else float("inf")


@contextmanager
def command(browser: Browser, url: str) -> Iterator[None]:
    """Run an audit, which uses all cores, from another user's window."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.goto(f"{url}commands#audit")
    page.wait_for_selector("#start")
    page.fill("#field-ccas", "bbr reno cubic")
    page.select_option("#field-quick-deep", "deep")
    page.click("#start")
    page.wait_for_function("() => Number(document.getElementById('part').value) > 0", timeout=TIMEOUT_MS)
    yield
    page.click("#stop")
    page.wait_for_function("() => document.documentElement.dataset.state === 'ended'", timeout=TIMEOUT_MS)
    context.close()


def main() -> None:
    """Print the measurements."""
    changes = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        Path(folder, "loops.py").write_text(LOOPS, encoding="utf-8")
        for name, text in ENDLESS.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        process, url = serve(folder)
        try:
            browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_context(viewport=SIZE).new_page()
            open_page(page, url)
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; from a slider's change to the drawn figure:")
            with ExitStack() as stack:
                for number in range(RUNAWAYS + 1):
                    print(f"next to {number} runs that do not end: {clicks(page, changes)}", flush=True)
                    stack.enter_context(runaway(browser, url, list(ENDLESS)[number % len(ENDLESS)]))
            with command(browser, url):
                print(f"next to an audit: {clicks(page, changes)}", flush=True)
            for name in ENDLESS:
                for way, leave in WAYS.items():
                    with runaway(browser, url, name) as own:
                        print(f"{name}: {way}: ended after {time_to_end(own, process.pid, leave):.0f} ms", flush=True)
            browser.close()
        finally:
            process.terminate()
            process.wait(20)


if __name__ == "__main__":
    main()
