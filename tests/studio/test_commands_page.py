"""The pages of the long commands in a browser: start, progress, results, stop, and what a page may not do."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from tests.accessibility import faults
from tests.studio.serving import SCENARIO, TIMEOUT_MS, Served, descendants, is_alive, serve

#: Maximum time between a click on Stop and the page's answer, s; the bar is 0.1 s without the browser's own time.
STOP_S = 0.5

#: An audit that lasts for minutes, but whose first run ends in a second; a whole audit begins with its longest runs.
MANY_SHORT_RUNS = {"only": "random-loss", "seeds": "1000"}


@dataclass
class Commands:
    """A page of a command."""

    page: Page

    def start(self, **values: str) -> None:
        for name, value in values.items():
            box = self.page.locator(f'[id="field-{name.replace("__", "-")}"]')
            if box.evaluate("one => one.tagName") == "SELECT":
                box.select_option(value)
            else:
                box.fill(value)
        self.page.click("#start")

    def wait(self, state: str) -> None:
        self.page.wait_for_selector(f'html[data-state="{state}"]', state="attached", timeout=TIMEOUT_MS)

    def processes(self, served: Served) -> list[int]:
        """Return the processes of commands, which are the leaders of their sessions."""
        return [pid for pid in descendants(served.process.pid) if is_alive(pid) and os.getsid(pid) == pid]


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context
    context.close()


@pytest.fixture
def commands(context: BrowserContext, served: Served) -> Commands:
    commands = Commands(context.new_page())
    commands.page.goto(f"{served.url}commands#audit")
    commands.page.wait_for_selector("#start")
    return commands


def test_an_audit_runs_and_its_report_and_failing_scenarios_open(
    commands: Commands, served: Served, context: BrowserContext
) -> None:
    page = commands.page
    commands.start(ccas="reno", quick__deep="quick", only="random-loss")
    commands.wait("ended")
    page.wait_for_selector("#files li.page")
    assert "exit 1: a claim fails" in page.inner_text("#state")
    assert "✗ fails" in page.inner_text("#output")
    assert page.inner_text("#line") == "fairweir audit reno --quick --only random-loss --out results/audit/reno"
    results = json.loads((served.folder / "results/audit/reno/results.json").read_text(encoding="utf-8"))
    assert results["command"] == page.inner_text("#line")
    with context.expect_page() as opened:
        page.click("#files li.page a")
    report = opened.value
    report.wait_for_selector("h1:has-text('Audit of reno')")
    page.locator("#files li.scenario a").first.click()
    page.wait_for_selector('html[data-name^="results/audit/reno/failing/"]', state="attached", timeout=TIMEOUT_MS)
    assert page.locator("#messages .error").count() == 0


@pytest.mark.parametrize(
    ("command", "values", "outcome", "result"),
    [
        ("starve", {"cca": "reno", "rate_range": "10Mbps..20Mbps"}, "exit [01]: ", ""),
        ("verify", {"cca": "cc_qdel", "properties": "queue<=50", "points": "4"}, "exit 1: a claim is", "question.smt2"),
        ("explain", {"capture": "cap.pcap"}, "exit 0: explained", "cap.explain.html"),
        ("guard evaluate", {"challenges": "services", "configurations": "1", "duration": "10s"}, "exit 1: a claim", ""),
    ],
)
def test_each_command_has_its_page(
    commands: Commands, served: Served, command: str, values: dict[str, str], outcome: str, result: str
) -> None:
    words = [sys.executable, "-m", "fairweir", "run", "one.toml", "--pcap", "cap.pcap"]
    subprocess.run(words, cwd=served.folder, check=True, capture_output=True)
    page = commands.page
    page.click(f"#pages a:text-is('{command}')")
    page.wait_for_selector(f"#command:text-is('fairweir {command}')")
    assert faults(page) == []
    commands.start(**values)
    commands.wait("ended")
    assert re.search(outcome, page.inner_text("#state")), page.inner_text("#output")
    assert page.inner_text("#output").strip()
    if result:
        page.wait_for_selector(f"#files a:has-text('{result}')")
    assert faults(page) == []


def test_an_interrupted_audit_resumes_from_its_finished_runs(commands: Commands, served: Served) -> None:
    page = commands.page
    commands.start(ccas="vegas", seeds="40", only="policer\nrandom-loss")
    page.wait_for_function("() => Number(document.getElementById('part').value) > 0", timeout=TIMEOUT_MS)
    page.click("#stop")
    commands.wait("ended")
    assert "exit 130" in page.inner_text("#state")
    assert "the same command resumes" in page.inner_text("#state")
    folder = served.folder / "results/audit/vegas"
    # A number that no run has shows that the stored run is in the results.
    for path in (folder / "runs").iterdir():
        document = {**json.loads(path.read_text(encoding="utf-8")), "packets": 10**12}
        path.write_text(json.dumps(document), encoding="utf-8")
    page.click("#actions button:text-is('Resume')")
    page.wait_for_selector("#state:has-text('exit 1'):not(:has-text('exit 130'))", timeout=TIMEOUT_MS)
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert results["complete"]
    assert results["packets"] >= 10**12
    assert not (folder / "runs").exists()


def test_an_interrupted_command_resumes_from_its_finished_runs(commands: Commands, served: Served) -> None:
    page = commands.page
    page.click("#pages a:text-is('guard evaluate')")
    page.wait_for_selector("#command:text-is('fairweir guard evaluate')")
    commands.start(challenges="reno-cubic", configurations="12", duration="20s", seed="7")
    page.wait_for_function("() => Number(document.getElementById('part').value) > 0", timeout=TIMEOUT_MS)
    page.click("#stop")
    commands.wait("ended")
    assert "exit 130" in page.inner_text("#state")
    stored = {path: path.stat().st_mtime_ns for path in (served.folder / "results/guard-evaluate").glob("*.json")}
    assert stored
    page.click("#actions button:text-is('Resume')")
    page.wait_for_selector("#state:has-text('exit 1'), #state:has-text('exit 0')", timeout=TIMEOUT_MS)
    assert {path: path.stat().st_mtime_ns for path in stored} == stored


def test_the_copied_command_is_the_one_that_runs(commands: Commands, served: Served) -> None:
    page = commands.page
    page.fill("#field-ccas", "cubic{beta=0.5} reno")
    page.fill("#field-only", "ideal-rate\narrivals")
    page.select_option("#field-quick-deep", "quick")
    page.click("#copy-command")
    page.wait_for_selector("#messages .note")
    line = page.evaluate("navigator.clipboard.readText()")
    page.click("#start")
    commands.wait("ended")
    assert page.inner_text("#line") == line
    words = shlex.split(line)
    out = words[words.index("--out") + 1]
    first = json.loads((served.folder / out / "results.json").read_text(encoding="utf-8"))
    subprocess.run([sys.executable, "-m", "fairweir", *words[1:]], cwd=served.folder, check=False, capture_output=True)
    second = json.loads((served.folder / out / "results.json").read_text(encoding="utf-8"))
    assert {**second, "wall_s": first["wall_s"]} == first


def test_stop_answers_at_once_and_finished_work_is_stored(commands: Commands, served: Served) -> None:
    page = commands.page
    commands.start(ccas="reno bbr", **MANY_SHORT_RUNS)
    page.wait_for_function("() => Number(document.getElementById('part').value) > 0", timeout=TIMEOUT_MS)
    assert commands.processes(served)
    assert faults(page) == []
    started = time.monotonic()
    page.click("#stop")
    page.wait_for_function("() => document.documentElement.dataset.state !== 'running'")
    assert time.monotonic() - started < STOP_S
    commands.wait("ended")
    assert "exit 130: interrupted; finished runs are stored" in page.inner_text("#state")
    assert commands.processes(served) == []
    page.wait_for_selector("#files li.page")
    results = json.loads((served.folder / "results/audit/reno-bbr/results.json").read_text(encoding="utf-8"))
    assert not results["complete"]


def test_a_reloaded_page_shows_the_command_from_its_start(commands: Commands) -> None:
    page = commands.page
    commands.start(ccas="cubic", quick__deep="quick", only="random-loss")
    commands.wait("ended")
    shown = page.inner_text("#output")
    page.reload()
    commands.wait("ended")
    page.wait_for_function("text => document.getElementById('output').innerText === text", arg=shown)
    assert page.locator("#works li").count() >= 1


def test_a_command_continues_when_the_page_is_closed_unless_it_is_tied(
    commands: Commands, served: Served, context: BrowserContext
) -> None:
    for is_tied in (False, True):
        page = context.new_page()
        page.goto(f"{served.url}commands#audit")
        page.wait_for_selector("#start")
        page.set_checked("#tied", is_tied)
        Commands(page).start(ccas="bbr3", **MANY_SHORT_RUNS)
        page.wait_for_function("() => Number(document.getElementById('part').value) > 0", timeout=TIMEOUT_MS)
        address = page.url
        page.close()
        deadline = time.monotonic() + (30 if is_tied else 6)
        while time.monotonic() < deadline and commands.processes(served):
            time.sleep(0.1)
        assert bool(commands.processes(served)) != is_tied
        if not is_tied:
            commands.page.goto(address)
            commands.page.click("#stop")
            commands.wait("ended")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ccas", "", "is required"),
        ("ccas", "--save-known=x", "starts with `-`"),
        ("ccas", "/etc/mine.py:Mine", "outside the folder"),
        ("ccas", "cubic ../../mine.py:Mine", "outside the folder"),
        ("ccas", "outside.py:Mine", "outside the folder"),
        ("against", "-h", "starts with `-`"),
    ],
)
def test_bad_values_are_marked_at_their_field(
    commands: Commands, served: Served, name: str, value: str, words: str
) -> None:
    link = served.folder / "outside.py"
    if not link.is_symlink():
        link.symlink_to("/etc/hostname")
    commands.page.fill("#field-ccas", "reno")
    commands.start(**{name: value})
    commands.page.wait_for_selector(f'#field-{name}[aria-invalid="true"]')
    assert words in commands.page.inner_text("#messages")
    assert commands.page.locator("#current:visible").count() == 0


def test_output_never_becomes_html(commands: Commands) -> None:
    commands.start(ccas="<img/src=x/onerror=document.title='hacked'>")
    commands.wait("ended")
    assert "exit 2" in commands.page.inner_text("#state")
    assert "<img" in commands.page.inner_text("#output")
    assert commands.page.locator("#work img").count() == 0
    assert "hacked" not in commands.page.title()


def test_a_page_of_the_folder_cannot_call_the_studio(commands: Commands, served: Served, said: list[str]) -> None:
    script = """
    const outcome = [];
    try { localStorage.length; outcome.push('storage'); } catch { outcome.push('no storage'); }
    const body = JSON.stringify({name: 'one.toml', text: 'x', version: null});
    fetch('../api/save', {method: 'POST', body}).then(() => outcome.push('called'), () => outcome.push('not called'))
      .finally(() => document.title = outcome.join());
    """
    (served.folder / "pages").mkdir(exist_ok=True)
    (served.folder / "pages" / "evil.html").write_text(f"<script>{script}</script>", encoding="utf-8")
    commands.page.goto(f"{served.url}files/pages/evil.html")
    commands.page.wait_for_function("() => document.title")
    assert commands.page.title() == "no storage,not called"
    assert (served.folder / "one.toml").read_text(encoding="utf-8") == SCENARIO
    assert said
    said.clear()


@pytest.mark.parametrize(
    "name",
    ["%2e%2e/x.html", "..%2f..%2fetc%2fhostname", "%2Fetc%2Fhostname", ".hidden.html", ".git/x.html", "link.html",
     "mine.py", "results", "missing.html", "x%00.html", "x" * 5_000 + ".html"],
)  # fmt: skip
def test_other_files_are_not_sent(served: Served, name: str) -> None:
    folder = served.folder
    (folder / ".git").mkdir(exist_ok=True)
    (folder.parent / "x.html").write_text("secret", encoding="utf-8")
    for hidden in (".hidden.html", ".git/x.html", "mine.py"):
        (folder / hidden).write_text("secret", encoding="utf-8")
    if not (folder / "link.html").is_symlink():
        (folder / "link.html").symlink_to(folder.parent / "x.html")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{served.url}files/{name}", timeout=10)  # noqa: S310


def test_ctrl_c_interrupts_commands_leaves_no_process_and_is_shown(
    tmp_path: Path, browser: Browser, said: list[str]
) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO, encoding="utf-8")
    served = serve(tmp_path)
    page = browser.new_page()
    page.goto(f"{served.url}commands#audit")
    page.wait_for_selector("#start")
    Commands(page).start(ccas="bbr", **MANY_SHORT_RUNS)
    page.wait_for_function("() => Number(document.getElementById('part').value) > 0", timeout=TIMEOUT_MS)
    children = descendants(served.process.pid)
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(30) == 0
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(map(is_alive, children)):
        time.sleep(0.05)
    assert not any(map(is_alive, children))
    assert (tmp_path / "results/audit/bbr/results.json").is_file()
    page.wait_for_selector("#messages p:has-text('the studio has ended')", timeout=TIMEOUT_MS)
    page.close()
    # The browser itself reports each request that finds no server.
    assert all("net::ERR_" in message for message in said)
    said.clear()
