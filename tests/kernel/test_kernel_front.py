"""The kernel world through its front end: records, errors, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fairweir import _core
from fairweir.cli.main import main
from fairweir.errors import ConfigError, KernelError
from fairweir.play import kernel
from fairweir.play.run import run
from fairweir.play.simulate import Capture, Side
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel_world")]


def short(cca: str) -> Scenario:
    return dumbbell(cca, rate="12Mbps", rtprop="20ms", buffer="4bdp", duration="4s", warmup="1s")


@pytest.mark.parametrize("cca", ["cubic", "frcc"])
def test_a_run_has_the_simulators_columns(cca: str) -> None:
    scenario = short(cca)
    there, here = run(scenario, on="kernel", interval="100ms"), run(scenario, interval="100ms")
    assert there.flows.to_arrow().schema == here.flows.to_arrow().schema
    assert there.links.to_arrow().schema == here.links.to_arrow().schema
    assert len(there.flows) == len(here.flows)
    assert there.summary.document["flows"][0].keys() >= here.summary.document["flows"][0].keys() - {"lost_pkts"}
    assert there.summary.document["links"][0].keys() == here.summary.document["links"][0].keys()
    [flow] = there.summary.document["flows"]
    assert 0.8 * 12 < flow["throughput_mbps"] <= 12.01
    assert flow["rtt_ms"]["min"] >= 20.0
    assert (there.summary.document["world"], there.summary.document["emulator"]["mode"]) == ("kernel", "mtu")


def test_parameters_reach_the_controller() -> None:
    # The queue of weighted additive increase does not show the parameters; the queue of Vegas does: alpha to beta
    # packets.
    few = run(short("vegas"), on="kernel").summary.document["links"][0]["queue_ms"]["mean"]
    many = run(short("vegas").override({"flow.*.cca": {"name": "vegas", "alpha": 14, "beta": 16}}), on="kernel")
    assert many.summary.document["links"][0]["queue_ms"]["mean"] > few + 5.0


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"flow.0.cca": "bbr3"}, "flow.0.cca"),
        ({"flow.0.cca": "pcc_vivace"}, "flow.0.cca"),
        ({"flow.0.cca": {"name": "cubic", "beta": 0.5}}, "flow.0.cca"),
        ({"flow.0.delayed_ack": 4}, "flow.0.delayed_ack"),
        ({"flow.0.oracle_rtprop": True}, "flow.0.oracle_rtprop"),
    ],
)
def test_unsupported_scenarios_are_rejected(changes: dict[str, object], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run(short("cubic").override(changes), on="kernel")
    assert caught.value.key is not None
    assert caught.value.key.startswith(key)


def controllers() -> set[str]:
    """Return the controllers that TCP_CONGESTION currently accepts in all network namespaces."""
    return set(Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split())


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def wait_for(what: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_an_end_that_comes_early(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(short("expo").override({"duration": "60s"}).to_toml())
    before = controllers()
    words = [sys.executable, "-m", "fairweir", "run", str(file), "--on", "kernel"]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: any(name.startswith("expo") for name in controllers() - before))
        [helper] = children(process.pid)
        process.send_signal(number)
        # A process that a signal asks to end cleans up and says which; SIGKILL cannot be handled.
        assert process.wait(120) == (-number if number == signal.SIGKILL else 128 + number)
        wait_for(lambda: not Path(f"/proc/{helper}").exists())
        wait_for(lambda: not any(name.startswith("expo") for name in controllers() - before))
    finally:
        process.kill()
        process.wait()


def test_two_runs_at_once_do_not_meet() -> None:
    scenario = short("frcc").override({"duration": "5s"})
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(run, scenario, on="kernel"), pool.submit(run, scenario, on="kernel")]
        found = [record.result().summary.document for record in both]
    if not all(summary["emulator"]["judged"] for summary in found):
        pytest.skip("packets left late: two emulators need two cores")
    # Each flow has a separate link.
    assert all(summary["flows"][0]["throughput_mbps"] > 0.7 * 12 for summary in found)


def test_a_controller_is_loaded_permanently_and_unloaded(capsys: pytest.CaptureFixture[str]) -> None:
    name = f"fw_test_{os.getpid() % 100_000}"
    assert main(["kernel", "load", "vegas", "--name", name, "--set", "alpha=3", "--json"]) == 0
    try:
        loaded = json.loads(capsys.readouterr().out)
        assert (loaded["name"], loaded["params"]["alpha"]) == (name, 3)
        assert name in controllers()
        assert main(["kernel", "params", name, "--set", "beta=5"]) == 0
        assert "alpha=3, beta=5" in capsys.readouterr().out
        assert main(["kernel", "list", "--json"]) == 0
        assert name in [row["name"] for row in json.loads(capsys.readouterr().out)]
        assert main(["doctor", "--json"]) == 0
        left = next(row for row in json.loads(capsys.readouterr().out) if row["name"] == "loaded controllers")
        assert name in left["detail"]
    finally:
        assert main(["kernel", "unload", name]) == 0
    assert name not in controllers()
    assert main(["kernel", "unload", name]) == 2


def test_a_source_that_does_not_exist_is_reported() -> None:
    with pytest.raises(KernelError):
        kernel.ask(["load", "no_such_cca"])


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_a_capture_shows_the_path(side: Side, tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    record = run(short("reno"), on="kernel", capture=Capture(path, side))
    document = json.loads(_core.explain(str(path)))
    sent = record.summary.document["flows"][0]["sent_pkts"]
    assert document["capture"]["segments"] > sent
    assert (document["capture"]["backward"], document["capture"]["malformed"]) == (0, 0)
    assert [file.name for file in tmp_path.iterdir()] == ["run.pcap"]
