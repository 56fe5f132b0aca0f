"""Runs: their records, and that they are reproducible."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fairweir.cli.main import main
from fairweir.errors import CcaError, ConfigError
from fairweir.play.columns import FLOW_COLUMNS, LINK_COLUMNS
from fairweir.play.pool import map_jobs
from fairweir.play.run import fairness, run
from fairweir.play.table import Table
from fairweir.play.worker import play
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario


def noisy(seed: int = 1) -> Scenario:
    """Return a scenario of two flows that uses all random sources: ties, loss and jitter."""
    flows: list[dict[str, Any]] = [{"loss": "0.1%"}, {"jitter": {"kind": "uniform", "max": "2ms"}}]
    return dumbbell(["reno", "cubic"], rate="24Mbps", rtprop="20ms", duration="10s", seed=seed, flows=flows)


def outcome(scenario: Scenario) -> dict[str, Any]:
    """Return a run's results without its real time."""
    record = run(scenario, interval="100ms")
    summary = {key: value for key, value in record.summary.document.items() if key != "wall_s"}
    return {"summary": summary, "series": record.flows.to_dict() | record.links.to_dict()}


def as_bytes(scenario: Scenario) -> bytes:
    return json.dumps(outcome(scenario), sort_keys=True).encode()


def test_the_same_bytes_on_any_number_of_threads_and_processes() -> None:
    expected = as_bytes(noisy())
    for threads in (1, 4):
        with ThreadPoolExecutor(threads) as pool:
            assert list(pool.map(as_bytes, [noisy()] * 4)) == [expected] * 4
    flows = outcome(noisy())["summary"]["flows"]
    for workers in (1, 2):
        outcomes = map_jobs(play, [noisy().to_dict()] * 2, workers=workers)
        assert [o.value.document["flows"] for o in outcomes if o.ok] == [flows] * 2


def test_another_seed_gives_another_outcome() -> None:
    assert as_bytes(noisy(1)) != as_bytes(noisy(2))
    assert run(noisy(1), seed=2).summary.document["flows"] == run(noisy(2)).summary.document["flows"]


#: An element of the ACK path that may be in `jitter`; elements of `ack_jitter` come after it.
HELD_ACKS = {"kind": "ack-aggregation", "hold": "5ms"}


def test_the_summary_has_what_the_command_line_promises() -> None:
    summary = run(dumbbell("reno", rtprop=["10ms", "20ms"], rate="24Mbps", duration="5s", seed=3)).summary.document
    assert summary.keys() >= {"scenario", "world", "seed", "flows", "links", "fairness", "packets", "wall_s"}
    assert (summary["world"], summary["seed"]) == ("sim", 3)
    flow_keys = {"id", "cca", "throughput_mbps", "goodput_mbps", "rtt_ms", "qdelay_ms", "loss_rate", "retransmits"}
    assert summary["flows"][0].keys() >= flow_keys | {"sent_pkts", "lost_pkts", "delivered_pkts"}
    assert summary["flows"][0]["rtt_ms"].keys() >= {"mean", "p50", "p95", "p99"}
    assert summary["links"][0].keys() >= {"name", "utilization", "queue_ms", "drops", "marks"}
    assert Scenario.from_dict(summary["scenario"]).resolve()["seed"] == 3
    json.dumps(summary, allow_nan=False)


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        (
            {"flow.1.initial_cwnd": "10GB"},
            r"must be 1 to 1048576 packets: `6666666` \(dumbbell: flow\.1\.initial_cwnd\)",
        ),
        ({"flow.0.count": 3, "flow.1.initial_cwnd": "10GB"}, r"\(dumbbell: flow\.1\.initial_cwnd\)"),
        (
            {"flow.1.ack_jitter": {"kind": "random-aggregation", "max": "10ns"}, "flow.1.jitter": HELD_ACKS},
            r"max must be at least a microsecond: `10ns` \(dumbbell: flow\.1\.ack_jitter\.max\)",
        ),
        (
            {"duration": "700h", "link.bottleneck.rate": "80Tbps"},
            r"rate carries more bytes in \w+ than a run counts, 2\^63: `80Tbps` \(dumbbell: link\.bottleneck\.rate\)",
        ),
        (
            {"duration": "720h", "flow.0.app_rate": "40Tbps"},
            r"\(dumbbell: flow\.0\.app_rate\)",
        ),
    ],
)
def test_errors_of_the_simulator_have_the_files_key(settings: dict[str, Any], reported: str) -> None:
    scenario = dumbbell(["reno", "reno"], rate="24Mbps", rtprop="20ms", duration="1s").override(settings)
    with pytest.raises(ConfigError, match=reported) as caught:
        run(scenario)
    assert caught.value.hint


