"""qlogs of simulated runs: their events have the fields of the format, and describe the run."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairweir import _core
from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.play.qlog import IP_UDP_BYTES, write
from fairweir.play.run import MAX_PACKETS, Run, run
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

#: Fields of `data` that draft-ietf-quic-qlog-quic-events requires or that its events of this kind have.
FIELDS = {
    "transport:packet_sent": {"header", "raw", "frames"},
    "transport:packet_received": {"header", "raw", "frames"},
    "recovery:packet_lost": {"header"},
    "recovery:metrics_updated": {"congestion_window", "bytes_in_flight", "latest_rtt", "pacing_rate"},
}


def scenario(*ccas: str) -> Scenario:
    return dumbbell(list(ccas), rate="24Mbps", rtprop="40ms", buffer="0.8bdp", duration="10s")


def recorded(*ccas: str) -> Run:
    return run(scenario(*ccas), record_packets=MAX_PACKETS, interval="100ms")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file, of which everything that the format requires is checked."""
    document = json.loads(path.read_text())
    assert (document["qlog_version"], document["qlog_format"]) == ("0.3", "JSON")
    (trace,) = document["traces"]
    assert trace["vantage_point"]["type"] == "client"
    assert trace["common_fields"]["time_format"] == "relative"
    events: list[dict[str, Any]] = trace["events"]
    times = [event["time"] for event in events]
    assert times == sorted(times)
    for event in events:
        assert set(event) == {"time", "name", "data"}
        assert set(event["data"]) <= FIELDS[event["name"]]
        if "header" in event["data"]:
            assert event["data"]["header"]["packet_type"] == "1RTT"
    return events


def numbers(events: list[dict[str, Any]], name: str) -> list[int]:
    return [event["data"]["header"]["packet_number"] for event in events if event["name"] == name]


def acked(events: list[dict[str, Any]]) -> list[int]:
    frames = [
        frame for event in events if event["name"] == "transport:packet_received" for frame in event["data"]["frames"]
    ]
    return [n for frame in frames for first, last in frame["acked_ranges"] for n in range(first, last + 1)]


def test_every_packet_of_the_run_is_in_the_log(tmp_path: Path) -> None:
    record = recorded("reno", "bbr")
    paths = record.save_qlog(tmp_path)
    assert [path.name for path in paths] == ["reno-1.qlog", "bbr-2.qlog"]
    for index, path in enumerate(paths):
        events = read(path)
        packets = record.packets.to_pandas().query(f"flow == {index}")
        sent = numbers(events, "transport:packet_sent")
        assert sent == list(range(len(packets)))
        assert sorted(acked(events)) == np.flatnonzero(packets.acked_ns.notna()).tolist()
        lost = numbers(events, "recovery:packet_lost")
        assert len(lost) == len(set(lost)) == int(packets.is_retransmission.sum())
        assert len([e for e in events if e["name"] == "recovery:metrics_updated"]) == 100


def test_a_packet_that_is_sent_again_has_a_new_number_and_the_same_data(tmp_path: Path) -> None:
    (path,) = recorded("reno").save_qlog(tmp_path)
    events = read(path)
    frames = [e["data"]["frames"][0] for e in events if e["name"] == "transport:packet_sent"]
    assert {frame["length"] for frame in frames} == {1500 - IP_UDP_BYTES}
    copies = Counter(frame["offset"] for frame in frames)
    assert sum(copies.values()) - len(copies) == len(numbers(events, "recovery:packet_lost")) > 0


def test_explain_finds_the_path_in_it(tmp_path: Path) -> None:
    (path,) = recorded("reno").save_qlog(tmp_path)
    document = json.loads(_core.explain(str(path)))
    assert document["capture"]["malformed"] == 0
    (flow,) = document["flows"]
    beliefs = flow["cbr_delay"]
    rate, rtprop_ns = 24e6 / 8, 40e6
    assert beliefs["rate_bytes_per_s"]["lo"] > 0.9 * rate
    assert beliefs["rtprop_ns"]["lo"] <= rtprop_ns <= beliefs["rtprop_ns"]["hi"] < 1.05 * rtprop_ns


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (recorded("cubic").save_qlog(tmp_path / name)[0].read_bytes() for name in "ab")
    assert first == second


def test_names_of_flows_are_no_paths(tmp_path: Path) -> None:
    document = tomllib.loads(scenario("reno", "reno", "reno").to_toml())
    for flow, name in zip(document["flow"], ("../a", "_a", ".._a"), strict=True):
        flow["id"] = name
    record = run(document, record_packets=MAX_PACKETS)
    paths = write(record, tmp_path / "logs")
    assert [path.name for path in paths] == ["_a-1.qlog", "_a-2.qlog", "_a-3.qlog"]
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_a_run_without_packets_or_a_file_as_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="recorded no packets"):
        run(scenario("reno")).save_qlog(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="not a directory"):
        recorded("reno").save_qlog(tmp_path / "file")


def test_the_command_writes_them_and_a_stored_record_can_be_written_later(tmp_path: Path) -> None:
    file, logs, out = tmp_path / "s.toml", tmp_path / "logs", tmp_path / "record"
    file.write_text(scenario("reno").to_toml())
    assert main(["run", str(file), "--qlog", str(logs), "--out", str(out)]) == 0
    assert not (out / "packets.parquet").exists()
    assert main(["run", str(out), "--qlog", str(tmp_path / "later")]) == 2
    assert main(["run", str(file), "--packets", "--out", str(out)]) == 0
    assert main(["run", str(out), "--qlog", str(tmp_path / "later")]) == 0
    first, later = read(logs / "reno-1.qlog"), read(tmp_path / "later" / "reno-1.qlog")
    assert first == later


@pytest.mark.parametrize("world", ["kernel", "quic"])
def test_other_worlds_have_no_qlogs(world: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.toml"
    file.write_text(scenario("reno").to_toml())
    assert main(["run", str(file), "--on", world, "--qlog", str(tmp_path / "logs")]) == 2
    assert f"--qlog has no effect with --on {world}" in capsys.readouterr().err
    assert not (tmp_path / "logs").exists()
