"""Ctrl-C during a long call of the facade, as a notebook and a terminal send it: finished work is stored, no process
is left, there is one message, and the next call works.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

#: A run of hundreds of hours, which a test never finishes.
BEGIN = """
import os, signal, sys, threading, time
import fairweir as fw
two = fw.dumbbell(["reno", "reno"], rate="1Gbps", rtprop="20ms", buffer="1bdp", duration="5s")
long = two.override({"duration": "500h"})
"""
NEXT = """
assert len(fw.sweep(two, {"seed": [1, 2]}, "next").summaries) == 2
print("next", flush=True)
raise
"""
CALLS = {
    "sweep": 'fw.sweep(two, {"duration": ["5s", "500h"]}, "kept", workers=1, on_done=lambda n, _, __: n and go())',
    "compare": 'watch("kept/runs"); fw.compare("reno", "reno{beta=0.4}", scenario=two, seeds=500, directory="kept")',
    "audit": 'fw.audit("reno", depth="quick", on_progress=lambda what, part: part and go())',
}
MESSAGES = {
    "sweep": "KeyboardInterrupt: 1 of 2 points are stored in kept/; the same call resumes the sweep",
    "compare": "KeyboardInterrupt: finished runs are stored in kept/; the same call resumes the comparison",
    "audit": "fairweir.audit.runner.InterruptedAuditError: interrupted; the `results` of this exception have the",
}
WATCH = """
def go():
    print("go", flush=True)

def watch(folder):
    def wait():
        while not os.path.isdir(folder) or not any(name.endswith(".json") for name in os.listdir(folder)):
            time.sleep(0.01)
        go()
    threading.Thread(target=wait, daemon=True).start()
"""


def start(folder: Path, text: str) -> subprocess.Popen[str]:
    """Start a script as the leader of its own session."""
    (folder / "script.py").write_text(text)
    return subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def left(session: int) -> list[str]:
    """Return the command lines of the processes that are left in a session after at most ten seconds."""
    found: list[str] = []
    for _ in range(200):
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found.append((entry / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
        if not found:
            break
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("is_group", [False, True], ids=["process", "group"])
@pytest.mark.parametrize("what", CALLS)
def test_ctrl_c_in_a_call_of_the_facade(what: str, is_group: bool, tmp_path: Path) -> None:
    call = f"try:\n    {CALLS[what]}\nexcept KeyboardInterrupt:{textwrap.indent(NEXT, '    ')}"
    process = start(tmp_path, BEGIN + WATCH + call)
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    (os.killpg if is_group else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert out.replace("go\n", "") == "next\n"
    assert err.count("Traceback") == 1, err
    assert err.splitlines()[-1].startswith(MESSAGES[what])
    assert left(process.pid) == []
    if what != "audit":
        assert process.returncode == -signal.SIGINT  # so that a shell's loop ends as well
        assert list((tmp_path / "kept").glob("*/*.json"))


#: Ctrl-C comes while the fork server imports the package: some 0.3 s, in which it does not ignore SIGINT by itself.
EARLY = """
def shoot():
    path = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    while not any("forkserver" in open(f"/proc/{child}/cmdline").read() for child in open(path).read().split()):
        time.sleep(0.001)
    time.sleep(WAIT)
    os.killpg(0, signal.SIGINT)

thread = threading.Thread(target=shoot)
thread.start()
try:
    fw.sweep(long, {"seed": [1, 2]}, "kept")
except KeyboardInterrupt:
    thread.join()
"""


@pytest.mark.parametrize("wait_s", [0.0, 0.05, 0.1, 0.2, 0.4])
def test_ctrl_c_while_processes_start(wait_s: float, tmp_path: Path) -> None:
    process = start(tmp_path, BEGIN + EARLY.replace("WAIT", str(wait_s)) + textwrap.indent(NEXT, "    "))
    out, err = process.communicate(timeout=120)
    assert out == "next\n", err
    assert err.count("Traceback") == 1, err
    last = "KeyboardInterrupt: 0 of 2 points are stored in kept/; the same call resumes the sweep"
    assert err.splitlines()[-1] == last
    assert left(process.pid) == []
