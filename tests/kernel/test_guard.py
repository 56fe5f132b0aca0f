"""The receiver's daemon in network namespaces: the windows at the sender's kernel, and that nothing is left behind."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.kernel.guard_lab import TIMEOUT_S, Lab, is_held, is_open, send_until, window

from fairweir.guard.daemon import find_daemon
from fairweir.play.kernel import Guarding, Options
from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(60), pytest.mark.usefixtures("daemon")]


@pytest.mark.parametrize(
    ("host", "how", "code"),
    [("10.9.1.2", signal.SIGINT, 130), ("fd01::2", signal.SIGTERM, 0), ("10.9.1.2", signal.SIGKILL, -9)],
    ids=["ipv4, interrupted", "ipv6, terminated", "ipv4, killed"],
)
def test_a_window_is_held_and_given_back(lab: Lab, cap: Path, host: str, how: signal.Signals, code: int) -> None:
    connection = lab.connect(host)
    send_until(is_open, connection)
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))  # the connection is older than its guard
    send_until(is_held, connection)
    child.send_signal(how)
    assert child.wait(10) == code
    send_until(is_open, connection)
    again = lab.guard(lab.receiver, "v0", "--config", str(cap))
    send_until(is_held, connection)
    assert again.poll() is None


@pytest.mark.parametrize("host", ["10.9.1.2", "fd01::2"])
def test_sockets_are_clamped_and_freed(lab: Lab, cap: Path, host: str) -> None:
    connection = lab.connect(host)
    send_until(is_open, connection)
    child = lab.guard(lab.receiver, "v0", "--config", str(cap), "--clamp")
    send_until(is_held, connection)
    # Until the clamp takes effect, windows in packets are rewritten, too; afterwards TCP advertises no larger windows.
    send_until(lambda _: is_held(_max_given(lab)), connection)
    child.send_signal(signal.SIGTERM)
    assert child.wait(10) == 0
    send_until(is_open, connection)


def _max_given(lab: Lab) -> int:
    """Return the maximum window that the receiver's TCP advertises, bytes."""
    [limit] = re.findall(r"rcv_ssthresh:(\d+)", lab.receiver.sh("ss -tin state established"))
    return int(limit)


def test_filters_of_a_killed_guard_go_with_the_next_or_by_cleaning(lab: Lab, cap: Path) -> None:
    connection = lab.connect("10.9.1.2")
    for _ in range(2):
        child = lab.guard(lab.receiver, "v0", "--config", str(cap), "--filters")
        send_until(is_held, connection)
        child.kill()
        child.wait()
        assert "guard_egress" in lab.receiver.sh("tc filter show dev v0 egress")
    assert json.loads(lab.ask(lab.receiver, "clean").stdout) == {"removed": 2}
    assert "guard" not in lab.receiver.sh("tc filter show dev v0 egress; tc filter show dev v0 ingress")
    send_until(is_open, connection)


def test_a_gateway_holds_the_hosts_behind_it_with_right_checksums(lab: Lab, cap: Path) -> None:
    lab.receiver.within(lambda: _finish_checksums("v0"))
    lab.guard(lab.router, "left", "--config", str(cap))  # observes the handshake, but has no socket
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    acked_before = _acked(connection)
    send_until(lambda _: _acked(connection) > acked_before + 100_000, connection)
    errors = lab.sender.sh("grep '^Tcp:' /proc/net/snmp").splitlines()
    counts = dict(zip(errors[0].split(), errors[1].split(), strict=True))
    assert counts["InCsumErrors"] == "0"
    status = json.loads(lab.ask(lab.router, "status", "--interface", "left", "--json").stdout)
    assert status["kernel"]["rewritten"] > 0


def _acked(connection: socket.socket) -> int:
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int(struct.unpack_from("=Q", info, 120)[0])


def _finish_checksums(device: str) -> None:
    """Make TCP compute complete checksums: ETHTOOL_STXCSUM 0."""
    with socket.socket() as any_socket:
        value = ctypes.create_string_buffer(struct.pack("=II", 0x17, 0))
        request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
        fcntl.ioctl(any_socket, 0x8946, request)


