"""A user's own C that crashes or loops causes an error message, wherever it runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fairweir.ccas.new import write_cca
from fairweir.cli.main import main
from fairweir.errors import CcaError, ControllerError
from fairweir.play import sandbox
from fairweir.play.pool import Done, Failed, map_jobs
from fairweir.play.run import run
from fairweir.play.worker import play
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

#: A line of the skeleton's `pkts_acked`, which the tests replace.
WELL = "ca->rtt_us = sample->rtt_us;"
LOOPS = 'for (;;) asm volatile("");'
DIVIDES = "ca->rtt_us = sample->rtt_us / (100 - min(100U, tcp_sk(sk)->delivered));"
#: A divisor that the compiler knows to be 0, so that it inserts a trap.
DIVIDES_PLAINLY = "u32 none = 0; ca->rtt_us = sample->rtt_us / none;"
STRAYS = "*(volatile u32 *)8 = sample->rtt_us;"

Source = Callable[[str], Path]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    def write(line: str) -> Path:
        path = write_cca("mine", tmp_path, is_c=True).files[0]
        text = path.read_text()
        assert WELL in text
        path.write_text(text.replace(WELL, line))
        return path

    return write


def alone(path: Path, count: int = 1) -> Scenario:
    return dumbbell([str(path)] * count, rate="12Mbps", rtprop="20ms", duration="2s")


@pytest.mark.parametrize(
    ("line", "what", "hint"),
    [
        (DIVIDES, "SIGFPE: a division by zero", "divisors"),
        (
            DIVIDES_PLAINLY,
            "SIGILL: illegal instruction, a compiler's trap for undefined behavior such as division by zero",
            "in kernel BPF the result is 0",
        ),
        (STRAYS, "SIGSEGV: invalid memory access", "pointers"),
    ],
)
def test_a_crash_is_an_error_that_names_flow_and_file(source: Source, line: str, what: str, hint: str) -> None:
    path = source(line)
    with pytest.raises(ControllerError) as caught:
        run(alone(path))
    assert str(caught.value) == f"flow `mine-1` at 0ns or later: `{path}` crashed ({what})"
    assert hint in str(caught.value.hint)
    assert caught.value.flow == "mine-1"
    with pytest.raises(ControllerError, match="one of the flows `mine-1`, `mine-2`, `mine-3` and 1 more at "):
        run(alone(path, 4))


def test_an_endless_loop_is_an_error(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "TIMEOUT_S", 3)
    with pytest.raises(ControllerError, match=r"flow `mine-1` .* does not return \(for 3 s\)"):
        run(alone(source(LOOPS)))


def test_the_command_line_reports_it_and_exits_with_2(source: Source, capsys: pytest.CaptureFixture[str]) -> None:
    path = source(DIVIDES)
    assert main(["run", str(path.with_name("mine.toml"))]) == 2
    reported = capsys.readouterr().err
    assert reported.startswith("error: one of the flows `mine-1`, `mine-2` at 0ns or later: ")
    assert reported.count("error:") == reported.count("hint:") == 1


def test_a_sweep_resumes_after_a_crash(source: Source, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = source(DIVIDES).with_name("mine.toml")
    words = ["sweep", str(scenario), "--grid", "flow.0.cca=reno,mine.bpf.c", "--set", 'flow.1.cca="reno"']
    assert main([*words, "--out", str(scenario.with_name("out"))]) == 2
    captured = capsys.readouterr()
    assert "crashed (SIGFPE: a division by zero)" in captured.err
    assert "2 points" in captured.out


def test_a_process_of_its_own_changes_nothing(source: Source) -> None:
    scenario = alone(source(WELL), 2)
    done: list[float] = []
    apart_from_us = run(scenario, interval="100ms", on_progress=done.append)
    (guarded,) = map_jobs(play, [scenario.to_dict()], timeout_s=60)
    assert isinstance(guarded, Done)
    assert apart_from_us.summary.document["flows"] == guarded.value.document["flows"]
    assert len(apart_from_us.flows) == 40


def test_a_worker_that_crashes_says_of_what(source: Source) -> None:
    (outcome,) = map_jobs(play, [alone(source(DIVIDES)).to_dict()], timeout_s=60)
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.reason) == ("crash", "its process died (SIGFPE: a division by zero)")


def test_errors_of_the_child_keep_their_facts(source: Source) -> None:
    path = source("this is not C")
    with pytest.raises(CcaError, match="the C compiler rejects it") as caught:
        run(alone(path))
    assert caught.value.key == "flow.0.cca"
    assert caught.value.hint is not None


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_loop_that_is_interrupted(source: Source, how: signal.Signals) -> None:
    scenario = source(LOOPS).with_name("mine.toml")
    process = subprocess.Popen([sys.executable, "-m", "fairweir", "run", str(scenario)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not (children := Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(1)
    process.send_signal(how)
    _, reported = process.communicate(timeout=120)
    assert (process.returncode, reported) == (
        (130, b"interrupted\n") if how == signal.SIGINT else (-signal.SIGKILL, b"")
    )
    while any(is_alive(int(child)) for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