def test_series_have_units_and_add_up_to_the_summary() -> None:
    record = run(dumbbell("reno", rate="24Mbps", rtprop="20ms", duration="5s"), interval="250ms")
    assert len(record.flows) == len(record.links) == 20
    for table, columns in ((record.flows, FLOW_COLUMNS), (record.links, LINK_COLUMNS)):
        for column in columns:
            assert table[column.name].dtype == column.kind
            assert table.units.get(column.name, "") == column.unit
    mean = record.flows["throughput_mbps"].mean()
    assert mean == pytest.approx(record.summary.document["flows"][0]["throughput_mbps"], rel=1e-6)
    assert record.flows["id"].tolist() == ["reno-1"] * 20
    assert record.links["name"].tolist() == ["bottleneck"] * 20


def test_a_record_is_saved_whole(tmp_path: Path) -> None:
    record = run(noisy(), interval="1s")
    for _ in range(2):  # a second save replaces the first
        record.save(tmp_path / "a" / "record")
    saved = tmp_path / "a" / "record"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["record"]
    assert sorted(path.name for path in saved.iterdir()) == [
        "flows.parquet",
        "links.parquet",
        "scenario.toml",
        "summary.json",
    ]
    assert Table.read(saved / "flows.parquet") == record.flows
    assert json.loads((saved / "summary.json").read_text())["flows"] == record.summary.document["flows"]
    assert run(Scenario.load(saved / "scenario.toml")).summary.document["flows"] == record.summary.document["flows"]


def test_without_an_interval_there_is_no_series(tmp_path: Path) -> None:
    record = run(dumbbell("reno", duration="1s"))
    with pytest.raises(ConfigError, match="the run recorded no time series"):
        _ = record.flows
    assert sorted(path.name for path in record.save(tmp_path / "r").iterdir()) == ["scenario.toml", "summary.json"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": "0s"}, "interval must be positive"),
        ({"interval": "100"}, "time `100` has no unit"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run(dumbbell("reno", duration="1s"), **options)


def test_parameters_are_checked_by_the_controller() -> None:
    with pytest.raises(CcaError) as caught:
        run(dumbbell({"name": "cubic", "btea": 0.5}, duration="1s"))
    assert str(caught.value).startswith("parameters of `cubic`: ")
    assert "btea" in caught.value.message
    assert caught.value.key == "flow.0.cca"
    beta = {"name": "cubic", "beta": 0.3}
    plain, changed = (run(dumbbell(cca, rate="12Mbps", duration="20s")).summary for cca in ("cubic", beta))
    assert plain.flows != changed.flows


def test_other_threads_go_on_during_a_run() -> None:
    progress: list[float] = []
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    run(dumbbell("reno", rate="1Gbps", rtprop="20ms", duration="30s"), on_progress=progress.append)
    stop.set()
    thread.join()
    assert ticks > 20
    assert progress == sorted(progress)
    assert all(0 <= fraction <= 1 for fraction in progress)


def test_a_callback_that_raises_ends_the_run() -> None:
    def refuse(_: float) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run(dumbbell("reno", rate="10Gbps", rtprop="20ms", duration="60s"), on_progress=refuse)


@pytest.mark.parametrize(
    ("throughputs", "jain", "ratio"),
    [([1.0, 1.0], 1.0, 1.0), ([3.0, 1.0], 0.8, 3.0), ([1.0, 0.0], 0.5, None), ([0.0, 0.0], None, None), ([5.0], 1, 1)],
)
def test_fairness(throughputs: list[float], jain: float | None, ratio: float | None) -> None:
    found = fairness(throughputs)
    assert found["jain"] == (pytest.approx(jain) if jain is not None else None)
    assert found["max_min_ratio"] == ratio


def test_without_a_sample_there_is_no_delay(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A flow that loses all packets has no RTT; 0 would be a false measurement."""
    path = tmp_path / "lost.toml"
    path.write_text(
        'name = "lost"\nduration = "2s"\ntransport = "ideal"\n[link.bottleneck]\nrate = "8Mbps"\nbuffer = "40KB"\n'
        '[[flow]]\ncca = "reno"\nrtprop = "10ms"\nloss = { kind = "iid", probability = "100%" }\n'
    )
    (flow,) = run(Scenario.load(path)).summary.document["flows"]
    assert flow["rtt_ms"] == {"samples": 0, **dict.fromkeys(("mean", "min", "p50", "p95", "p99", "max"))}
    assert main(["run", str(path)]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "reno-1" in line)
    assert row.split() == ["reno-1", "reno", "0", "-", "-", "-", "100.000%", "1"]