def test_a_second_guard_is_rejected_and_questions_are_answered(lab: Lab, cap: Path) -> None:
    connection = lab.connect("10.9.1.2")
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))
    send_until(is_held, connection)
    second = lab.ask(lab.receiver, "run", "--interface", "v0", "--policy", "service")
    assert second.returncode == 2
    assert f"`v0` has a guard already, process {child.pid}" in second.stderr
    explained = lab.ask(lab.receiver, "explain", "10.9.1.2:5001", "--interface", "v0")
    assert explained.returncode == 0, explained.stderr
    assert "capped at 1.00 Mbit/s" in explained.stdout
    assert "two segments" not in explained.stdout, "the rate is held below that too"
    unknown = lab.ask(lab.receiver, "explain", "10.9.9.9", "--interface", "v0")
    assert (unknown.returncode, "no flow of `v0`" in unknown.stderr) == (2, True)
    elsewhere = lab.ask(lab.sender, "status", "--interface", "v0")
    assert (elsewhere.returncode, "has no guard" in elsewhere.stderr) == (2, True)


def test_only_what_a_rule_is_about_is_held(lab: Lab, tmp_path: Path) -> None:
    config = tmp_path / "one.toml"
    config.write_text("[[cap]]\ngroup = 'local-port'\nservice = 'port 5001'\nrate = '1Mbps'\n")
    lab.guard(lab.receiver, "v0", "--config", str(config))
    held, free = lab.connect("10.9.1.2"), lab.connect("10.9.1.2", port=5002)
    send_until(is_open, free)
    windows = send_until(is_held, held, free)
    assert is_open(windows[1]), windows


def test_a_dry_run_tells_and_leaves_windows_alone(lab: Lab, cap: Path, tmp_path: Path) -> None:
    log, metrics = tmp_path / "log.jsonl", tmp_path / "guard.prom"
    words = ("--config", str(cap), "--dry-run", "--log", str(log), "--metrics", str(metrics), "--json")
    child = lab.guard(lab.receiver, "v0", *words)
    connection = lab.connect("10.9.1.2")
    send_until(lambda _: log.exists() and "hold" in log.read_text(), connection)
    assert is_open(window(connection))
    assert 'fairweir_guard_flows{interface="v0"} ' in metrics.read_text()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=10)
    status = json.loads(out)
    [service] = status["services"]
    assert (service["name"], status["kernel"]["rewritten"], status["dry_run"]) == ("10.9.0.1", 0, True)
    [event] = [json.loads(line) for line in log.read_text().splitlines() if "hold" in line]
    assert event["target_mbps"] == pytest.approx(1.0)
    assert not metrics.exists(), "what no longer runs has no numbers"


def test_policies_are_read_again_and_bad_ones_change_nothing(lab: Lab, cap: Path) -> None:
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    cap.write_text("[[cap]]\nrate = 'fast'\n")
    child.send_signal(signal.SIGHUP)
    assert child.stderr is not None
    assert "policies not reloaded" in (line := child.stderr.readline())
    assert "line 2" in line
    send_until(is_held, connection)
    cap.write_text("[service]\n")
    child.send_signal(signal.SIGHUP)
    assert "policies reloaded" in child.stderr.readline()
    send_until(is_open, connection)


def test_a_file_that_is_not_regular_changes_and_stops_nothing(lab: Lab, cap: Path) -> None:
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    assert child.stderr is not None
    for is_pipe in (True, False):
        cap.unlink()
        if is_pipe:
            os.mkfifo(cap)
        else:
            cap.symlink_to("/dev/zero")
        child.send_signal(signal.SIGHUP)
        assert f"policies not reloaded: {cap} is not a regular file" in child.stderr.readline()
    send_until(is_held, connection)
    before = lab.status(lab.receiver, "v0")["decisions"]["made"]
    while lab.status(lab.receiver, "v0")["decisions"]["made"] < before + 3:
        time.sleep(0.1)
    child.send_signal(signal.SIGTERM)
    assert child.wait(10) == 0


def test_an_idle_connection_takes_no_share(lab: Lab, tmp_path: Path) -> None:
    config = tmp_path / "cap.toml"
    config.write_text("[[cap]]\nrate = '8Mbps'\n")
    lab.guard(lab.receiver, "v0", "--config", str(config))
    control, data = lab.connect("10.9.1.2", 5001), lab.connect("10.9.1.2", 5002)
    for _ in range(7):
        control.send(bytes(107))
        time.sleep(0.02)

    def targets() -> dict[str, tuple[float, str]]:
        [service] = lab.status(lab.receiver, "v0")["services"]
        return {flow["local"][-4:]: (flow["target_mbps"], flow["why"]) for flow in service["flows"]}

    deadline = time.monotonic() + TIMEOUT_S
    while "1 idle" not in (found := targets()).get("5002", (0.0, ""))[1]:
        assert time.monotonic() < deadline, found
        for _ in range(20):
            with suppress(BlockingIOError):
                data.send(bytes(20_000))
            time.sleep(0.01)
    assert (found["5001"][0], found["5002"][0]) == (4.0, 8.0)
    assert found["5002"][1] == "share of 10.9.0.1: capped at 8.00 Mbit/s, 1 flow(s), 1 idle"


