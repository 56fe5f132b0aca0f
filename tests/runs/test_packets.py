"""The record of packets: its columns, its limits, and all interfaces to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fairweir.ccas.new import write_cca
from fairweir.errors import ConfigError
from fairweir.play.columns import ACK_COLUMNS, PACKET_COLUMNS
from fairweir.play.run import run
from fairweir.play.table import Table
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

MAX_PACKETS = 100_000


def two_flows() -> Scenario:
    return dumbbell(["reno", "reno"], rate="12Mbps", rtprop="40ms", buffer="0.5bdp", duration="10s")


def test_packets_add_up_to_the_summary() -> None:
    record = run(two_flows(), record_packets=MAX_PACKETS)
    packets, flows = record.packets, record.summary.document["flows"]
    assert len(packets) == sum(flow["sent_pkts"] for flow in flows)
    assert packets["is_retransmission"].sum() == sum(flow["retransmits"] for flow in flows) > 0
    assert np.ma.count(packets["dropped_ns"]) == record.summary.document["links"][0]["drops"] > 0
    assert np.unique(np.ma.compressed(packets["dropped_link"])).tolist() == [0]
    assert np.ma.count(packets["acked_ns"]) == sum(flow["delivered_pkts"] for flow in flows)
    assert set(packets["id"]) == {flow["id"] for flow in flows}
    assert np.ma.getmaskarray(record.acks["arrived_ns"]).sum() <= 200, "ACKs on their way at the end"


def test_the_rtt_is_the_summary_s() -> None:
    scenario = dumbbell("reno", rate="12Mbps", rtprop="40ms", buffer="100bdp", duration="2s")
    record = run(scenario.override({"noise": "none"}), record_packets=MAX_PACKETS)
    rtt_ms = np.ma.compressed((record.packets["acked_ns"] - record.packets["sent_ns"]) / 1e6)
    assert rtt_ms.min() == pytest.approx(41.0)
    assert np.mean(rtt_ms) == pytest.approx(record.summary.document["flows"][0]["rtt_ms"]["mean"], rel=1e-3)


def test_tables_have_types_and_units(tmp_path: Path) -> None:
    record = run(two_flows(), record_packets=MAX_PACKETS)
    for table, columns in ((record.packets, PACKET_COLUMNS), (record.acks, ACK_COLUMNS)):
        for column in columns:
            assert table[column.name].dtype == ("bool" if column.is_flag else column.kind)
            assert table.units.get(column.name, "") == column.unit
    saved = record.save(tmp_path / "record")
    assert Table.read(saved / "packets.parquet") == record.packets
    assert Table.read(saved / "acks.parquet") == record.acks


def test_more_packets_than_may_be_recorded() -> None:
    with pytest.raises(ConfigError, match="more data packets than the limit of the record: `1000`") as caught:
        run(dumbbell("reno", rate="1Gbps", duration="1000s"), record_packets=1000)
    assert caught.value.key == "record_packets"


def test_unless_asked_no_packets_are_recorded() -> None:
    with pytest.raises(ConfigError, match="the run recorded no packets"):
        _ = run(dumbbell("reno", duration="1s")).packets
    with pytest.raises(ConfigError, match="only the simulator records packets"):
        run(dumbbell("reno", duration="1s"), on="kernel", record_packets=MAX_PACKETS)


def test_a_user_s_c_is_recorded_too(tmp_path: Path) -> None:
    mine = write_cca("mine", tmp_path, is_c=True).files[0]
    record = run(dumbbell(str(mine), rate="12Mbps", rtprop="40ms", duration="2s"), record_packets=MAX_PACKETS)
    assert len(record.packets) == record.summary.document["flows"][0]["sent_pkts"]
