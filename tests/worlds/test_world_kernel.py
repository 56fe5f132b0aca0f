"""Interface to the kernel world: handling of the helper's output, errors and silence. tests/kernel has real runs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from fairweir.cli.main import main
from fairweir.errors import CcaError, ConfigError, KernelError
from fairweir.play import kernel
from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

FAKE = Path(__file__).with_name("fake_helper.py")


@pytest.fixture(autouse=True)
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a helper whose behavior the scenario selects, and simulate root."""
    program = tmp_path / "helper"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv(kernel.HELPER_VARIABLE, str(program))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.chdir(tmp_path)
    return program


def scenario(does: str) -> Scenario:
    return dumbbell({"name": "frcc", "does": does}, rate="12Mbps", rtprop="10ms", duration="5s", seed=4)


def test_the_record_is_that_of_any_world() -> None:
    seen: list[float] = []
    record = run(scenario("play"), on="kernel", interval="1s", on_progress=seen.append)
    assert (record.summary.document["world"], record.summary.document["seed"], record.is_judged) == ("kernel", 4, True)
    assert record.summary.document["emulator"]["release_error_us"]["p99"] == 71.0
    # The sender paces: its 45 us count as the receiver's 30.
    assert record.summary.emulator is not None
    assert record.summary.emulator.host_us.round_trip_us == 60.0
    assert record.summary.emulator.stalls_us == [120.0]
    assert record.summary.document["fairness"] == {"jain": 1.0, "max_min_ratio": 1.0}
    assert record.flows["throughput_mbps"].tolist() == [2.5]
    assert record.links["queue_bytes"].tolist() == [7]
    assert seen == [0.5, 1.0]
    assert "series" not in record.summary.document


def test_without_an_interval_there_is_no_series() -> None:
    assert not run(scenario("play"), on="kernel").has_series


def test_a_late_emulator_is_not_judged_and_reports_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "late.toml"
    file.write_text(scenario("lag").to_toml())
    assert main(["run", str(file), "--on", "kernel"]) == 0
    shown = capsys.readouterr()
    assert "NOT JUDGED" in shown.out
    assert "NOT JUDGED: p99 release error 9.1 ms exceeds the budget" in shown.err


def test_costs_and_replays_are_reported_and_a_difference_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "replay.toml"
    file.write_text(scenario("play").to_toml())
    assert main(["run", str(file), "--on", "kernel", "--record", "calls", "--cost"]) == 0
    shown = capsys.readouterr().out
    assert "frcc, mean cost of a call: cong_control 1250 ns" in shown
    assert "frcc, 1,000 ACKs of 1 flows replayed natively: the same decisions" in shown
    file.write_text(scenario("diverge").to_toml())
    assert main(["run", str(file), "--on", "kernel", "--record", "calls"]) == 1
    assert "DIFFERENT DECISIONS: ACK 7: cwnd 10 and 11" in capsys.readouterr().out


def test_a_refusal_names_the_key_of_the_scenario() -> None:
    many = scenario("refuse").override({"flow.0.count": 2})
    with pytest.raises(ConfigError, match="only 1 or 2 packets per ACK") as caught:
        run(many, on="kernel")
    assert (caught.value.key, caught.value.hint) == ("flow.0.delayed_ack", "write delayed_ack = 2")
    assert caught.value.source == "dumbbell"


@pytest.mark.parametrize(
    ("does", "message"),
    [("fail", r"failed \(exit code 1\): TUN: no such device"), ("babble", "printed invalid JSON: `not json`")],
)
def test_other_failures_are_reported(does: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        run(scenario(does), on="kernel")


def test_a_helper_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "SETUP_S", -4.0)
    with pytest.raises(KernelError, match="did not end within 1 s"):
        run(scenario("hang"), on="kernel")


def test_an_interrupt_reaches_the_helper(tmp_path: Path) -> None:
    def interrupt() -> None:
        while not (tmp_path / "started").exists():
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    # In tests run in the background SIGINT is ignored, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(scenario("hang"), on="kernel")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (tmp_path / "interrupted").exists()


def test_guarding_says_what_it_needs_root_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["guard", "run", "--interface", "lo", "--policy", "service"]) == 2
    reported = capsys.readouterr().err
    assert "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN" in " ".join(reported.split())
    assert "namespaces" not in reported


def test_missing_parts_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(KernelError, match="the kernel world needs root"):
        run(scenario("play"), on="kernel")
    monkeypatch.setenv(kernel.HELPER_VARIABLE, "nowhere")
    with pytest.raises(KernelError, match="not a program: `nowhere`"):
        run(scenario("play"), on="kernel")
    monkeypatch.delenv(kernel.HELPER_VARIABLE)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(KernelError, match="is not built"):
        run(scenario("play"), on="kernel")


def test_python_classes_stay_in_the_simulator(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import fairweir\nclass Mine(fairweir.Cca):\n    pass\n")
    with pytest.raises(CcaError, match="cannot run a Python class") as caught:
        run(dumbbell("mine.py:Mine", duration="5s", base=tmp_path), on="kernel")
    assert caught.value.key == "flow.0.cca"


def test_options_are_for_the_kernel_world() -> None:
    with pytest.raises(ConfigError, match="only the kernel world has such options"):
        run(dumbbell("reno", duration="1s"), options=kernel.Options(cost=True))
    assert kernel.Options("tso", record=Path("r"), cost=True).words() == [*("--mode", "tso", "--record", "r", "--cost")]