def test_a_dry_run_says_what_it_would_have_done(lab: Lab, cap: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    child = lab.guard(lab.receiver, "v0", "--config", str(cap), "--dry-run", "--log", str(log))
    first, second = lab.connect("10.9.1.2", 5001), lab.connect("10.9.1.2", 5002)
    send_until(lambda _: log.exists() and log.read_text().count("hold") == 2, first, second)
    first.close()
    assert child.stderr is not None
    said = child.stderr.readline()
    pattern = (
        r"guard of v0: would have held 10\.9\.0\.1:\d+ > 10\.9\.1\.2:{} to \d\.\d\d Mbit/s, window \d+\.\d kB "
        r"\(share of 10\.9\.0\.1: capped at 1\.00 Mbit/s, .*\); measured \d+\.\d\d Mbit/s over \d+\.\d s\n"
    )
    assert re.fullmatch(pattern.format(5001), said), said
    child.send_signal(signal.SIGTERM)
    _, rest = child.communicate(timeout=10)
    lines = rest.splitlines(keepends=True)
    assert re.fullmatch(pattern.format(5002), lines[0]), rest
    assert "would have held 2 flow(s), and now leaves 0 alone; no window was changed" in lines[1]
    ends = [json.loads(line) for line in log.read_text().splitlines() if '"end"' in line]
    assert [end["local"][-4:] for end in ends] == ["5001", "5002"]
    assert all(end["measured_mbps"] > 0 and end["dry_run"] for end in ends)


def test_a_forest_next_to_its_policy_decides(tmp_path: Path) -> None:
    forest, config = tmp_path / "forest.json", tmp_path / "flow.toml"
    config.write_text("[flow]\nmodel = 'forest.json'\nidle = 1.0\n")
    log = tmp_path / "log.jsonl"
    scenario = dumbbell("cubic", rate="20Mbps", rtprop="20ms", buffer="1bdp", duration="4s", warmup="2s")
    scenario = scenario.override({"flow.*.rwnd": "2MB", "flow.*.delayed_ack": 2})
    outcomes = {}
    for verdict, baseline in (("below", [1, 0, 0]), ("above", [0, 0, 1])):
        forest.write_text(json.dumps({"features": [], "baseline": baseline, "trees": []}))
        played = run(scenario, on="kernel", options=Options(guarding=Guarding(find_daemon(), config, log=log)))
        [flow] = played.summary.document["flows"]
        outcomes[verdict] = flow["throughput_mbps"]
        assert f"{verdict} its target" in log.read_text()
    assert outcomes["below"] > 15, "what was never above is never held"
    assert outcomes["above"] < 5, "what is always above goes down to two segments"


def test_a_forest_that_is_none_changes_nothing(lab: Lab, tmp_path: Path) -> None:
    forest, config = tmp_path / "forest.json", tmp_path / "flow.toml"
    config.write_text("[flow]\nmodel = 'forest.json'\n")
    words = ("--interface", "v0", "--config", str(config))
    missing = lab.ask(lab.receiver, "run", *words)
    assert (missing.returncode, f"read {forest}, the model of [flow]" in missing.stderr) == (2, True), missing.stderr
    forest.write_text('{"features": [], "baseline": [0, 0, 1], "trees": []}')
    child = lab.guard(lab.receiver, "v0", "--config", str(config))
    forest.write_text('{"features": [], "baseline": [0, 1], "trees": []}')
    child.send_signal(signal.SIGHUP)
    assert child.stderr is not None
    line = child.stderr.readline()
    assert f"policies not reloaded: {forest}, the model of [flow]: baseline must have 3 numbers" in line


def test_files_that_fail_let_no_flow_go(lab: Lab, cap: Path, tmp_path: Path) -> None:
    directory = tmp_path / "metrics"
    directory.mkdir()
    words = ("--config", str(cap), "--log", "/dev/full", "--metrics", str(directory / "guard.prom"))
    child = lab.guard(lab.receiver, "v0", *words)
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    assert child.stderr is not None
    assert "continues without this file: write /dev/full: No space left" in child.stderr.readline()
    # More events, in decisions with none between them: it is still the same outage.
    for _ in range(3):
        child.send_signal(signal.SIGHUP)
        assert "policies reloaded" in child.stderr.readline()
        before = lab.status(lab.receiver, "v0")["decisions"]["made"]
        other = lab.connect("10.9.1.2", 5002 + before)
        send_until(is_held, other)
    shutil.rmtree(directory)
    assert f"continues without this file: --metrics {directory}" in child.stderr.readline()
    send_until(is_held, connection)
    child.send_signal(signal.SIGTERM)
    assert child.wait(10) == 0


def test_a_full_disk_leaves_no_half_file_and_old_numbers_are_replaced(lab: Lab, cap: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(disk)], check=True)
    try:
        metrics, log = disk / "guard.prom", disk / "log.jsonl"
        words = ("--config", str(cap), "--metrics", str(metrics), "--log", str(log))
        child = lab.guard(lab.receiver, "v0", *words)
        connection = lab.connect("10.9.1.2")
        send_until(lambda _: "hold" in log.read_text(), connection)
        with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
        assert child.stderr is not None
        assert f"continues without this file: --metrics {metrics}: No space left" in child.stderr.readline()
        assert not (disk / "guard.unfinished").exists()
        (disk / "filler").unlink()
        old = metrics.read_text()
        while metrics.read_text() == old:
            time.sleep(0.2)
        child.kill()
        child.wait()
        stale = re.findall(r"timestamp_seconds\S+ (\S+)", metrics.read_text())
        lab.guard(lab.receiver, "v0", *words)
        while (fresh := re.findall(r"timestamp_seconds\S+ (\S+)", metrics.read_text())) == stale:
            time.sleep(0.1)
        assert float(fresh[0]) > float(stale[0])
        assert all(json.loads(line) for line in log.read_text().splitlines())
        lab.children[-1].kill()
        lab.children[-1].wait()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_it_ends_with_its_device(lab: Lab, cap: Path) -> None:
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))
    lab.receiver.sh("ip link set v0 down; ip link set v0 up")
    time.sleep(1.2)
    assert child.poll() is None, "down and up is not an end"
    lab.receiver.sh("ip link del v0")
    assert child.wait(10) == 2
    assert child.stderr is not None
    assert "interface `v0` was removed" in child.stderr.read()


