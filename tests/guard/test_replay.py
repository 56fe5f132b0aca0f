"""Policies applied to a capture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.guard.replay import replay
from fairweir.guard.treatments import Policy
from fairweir.play.run import run
from fairweir.play.simulate import Capture
from fairweir.scenario.dumbbell import dumbbell


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture of 6 s at the receiver of a Reno and a Cubic flow on 12 Mbit/s."""
    path = tmp_path_factory.mktemp("replay") / "receiver.pcap"
    scenario = dumbbell(["reno", "cubic"], rate="12Mbps", rtprop="40ms", buffer="1bdp", duration="6s")
    run(scenario, capture=Capture(path, "receiver"))
    return path


def policy(directory: Path, text: str) -> Policy:
    path = directory / "policy.toml"
    path.write_text(text)
    return Policy.read(path)


def test_a_cap_would_have_held_both_flows(capture: Path, tmp_path: Path) -> None:
    reported = replay(capture, policy(tmp_path, "[[cap]]\ngroup = 'all'\nrate = '4Mbps'\n"))
    assert reported["managed"] == ["10.128.0.1"], "who most payload comes to"
    assert len(reported["flows"]) == 2
    for flow in reported["flows"]:
        assert flow["local"].startswith("10.128.0.1:")
        assert 3 < flow["mbps"] < 9, "in the capture it was not limited"
        assert flow["held_s"] > 5
        last = flow["history"][-1]
        assert 0 < last["target_mbps"] < 4.001
        assert last["window_bytes"] >= flow["min_window_bytes"] >= 2 * 1448
        assert "capped" in last["why"]
    assert sum(flow["history"][-1]["target_mbps"] for flow in reported["flows"]) == pytest.approx(4.0, rel=0.02)


def test_a_rule_about_others_holds_nobody(capture: Path, tmp_path: Path) -> None:
    reported = replay(capture, policy(tmp_path, "[[cap]]\nservice = '192.0.2.1'\nrate = '4Mbps'\n"))
    assert [(flow["held_s"], flow["min_window_bytes"]) for flow in reported["flows"]] == [(0.0, None)] * 2


def test_a_forest_next_to_its_policy_is_asked(capture: Path, tmp_path: Path) -> None:
    forest = {"features": ["throughput_mbps.window8"], "baseline": [0, 0, 1], "trees": []}
    (tmp_path / "forest.json").write_text(json.dumps(forest))
    reported = replay(capture, policy(tmp_path, "[flow]\nmodel = 'forest.json'\n"))
    assert all(flow["history"][-1]["why"] == "above its target" for flow in reported["flows"])


def test_other_hosts_are_guarded_if_named(capture: Path, tmp_path: Path) -> None:
    reported = replay(capture, policy(tmp_path, "[[cap]]\nrate = '4Mbps'\n"), ["10.0.0.1"])
    assert (reported["managed"], reported["flows"]) == (["10.0.0.1"], []), "no data come to a sender"


@pytest.mark.parametrize(
    ("text", "managed", "reported"),
    [
        ("[[cap]]\nrate = 'fast'\n", [], "line 2: rate `fast`"),
        ("[[cap]]\nrate = '4Mbps'\n", ["here"], "not an address: `here`"),
        ("[flow]\nmodel = 'none.json'\n", [], "cannot read the forest"),
    ],
)
def test_bad_input(capture: Path, tmp_path: Path, text: str, managed: list[str], reported: str) -> None:
    with pytest.raises(ConfigError, match=reported):
        replay(capture, policy(tmp_path, text), managed)


def test_the_command(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = policy(tmp_path, "[[cap]]\nrate = '4Mbps'\n").file
    words = ["guard", "replay", str(capture), "--config", str(rules)]
    assert main([*words, "--flow", "10.0.0.2:", "--json"]) == 0
    [flow] = json.loads(capsys.readouterr().out)["flows"]
    assert flow["remote"].startswith("10.0.0.2:")
    assert main([*words, "--flow", "10.0.0.2:"]) == 0
    assert "capped at 4.00 Mbit/s" in capsys.readouterr().out
