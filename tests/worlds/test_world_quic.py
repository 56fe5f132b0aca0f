"""The world of QUIC stacks: whole stacks in virtual time, by the program ``fairweir-quic``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairweir as fw
from fairweir.ccas import lookup
from fairweir.cli.main import main
from fairweir.errors import ConfigError, ProgramError
from fairweir.play import quic
from fairweir.play.batch import Task, play
from fairweir.play.run import VirtualWorld
from fairweir.play.sweep import sweep


@pytest.fixture(autouse=True)
def _has_program() -> None:
    try:
        quic.PROGRAM.find()
    except ProgramError as error:
        pytest.fail(f"{error}: {error.hint}")


def dumbbell(ccas: list[str], **changes: Any) -> fw.Scenario:
    return fw.dumbbell(ccas, rate="24Mbps", rtprop="20ms", buffer="1bdp", duration="4s", **changes)


def test_stacks_share_a_link_and_repeated_runs_are_equal() -> None:
    scenario = dumbbell(["quinn/cubic", "quinn/newreno"])
    first, second = (fw.run(scenario, on="quic", interval="500ms") for _ in range(2))
    assert first.summary.world == "quic"
    assert 22 < sum(flow.throughput_mbps for flow in first.summary.flows) <= 24
    assert first.link["bottleneck"].utilization > 0.95
    assert len(first.flows) == 2 * 8
    assert {**first.summary.document, "wall_s": 0} == {**second.summary.document, "wall_s": 0}
    printed = first.summary.document["quic"]
    assert printed["versions"].keys() >= {"quinn"}
    assert printed["digest"] != fw.run(scenario, on="quic", seed=2).summary.document["quic"]["digest"]


def test_a_batch_runs_stacks() -> None:
    summary = play(Task(dumbbell(["quinn/bbr"]), "quic"))
    assert summary.flows[0].cca == "quinn/bbr"
    assert summary.flows[0].throughput_mbps > 20


def test_controllers_of_fairweir_run_in_quinn() -> None:
    ours, theirs = fw.run(dumbbell(["cubic{beta=0.8}", "quinn/cubic"]), on="quic").summary.flows
    assert ours.cca == "cubic"
    assert ours.throughput_mbps > 1
    assert theirs.throughput_mbps > 1


def test_other_controllers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import fairweir\n\n\nclass Mine(fairweir.Cca):\n    pass\n", encoding="utf-8")
    for cca, hint in [
        (f"{tmp_path}/mine.py:Mine", "write it as a plug-in (docs/plugins.md), or leave out `--on quic`"),
        ("s2n-quic/bbr", "one of quinn/newreno, quinn/cubic, quinn/bbr, noq/newreno, noq/cubic, noq/bbr3"),
    ]:
        with pytest.raises(ConfigError) as raised:
            fw.run(dumbbell(["quinn/cubic", cca]), on="quic")
        assert (raised.value.key, raised.value.hint) == ("flow.1.cca", hint)


@pytest.mark.parametrize(
    ("change", "key"),
    [({"flow.0.sack": False}, "flow.0.sack"), ({"flow.0.oracle_rtprop": True}, "flow.0.oracle_rtprop")],
)
def test_features_that_quic_does_not_have_are_refused_by_the_key_in_the_file(change: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as raised:
        fw.run(dumbbell(["quinn/cubic"]).override(change), on="quic")
    assert raised.value.key == key
    assert raised.value.hint


@pytest.mark.parametrize("on", ["sim", "quic"])
@pytest.mark.parametrize(("cca", "near"), [("quinn/nonsense", "quinn/newreno"), ("noq/bbr", "noq/bbr3")])
def test_a_misspelled_controller_of_a_stack_has_a_hint(cca: str, near: str, on: VirtualWorld) -> None:
    with pytest.raises(ConfigError) as raised:
        fw.run(dumbbell([cca]), on=on)
    assert raised.value.key == "flow.0.cca"
    assert near in (raised.value.hint or "")


def test_the_stacks_of_the_program_are_known() -> None:
    assert quic.versions(["quinn/cubic"]).keys() <= lookup.QUIC_STACKS


@pytest.mark.parametrize("cca", ["noq/bbr3", "noq/cubic", "quinn/cubic"])
def test_the_recorded_pacing_rate_is_of_the_size_of_the_throughput(cca: str) -> None:
    run = fw.run(dumbbell([cca]), on="quic", interval="100ms")
    rates = run.flows["pacing_rate_mbps"][20:]
    assert 0.8 < float(np.median(rates)) / run.summary.flows[0].throughput_mbps < 1.6


def test_noq_and_quinn_share_a_link() -> None:
    noq, quinn = fw.run(dumbbell(["noq/cubic", "quinn/cubic"]), on="quic").summary.flows
    assert (noq.cca, quinn.cca) == ("noq/cubic", "quinn/cubic")
    assert min(noq.throughput_mbps, quinn.throughput_mbps) > 1


def test_without_the_program_the_error_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramError) as raised:
        fw.run(dumbbell(["quinn/cubic"]), on="quic")
    assert str(raised.value) == "the program of the QUIC stacks `fairweir-quic` is not built"
    assert raised.value.hint == "run make build"


def test_a_host_that_wakes_at_intervals_belongs_to_this_world() -> None:
    scenario = dumbbell(["quinn/cubic"]).override({"host.wake": "2ms"})
    at_once = fw.run(dumbbell(["quinn/cubic"]), on="quic").summary.document["quic"]["datagrams"]
    # The receiver acknowledges all that it reads at a wake-up at once.
    assert fw.run(scenario, on="quic").summary.document["quic"]["datagrams"] < 0.9 * at_once
    with pytest.raises(ConfigError) as raised:
        fw.run(dumbbell(["reno"]).override({"host.wake": "2ms"}))
    assert raised.value.key == "host.wake"
    assert "--on quic" in (raised.value.hint or "")


def test_a_host_that_encrypts_belongs_to_this_world() -> None:
    encrypted = dumbbell(["quinn/cubic"]).override({"host.crypto": "tls"})
    first, second = (fw.run(encrypted, on="quic").summary for _ in range(2))
    assert first.document["quic"]["digest"] == second.document["quic"]["digest"]
    with pytest.raises(ConfigError) as raised:
        fw.run(dumbbell(["reno"]).override({"host.crypto": "tls"}))
    assert raised.value.key == "host.crypto"
    with pytest.raises(ConfigError, match=r"host\.crypto"):
        dumbbell(["quinn/cubic"]).override({"host.crypto": "ssl"})


@pytest.mark.quiche
@pytest.mark.parametrize("cca", ["quiche/reno", "quiche/cubic", "quiche/bbr2"])
def test_quiche_sends_the_same_datagrams_in_every_process(cca: str) -> None:
    first, second = (fw.run(dumbbell([cca, "quinn/cubic"]), on="quic").summary for _ in range(2))
    assert first.document["quic"]["digest"] == second.document["quic"]["digest"]
    assert min(flow.throughput_mbps for flow in first.flows) > 0.1


def test_a_sweep_runs_stacks_and_does_not_mix_them_with_simulations(tmp_path: Path) -> None:
    scenario, grid = dumbbell(["quinn/cubic", "quinn/newreno"]), {"flow.0.rtprop": ["20ms", "40ms"]}
    first = sweep(scenario, grid, tmp_path, on="quic")
    assert (first.is_complete, first.reused) == (True, 0)
    played = [first.summaries[point.key] for point in first.points]
    assert [summary.document["quic"]["versions"].keys() >= {"quinn"} for summary in played] == [True, True]
    assert played[0].flows[0].rtt_ms.mean < played[1].flows[0].rtt_ms.mean  # type: ignore[operator]
    assert sweep(scenario, grid, tmp_path, on="quic").reused == 2
    simulated = sweep(scenario, grid, tmp_path)
    assert simulated.reused == 0
    assert "quic" not in simulated.summaries[simulated.points[0].key].document


def test_points_of_another_build_of_the_program_are_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, grid = dumbbell(["quinn/cubic"]), {"seed": [1]}
    sweep(scenario, grid, tmp_path, on="quic")
    other = tmp_path / "fairweir-quic"
    other.write_bytes(quic.PROGRAM.find().read_bytes() + b"another build")
    other.chmod(0o755)
    monkeypatch.setenv("FAIRWEIR_QUIC", str(other))
    assert sweep(scenario, grid, tmp_path, on="quic").reused == 0


def test_a_sweep_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.toml"
    file.write_text(dumbbell(["quinn/cubic"]).to_toml(), encoding="utf-8")
    assert (
        main(["sweep", str(file), "--grid", "host.wake=0s,8ms", "--on", "quic", "--out", f"{tmp_path}/s", "--json"])
        == 0
    )
    points = json.loads(capsys.readouterr().out)["points"]
    datagrams = [point["summary"]["quic"]["datagrams"] for point in points]
    assert datagrams[1] < datagrams[0]


def test_a_sweep_of_a_scenario_that_the_stack_rejects_reports_each_point(tmp_path: Path) -> None:
    found = sweep(dumbbell(["quinn/cubic"]), {"flow.0.sack": [True, False]}, tmp_path, on="quic")
    assert len(found.summaries) == 1
    assert "sack" in next(iter(found.failures.values()))


def test_controllers_and_runs_are_compared_across_transports() -> None:
    scenario = dumbbell(["reno", "reno"])
    found = fw.compare("quinn/newreno", "reno", scenario=scenario, seeds=3, on="quic")
    rtt = next(row for row in found.rows if row.quantity == "mean RTT")
    assert rtt.lo is not None
    worlds = fw.compare(fw.run(dumbbell(["quinn/cubic"]), on="quic"), fw.run(dumbbell(["quinn/cubic"])))
    assert worlds.names == ("dumbbell in quic", "dumbbell in sim")
    with pytest.raises(ConfigError, match="on cannot be `kernel`"):
        fw.compare("reno", "cubic", scenario=scenario, on="kernel")  # type: ignore[arg-type]