@pytest.mark.parametrize("means", ["", "--clamp"], ids=["rewriting", "clamping"])
def test_a_rate_is_held_where_the_path_has_a_delay(tmp_path: Path, means: str) -> None:
    program = tmp_path / "guard"
    program.write_text(f"#!/bin/sh\nexec '{find_daemon()}' \"$@\" {means}\n")
    program.chmod(0o755)
    config = tmp_path / "cap.toml"
    config.write_text("[[cap]]\nrate = '20Mbps'\n")
    scenario = dumbbell("cubic", rate="100Mbps", rtprop="20ms", buffer="1bdp", duration="6s", warmup="3s")
    # A window shrinks as data arrive, and the kernel world's is 1 GB else.
    scenario = scenario.override({"flow.*.rwnd": "2MB", "flow.*.delayed_ack": 2})
    played = run(scenario, on="kernel", options=Options(guarding=Guarding(program, config)))
    [flow] = played.summary.document["flows"]
    assert 15 < flow["throughput_mbps"] < 21
    assert flow["lost_pkts"] == 0, "what is held fills no queue"
    assert played.summary.document["guard"]["kernel"]["rewritten"] > 100


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--interface", "nosuch0", "--policy", "service"), "no such interface: `nosuch0`"),
        (("--interface", "lo", "--policy", "cap"), "no rate is given"),
        (("--interface", "lo", "--policy", "servise"), "no such policy: `servise`"),
        (("--interface", "lo"), "no policy is given"),
    ],
)
def test_invalid_input_is_rejected(lab: Lab, words: tuple[str, ...], reported: str) -> None:
    done = lab.ask(lab.sender, "run", *words)
    assert (done.returncode, reported in done.stderr) == (2, True), done.stderr
