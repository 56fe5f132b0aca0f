"""Captures of simulated runs: readers find the simulated data in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairweir import _core
from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.play.run import run
from fairweir.play.simulate import Capture
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario


def reno() -> Scenario:
    return dumbbell("reno", rate="24Mbps", rtprop="40ms", buffer="0.8bdp", duration="20s")


def explained(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_core.explain(str(path)))
    return document


def within(true: float, belief: dict[str, float | None]) -> bool:
    lo, hi = belief["lo"], belief["hi"]
    return (lo is None or lo <= true) and (hi is None or true <= hi)


def test_the_link_is_in_the_beliefs(tmp_path: Path) -> None:
    path = tmp_path / "reno.pcap"
    record = run(reno(), capture=Capture(path))
    document = explained(path)
    counts = document["capture"]
    assert counts["segments"] == counts["frames"] > record.summary.document["flows"][0]["sent_pkts"]
    assert (counts["backward"], counts["is_truncated"]) == (0, False)
    (flow,) = document["flows"]
    assert (flow["view"], flow["src"]) == ("sender", "10.0.0.1:40000")
    rate, rtprop_ns = 24e6 / 8, 40e6
    assert within(rate, flow["cbr_delay"]["rate_bytes_per_s"])
    assert within(rtprop_ns, flow["cbr_delay"]["rtprop_ns"])
    assert flow["cbr_delay"]["rate_bytes_per_s"]["lo"] > 0.9 * rate
    assert flow["cbr_delay"]["rtprop_ns"]["hi"] < 1.05 * rtprop_ns
    assert [file.name for file in tmp_path.iterdir()] == ["reno.pcap"]


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_the_command_writes_it(side: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "reno.toml"
    scenario.write_text(reno().to_toml())
    path = tmp_path / "out.pcap"
    assert main(["run", str(scenario), "--pcap", str(path), "--pcap-at", side, "--set", "duration=3s", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    # a packet of 1500 bytes, 16 more for each record, headers only
    sent, lost = summary["flows"][0]["sent_pkts"], summary["links"][0]["drops"]
    data = sent if side == "sender" else sent - lost
    assert path.stat().st_size == pytest.approx(2 * data * 68, rel=0.1)
    assert explained(path)["capture"]["segments"] > 1.5 * data


def test_where_no_file_can_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written: no such file or directory") as caught:
        run(reno(), capture=Capture(tmp_path / "not" / "there.pcap"))
    assert caught.value.hint


def test_a_file_is_named_by_text_or_path(tmp_path: Path) -> None:
    name = str(tmp_path / "reno.pcap")
    assert Capture(name) == Capture(Path(name))
    run(dumbbell("reno", duration="1s"), capture=Capture(name))
    assert Path(name).stat().st_size > 1000
    with pytest.raises(ConfigError, match="side cannot be `middle`"):
        Capture(name, "middle")  # type: ignore[arg-type]


def test_a_run_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        run(reno(), capture=Capture(tmp_path / "x.pcap"), record_packets=10)
    assert not list(tmp_path.iterdir())
