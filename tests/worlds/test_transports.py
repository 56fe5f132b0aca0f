"""``fairweir agree --worlds sim,quic``: whether controllers or transports cause a difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.summaries import filled

from fairweir.agree.compare import Standing
from fairweir.agree.transports import CCAS, Cause, _square, compare_transports
from fairweir.cli.main import main
from fairweir.errors import CcaError
from fairweir.judging.summary import Summary
from fairweir.play.batch import TaskResult
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario


def summary(throughput: float) -> Summary:
    return filled({"flows": [{"id": "flow-0", "throughput_mbps": throughput, "rtt_ms": {"mean": 40.0}}]})


@pytest.mark.parametrize(
    ("throughputs", "cause"),
    [
        # Ours in the simulator and in the stack, theirs in the simulator and in the stack.
        ((10.0, 10.5, 9.5, 10.0), Cause.NOTHING),
        ((10.0, 10.0, 6.0, 6.0), Cause.CONTROLLER),
        ((10.0, 6.0, 10.0, 6.0), Cause.TRANSPORT),
        ((10.0, 6.0, 6.0, 10.0), Cause.BOTH),
        ((10.0, 10.0, 10.0, 6.0), Cause.BOTH),
        ((10.0, None, 10.0, 10.0), Cause.NOT_RUN),
    ],
)
def test_the_cause_is_what_differs(throughputs: tuple[float | None, ...], cause: Cause) -> None:
    sides = [("s", cca, world) for cca in ("cubic", "quinn/cubic") for world in ("sim", "quic")]
    runs = [TaskResult(None, "the stack failed") if x is None else TaskResult(summary(x)) for x in throughputs]
    square = _square("quinn/cubic", "s", {side: [run] for side, run in zip(sides, runs, strict=True)})  # type: ignore[misc]
    assert square.cause is cause
    assert bool(square.differences) is (cause is not Cause.NOTHING)
    if cause is Cause.NOT_RUN:
        assert "controllers in quinn: cubic in quic: the stack failed" in square.differences


@pytest.fixture(scope="module")
def short() -> Scenario:
    return dumbbell(["reno", "reno"], rate="12Mbps", rtprop="20ms", buffer="1bdp", duration="8s", warmup="2s")


def test_reno_does_not_differ_between_transports(short: Scenario) -> None:
    found = compare_transports([short], ["quinn/newreno"], seeds=[1, 2, 3])
    (square,) = found.squares
    assert (square.ours, square.scenario) == ("reno", "dumbbell")
    assert {cell.standing for cell in (*square.controllers.values(), *square.transports.values())} <= {
        Standing.AGREES,
        Standing.DIFFERS,
    }
    sides = square.controllers["sim"].comparisons[0], square.transports["reno"].comparisons[0]
    assert sides[0].first == sides[1].first > 1.0, "both start from our controller in the simulator"
    assert found.stacks.keys() >= {"quinn"}


def test_controllers_without_a_counterpart_or_another_stack_are_rejected(short: Scenario) -> None:
    for cca in ("cubic", "s2n-quic/cubic"):
        with pytest.raises(CcaError) as raised:
            compare_transports([short], [cca])
        assert raised.value.hint == f"one of {', '.join(CCAS)}"


def test_the_command_stores_and_prints_squares(
    short: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.toml").write_text(short.to_toml(), encoding="utf-8")
    words = ["agree", "--worlds", "sim,quic", "--ccas", "quinn/cubic", "--scenarios", f"{tmp_path}/in", "--quick"]
    words += ["--out", f"{tmp_path}/out"]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((tmp_path / "out" / "transports.json").read_text(encoding="utf-8"))
    assert sum(document["counts"].values()) == 1
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 4 * 3
    assert main(words) == 0
    assert "1 comparison of four sides" in capsys.readouterr().out
    assert main([*words, "--stall", "5ms"]) == 2
    assert "--stall has no effect with --worlds sim,quic" in capsys.readouterr().err


def test_a_scenario_that_a_transport_rejects_is_not_run(
    short: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.toml").write_text(short.override({"flow.*.sack": False}).to_toml(), encoding="utf-8")
    words = ["agree", "--worlds", "sim,quic", "--ccas", "quinn/cubic", "--scenarios", str(tmp_path), "--quick"]
    assert main([*words, "--out", f"{tmp_path}/out"]) == 2
    printed = capsys.readouterr()
    assert "sack" in printed.out
    assert "no square could be run" in printed.err
