"""Agreement of the worlds: criteria, and the handling of runs that are late or fail."""

from __future__ import annotations

import copy
import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.summaries import filled

from fairweir.agree import matrix as matrix_module
from fairweir.agree.compare import Standing, compare, prediction_half_width
from fairweir.agree.design import draw
from fairweir.agree.hosts import LATENCY, as_in_kernel_world
from fairweir.agree.known import load as load_known
from fairweir.agree.matrix import Agreement, agree, cross, load_scenarios
from fairweir.agree.measured import KernelRuns, Measured
from fairweir.agree.page import render
from fairweir.agree.table import closing, show
from fairweir.cli import output
from fairweir.cli.main import main
from fairweir.errors import ConfigError, FairweirError, KernelError
from fairweir.judging import permutation
from fairweir.judging.summary import Summary
from fairweir.play import batch
from fairweir.play import kernel as world_kernel
from fairweir.play.batch import Archive, Task, play_all, spread_starts
from fairweir.play.run import run
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario
from fairweir.units import Duration, Rate

ROOT = Path(__file__).parents[2]


def values(throughputs: list[float], rtts: list[float], *, judged: bool = True) -> Measured:
    emulator = {"judged": judged, "reason": "" if judged else "too late", "release_error_us": {"p99": 80.0}}
    flows = [
        {"id": f"flow-{i}", "throughput_mbps": throughput, "rtt_ms": {"mean": rtt}}
        for i, (throughput, rtt) in enumerate(zip(throughputs, rtts, strict=True))
    ]
    return Measured.of(filled({"flows": flows, "emulator": emulator}))


@pytest.mark.parametrize(
    ("kernel", "standing"),
    [
        (([6.0, 6.0], [40.0, 40.0]), Standing.AGREES),
        (([6.59, 5.41], [40.0, 40.0]), Standing.AGREES),
        (([6.61, 5.39], [40.0, 40.0]), Standing.DIFFERS),
        (([6.0, 6.0], [43.9, 36.1]), Standing.AGREES),
        (([6.0, 6.0], [44.1, 40.0]), Standing.DIFFERS),
    ],
)
def test_a_tenth_is_the_tolerance(kernel: tuple[list[float], list[float]], standing: Standing) -> None:
    cell = compare("reno", "s", [values([6.0, 6.0], [40.0, 40.0])], [values(*kernel)])
    assert cell.standing is standing
    assert cell.release_p99_us == 80.0


def test_a_starved_flow_is_measured_by_its_fair_share() -> None:
    sims = [values([11.9, 0.1], [40.0, 40.0])]
    assert compare("bbr", "s", sims, [values([11.5, 0.5], [40.0, 40.0])]).standing is Standing.AGREES
    starved_less = compare("bbr", "s", sims, [values([11.2, 0.8], [40.0, 40.0])])
    assert starved_less.standing is Standing.DIFFERS
    assert starved_less.worst is not None
    assert starved_less.worst.off == pytest.approx(0.7 / 6.0)
    assert "flow-1: throughput 0.8 Mbit/s on the kernel, 0.1 simulated" in starved_less.why


def test_small_rtts_may_differ_by_a_millisecond() -> None:
    sims = [values([6.0], [5.0])]
    assert compare("reno", "s", sims, [values([6.0], [5.9])]).standing is Standing.AGREES
    assert compare("reno", "s", sims, [values([6.0], [6.1])]).standing is Standing.DIFFERS


def test_losses_are_compared_over_all_flows() -> None:
    def lossy(percent: float) -> Measured:
        lost = round(2 * percent * 100)
        flows = values([6.0, 6.0], [40.0, 40.0]).flows
        first = flows[0].model_copy(update={"delivered_pkts": 10_000})
        second = flows[1].model_copy(update={"lost_pkts": lost, "delivered_pkts": 10_000 - lost})
        return Measured(flows=[first, second])

    for simulated, kernel, standing in ((1.0, 1.09, "agrees"), (1.0, 1.2, "differs"), (0.0, 0.09, "agrees")):
        cell = compare("reno", "s", [lossy(simulated)], [lossy(kernel)])
        assert cell.standing == standing
    assert cell.comparisons[-1].second == pytest.approx(0.09)


def test_which_of_equal_flows_gets_most_is_chance() -> None:
    sims = [values([9.0, 3.0, 6.0], [40.0] * 3), values([3.0, 9.0, 6.0], [40.0] * 3)]
    kernel = [values([3.0, 9.0, 6.0], [40.0] * 3)]
    assert compare("cubic", "s", sims, kernel, tables=[2, 1]).standing is Standing.AGREES
    found = compare("cubic", "s", sims, [values([6.0, 6.0, 6.0], [40.0] * 3)], tables=[2, 1])
    assert [c.flow for c in found.comparisons if not c.agrees] == [
        "flow-0 to flow-1, rank 1",
        "flow-0 to flow-1, rank 2",
    ]


def test_enough_runs_are_compared_as_distributions() -> None:
    def runs(throughputs: list[float]) -> list[Measured]:
        return [values([x], [40.0]) for x in throughputs]

    sims = runs([4.0, 5.0, 6.0, 7.0, 8.0, 4.5, 5.5, 6.5])
    overlapping = compare("bbr", "s", sims, runs([7.0, 7.5, 8.0]))
    assert (overlapping.standing, overlapping.only_by_chance) == (Standing.AGREES, True)
    assert overlapping.comparisons[0].p is not None
    # The prediction interval of a further run would contain this mean, but chance rarely gives three such runs.
    apart = compare("bbr", "s", sims, runs([8.1, 8.2, 8.3]))
    assert apart.standing is Standing.DIFFERS
    assert apart.comparisons[0].p == pytest.approx(2 / 165)


@pytest.mark.parametrize(("first", "second"), [(3, 1), (10, 1), (19, 1), (3, 3), (4, 4), (5, 3), (4, 2), (10, 3)])
def test_a_test_is_made_only_if_it_can_reject(first: int, second: int) -> None:
    least = permutation.p_value([0.0] * first, [1.0] * second)
    assert permutation.can_reject(first, second) is (least <= permutation.LEVEL)


def test_three_runs_against_three_can_differ() -> None:
    first, second = ([values([x + shift], [40.0]) for x in (5.9, 6.0, 6.1)] for shift in (0.0, 5.0))
    assert compare("quinn/cubic", "s", first, second).standing is Standing.DIFFERS


def test_a_design_uses_each_stratum_once_and_never_changes() -> None:
    cells = draw(24, 5)
    assert cells == draw(24, 5) != draw(24, 6)
    assert len({cell.name for cell in cells}) == 24
    rates = sorted(Rate.parse(cell.link["bottleneck"].rate or "").mbps for cell in cells)
    strata = [math.floor(24 * math.log(rate / 5) / math.log(200)) for rate in rates]
    # Rates are rounded to 0.1 Mbps, which may move one to the next stratum.
    assert max(abs(stratum - i) for i, stratum in enumerate(strata)) <= 1
    assert {flow.cca.name for cell in cells for flow in cell.flow} >= {"reno", "cubic", "bbr", "vegas", "copa", "dctcp"}
    for cell in cells:
        config = cell.resolve()
        assert 1 <= len(config["flows"]) <= 8
        assert 8_000_000_000 <= config["duration"] <= 20_000_000_000


def test_a_design_is_compared_cell_by_cell(
    kernel: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = [
        dumbbell(["reno", cca], rate="8Mbps", rtprop="10ms", duration="4s", warmup="1s", name=name)
        for cca, name in (("reno", "same"), ("cubic", "differs"))
    ]
    monkeypatch.setattr(matrix_module, "draw", lambda cells, seed: small[:cells])
    words = ["agree", "--cells", "2", "--design-seed", "3", "--out", str(tmp_path)]
    assert main(words) == 1
    shown = capsys.readouterr().out
    assert "1 of 2 cells agree (50%, less than 90%)" in shown
    document = json.loads((tmp_path / "agreement.json").read_text())
    assert (document["design"], document["kernel_runs"], len(document["seeds"])) == (3, 3, 10)
    assert [cell["cca"] for cell in document["cells"]] == ["reno", "reno + cubic"]
    page = (tmp_path / "agreement.html").read_text()
    table = (tmp_path / "agreement.md").read_text()
    assert table.index("| differs | ") < table.index("| same | ")
    assert page.index('<th scope="row">differs</th>') < page.index('<th scope="row">same</th>')
    assert main([*words, "--ccas", "reno"]) == 2
    assert "--ccas has no effect with --cells" in capsys.readouterr().err
    stored = tmp_path / "kernel-runs.jsonl"
    monkeypatch.setattr(batch, "_play_kernel", lambda _task: pytest.fail("ran on the kernel"))
    assert main([*words[:-1], str(tmp_path / "again"), "--kernel-runs", str(stored)]) == 1
    assert json.loads((tmp_path / "again" / "agreement.json").read_text()) == document
    two = "".join([line for line in stored.read_text().splitlines(keepends=True) if '"same"' in line][:2])
    stored.write_text(two)
    assert main([*words, "--kernel-runs", str(stored)]) == 0
    assert stored.read_text() == two
    assert ", 2 of 3 runs on the kernel |" in (tmp_path / "agreement.md").read_text()
    assert "1 of 1 cells agree (100%, at least 90%), 0 of them by chance alone; 1 not run" in capsys.readouterr().out


FLOW = {"id": "reno-1", "throughput_mbps": 1.0, "mean_rtt_ms": 9.0, "lost_pkts": 0, "delivered_pkts": 9}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": "one"}, "line 2 is not a kernel run: Input should be a valid integer"),
        ({"run": {"flows": []}}, "line 2 is not a kernel run: List should have at least 1 item"),
        ({"more": 1}, "line 2 is not a kernel run: Extra inputs"),
        ({"kernel": "k" * 2000}, "line 2 is not a kernel run: String should have at most 1000"),
        ({"run": {"flows": [], "release_p99_us": -1e300}}, "line 2 is not a kernel run"),
        ({"run": {"flows": [FLOW], "stalls_us": [-1.0]}}, "line 2 is not a kernel run: Input should be greater"),
        ({"run": {"flows": [FLOW], "hosts_us": 1e12}}, "line 2 is not a kernel run: Input should be less than or"),
        ({}, "line 2 has the same scenario and seed as line 1: `1`"),
    ],
)
def test_a_damaged_file_of_kernel_runs_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    scenario = dumbbell("reno", duration="2s")
    path = KernelRuns.of([(scenario, 1, run(scenario).summary)]).write(tmp_path / "runs.jsonl")
    assert KernelRuns.load(path).find(scenario, [1, 2]) == [Measured.of(run(scenario).summary)]
    assert (
        KernelRuns.load(path).find(scenario, [2])
        == KernelRuns.load(path).find(scenario.override({"seed": 9}), [1])
        == []
    )
    line = path.read_text()
    path.write_text(line + json.dumps({**json.loads(line), **change}) + "\n")
    with pytest.raises(ConfigError, match=message):
        KernelRuns.load(path)
    path.write_text(line + line[:40])
    with pytest.raises(ConfigError, match="line 2"):
        KernelRuns.load(path)
    with pytest.raises(ConfigError, match="cannot read"):
        KernelRuns.load(tmp_path / "none.jsonl")
    path.write_text("")
    with pytest.raises(ConfigError, match="is empty"):
        KernelRuns.load(path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ConfigError, match="not a file"):
        KernelRuns.load(tmp_path / "fifo")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"throughput_mbps": 1e308}, "run.flows.0.throughput_mbps"),
        ({"mean_rtt_ms": 1e300}, "run.flows.0.mean_rtt_ms"),
        ({"lost_pkts": 10**400}, "run.flows.0.lost_pkts"),
        ({"delivered_pkts": -1}, "run.flows.0.delivered_pkts"),
        ({"throughput_mbps": math.nan}, "run.flows.0.throughput_mbps"),
    ],
)
def test_numbers_that_no_run_has_are_refused(change: dict[str, Any], key: str, tmp_path: Path) -> None:
    scenario = dumbbell("reno", duration="2s")
    path = KernelRuns.of([(scenario, 1, run(scenario).summary)]).write(tmp_path / "runs.jsonl")
    document = json.loads(path.read_text())
    document["run"]["flows"][0] |= change
    path.write_text(json.dumps(document))
    with pytest.raises(ConfigError, match="line 1 is not a kernel run") as caught:
        KernelRuns.load(path)
    assert (caught.value.source, caught.value.key) == (str(path), key)


def test_a_kernel_run_that_does_not_fit_its_scenario_is_refused(tmp_path: Path) -> None:
    scenario = dumbbell(["reno", "cubic"], duration="2s", name="two")
    summary = run(scenario).summary
    path = KernelRuns.of([(scenario, seed, summary) for seed in (1, 2, 2)]).write(tmp_path / "runs.jsonl")
    first, second = map(json.loads, path.read_text().splitlines())
    flows = second["run"]["flows"]
    for wrong, message, key in (
        ({"cell": "other"}, "line 2 has the scenario of `two`, but the name `other`", "cell"),
        ({"run": {"flows": flows[:1]}}, "line 2 has other flows than `two`: `reno-1`", "run.flows"),
        ({"run": {"flows": flows[::-1]}}, "line 2 has other flows than `two`: `cubic-2, reno-1`", "run.flows"),
    ):
        path.write_text("".join(f"{json.dumps(line)}\n" for line in (first, {**second, **wrong})))
        stored = KernelRuns.load(path)
        assert len(stored.find(scenario, [1])) == 1
        with pytest.raises(ConfigError, match=message) as caught:
            stored.find(scenario, [1, 2])
        assert (caught.value.source, caught.value.key) == (str(path), key)


def test_a_flow_may_have_a_long_id(tmp_path: Path) -> None:
    scenario = dumbbell("reno", duration="2s", name="n" * 2000).override({"flow.0.id": "f" * 200})
    path = KernelRuns.of([(scenario, 1, run(scenario).summary)]).write(tmp_path / "runs.jsonl")
    assert len(KernelRuns.load(path).find(scenario, [1])) == 1


def test_only_cells_with_stored_runs_are_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = cross([dumbbell("reno", duration="2s", name=name) for name in ("one", "other")], ["reno"], seeds=[1, 2])
    one = plan.entries[0].scenario
    stored = KernelRuns.load(KernelRuns.of([(one, 1, run(one).summary)]).write(tmp_path / "runs.jsonl"))
    played: list[str] = []

    def play(tasks: list[Task], *_args: object, **_kw: object) -> dict[str, batch.TaskResult]:
        played.extend(task.scenario.name for task in tasks)
        return {task.key: batch.TaskResult(run(task.scenario).summary) for task in tasks}

    monkeypatch.setattr(matrix_module, "play_all", play)
    found = agree(plan, stored=stored)
    assert played == ["one", "one"]
    assert found.cell("reno", "other").why == "no stored run on the kernel"
    played.clear()
    with pytest.raises(ConfigError, match="no run of the cells to compare") as caught:
        agree(replace(plan, entries=plan.entries[1:]), stored=stored)
    assert not played
    assert "`one`" in (caught.value.hint or "")


def test_chance_that_the_seeds_show_is_no_disagreement_and_is_reported() -> None:
    sims = [values([x], [40.0]) for x in (4.0, 6.0, 8.0)]
    by_chance = compare("bbr", "s", sims, [values([9.0], [40.0])])
    assert by_chance.standing is Standing.AGREES
    assert by_chance.only_by_chance
    # Student's t with two degrees of freedom: 4.30 deviations of 2, times sqrt(1 + 1/3).
    assert prediction_half_width([4.0, 6.0, 8.0], 1) == pytest.approx(4.303 * 2 * (4 / 3) ** 0.5, rel=1e-3)
    assert compare("bbr", "s", sims, [values([16.1], [40.0])]).standing is Standing.DIFFERS
    assert prediction_half_width([4.0], 1) == 0.0


def test_a_late_run_is_not_judged_whatever_it_shows() -> None:
    same = values([6.0], [40.0])
    cell = compare("reno", "s", [same], [same, values([6.0], [40.0], judged=False)])
    assert (cell.standing, cell.why) == (Standing.NOT_JUDGED, "too late")


def test_seeds_move_starts_but_nothing_else() -> None:
    scenario = dumbbell(["reno", "cubic"], duration="5s")
    first, second = spread_starts(scenario, 1), spread_starts(scenario, 2)
    assert first == spread_starts(scenario, 1) != second
    assert first.override({"flow.*.start": "0s", "seed": 1}) == second.override({"flow.*.start": "0s", "seed": 1})


def test_hosts_take_time_and_stall_together_once_a_second() -> None:
    plain = dumbbell(["vegas", "vegas"], duration="5s", warmup="1s")
    scenario = plain.override({"flow.*.jitter": {"kind": "uniform", "max": "1ms"}})
    first, second = as_in_kernel_world(scenario, 1, "3ms"), as_in_kernel_world(scenario, 2, "3ms")
    assert first == as_in_kernel_world(scenario, 1, "3ms") != second
    assert [len(flow.jitter) for flow in first.flow] == [2, 2]
    assert first.flow[0].jitter[1] == first.flow[1].jitter[1]
    slowest = [run(s).summary.document["flows"][0]["rtt_ms"]["max"] for s in (scenario, first)]
    assert 1.0 < slowest[1] - slowest[0] < 3.5
    calm = plain.override({"noise": "none", "warmup": "0s"})
    awake = as_in_kernel_world(calm, 1, "0ms")
    shortest = [run(s).summary.document["flows"][0]["rtt_ms"]["min"] for s in (calm, awake)]
    assert shortest[1] - shortest[0] == pytest.approx(LATENCY.ms)
    slower = [as_in_kernel_world(calm.override({"noise": noise}), 1, "0ms", 120.0) for noise in ("none", "100us")]
    assert [flow.jitter[0].model_dump()["delay"] for one in slower for flow in one.flow] == ["120us"] * 2 + ["70us"] * 2
    assert as_in_kernel_world(plain, 1, "0ms", 20.0) == plain
    for wrong, word in (("2", "no unit"), ("500ms", "--stall")):
        with pytest.raises(ConfigError, match=word):
            as_in_kernel_world(scenario, 1, wrong)


def delays_ms(scenario: Scenario) -> list[float]:
    """Return the delays of the points at which a stall of the first flow's hosts begins, is longest and has passed."""
    points = scenario.flow[0].jitter[0].model_dump()["points"]
    return [Duration.parse(delay).ms for _, delay in points]


def test_hosts_stall_as_long_as_those_of_the_kernels_run() -> None:
    plain = dumbbell("reno", duration="4s", warmup="1s").override({"noise": "none", "flow.*.app_rate": "1Mbps"})
    stalls_us = [40.0, 30e3, 0.0, 7e3]
    first, second = (as_in_kernel_world(plain, seed, None, 0.0, stalls_us) for seed in (1, 2))
    assert delays_ms(first) == delays_ms(second) == [0, 0, 30, 0, 0, 7, 0]
    assert first != second
    base, slowest = (run(s).summary.document["flows"][0]["rtt_ms"]["max"] for s in (plain, first))
    assert 25 < slowest - base < 31
    # A length that is given counts for all, a stall of a minute is as long as possible, and zero is none.
    assert as_in_kernel_world(plain, 1, "3ms", 0.0, stalls_us) == as_in_kernel_world(plain, 1, "3ms", 0.0)
    assert as_in_kernel_world(plain, 1, "0ms", 0.0, stalls_us) == plain
    assert max(delays_ms(as_in_kernel_world(plain, 1, "50us", 0.0))) == 0.05
    renamed = as_in_kernel_world(plain.override({"name": "other"}), 1, None, 0.0, stalls_us)
    assert renamed.flow != first.flow
    long, long_again, other = (as_in_kernel_world(plain.override({"duration": "200s"}), seed) for seed in (1, 1, 2))
    assert long == long_again != other
    lengths = delays_ms(long)[2::3]
    assert 0.15 < sorted(lengths)[len(lengths) // 2] < 1.0
    assert 10 < max(lengths) < 26
    assert max(delays_ms(as_in_kernel_world(plain, 1, None, 0.0, [60e6]))) == 400


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the kernel by the simulator; the scenario's name selects runs that are late, fail or swap shares."""
    played: list[str] = []

    def play(task: Task) -> Summary:
        played.append(f"{task.scenario.name} {task.scenario.flow[0].cca.name}")
        if task.scenario.name == "fails":
            raise KernelError("no such controller here")
        result = copy.deepcopy(dict(run(task.scenario).summary.without_scenario().document))
        judged = task.scenario.name != "late"
        result["emulator"] = {
            "judged": judged,
            "reason": "" if judged else "p99 9 ms",
            "release_error_us": {"p99": 71.0},
        }
        if task.scenario.name == "slow-hosts":
            answers = {"samples": 9, "mean": 1000.0, "p50": 1000.0, "p99": 1000.0}
            result["emulator"]["host_us"] = {"receiver": answers, "sender": answers}
        if task.scenario.name == "stalling-hosts":
            result["emulator"]["stalls_us"] = [200e3] * 4
        if task.scenario.name == "differs":
            result["flows"][0]["throughput_mbps"] /= 2
        return filled(result)

    def find() -> Path:
        return Path("/bin/true")

    monkeypatch.setattr(batch, "_play_kernel", play)
    monkeypatch.setattr(world_kernel, "find_helper", find)
    monkeypatch.setattr(world_kernel, "need_root", lambda _what: None)
    return played


def matrix(tmp_path: Path, *names: str) -> Agreement:
    scenarios = [
        dumbbell("reno", rate=f"{12 + i}Mbps", rtprop="10ms", duration="4s", warmup="1s", name=name)
        for i, name in enumerate(names)
    ]
    return agree(cross(scenarios, ["reno", "cubic"], seeds=[1, 2]), archive=Archive(tmp_path), workers=1)


def test_a_matrix_counts_only_what_was_judged(
    kernel: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = matrix(tmp_path, "same", "differs", "late", "fails")
    # Late runs are run twice.
    assert len(kernel) == 10
    assert [found.count(standing) for standing in Standing] == [2, 2, 2, 2]
    assert (found.share, found.holds) == (0.5, False)
    assert found.cell("cubic", "fails").why == "kernel: no such controller here"
    assert closing(found).startswith("2 of 4 cells agree (50%, less than 80%)")
    show(found, output.stdout)
    assert not re.search(r"\[/?[a-z]+\]", capsys.readouterr().out)
    page = render(found)
    assert all(word in page for word in ("differs", "p99 9 ms", "−50%", "no such controller here"))
    assert found.document()["counts"] == {"agrees": 2, "differs": 2, "not_judged": 2, "not_run": 2}


def test_simulated_hosts_take_the_time_that_the_kernels_run_measured(kernel: list[str], tmp_path: Path) -> None:
    same, slow = (matrix(tmp_path / name, name) for name in ("same", "slow-hosts"))
    for cca in ("reno", "cubic"):
        unmeasured, measured = (
            next(one.first for one in found.cell(cca, name).comparisons if one.quantity == "rtt_ms")
            for found, name in ((same, "same"), (slow, "slow-hosts"))
        )
        assert 0.5 < measured - unmeasured < 2.5


def test_simulated_hosts_stall_as_in_the_kernels_runs(kernel: list[str], tmp_path: Path) -> None:
    same, stalling = (matrix(tmp_path / name, name) for name in ("same", "stalling-hosts"))
    assert (same.host_stall, stalling.host_stall) == ("typical", "measured")
    for cca in ("reno", "cubic"):
        short, long = (
            next(one.first for one in found.cell(cca, name).comparisons if one.quantity == "rtt_ms")
            for found, name in ((same, "same"), (stalling, "stalling-hosts"))
        )
        assert long - short > 2.0


def test_a_seed_has_the_stalls_of_one_judged_run() -> None:
    scenario = dumbbell("reno", duration="2s", name="cell")
    stalled = [
        values([6.0], [40.0], judged=judged).model_copy(update={"stalls_us": [us, us]})
        for us, judged in ((1e3, True), (300e3, False), (2e3, True))
    ]
    longest = [matrix_module._as_measured(scenario, seed, stalled, None).flow[0].jitter[-1] for seed in (1, 2, 3)]
    lengths = [max(Duration.parse(delay).ms for _, delay in one.model_dump()["points"]) for one in longest]
    assert [round(length) for length in lengths] == [1, 2, 1]


def test_kernel_runs_of_an_older_version_are_reused(kernel: list[str], tmp_path: Path) -> None:
    matrix(tmp_path, "same")
    before = len(kernel)
    for path in (tmp_path / "runs").iterdir():
        document = json.loads(path.read_text(encoding="utf-8"))
        if "emulator" in document:
            del document["emulator"]["stalls_us"]
            path.write_text(json.dumps(document), encoding="utf-8")
    found = matrix(tmp_path, "same")
    assert (found.count(Standing.AGREES), found.host_stall) == (2, "typical")
    assert len(kernel) == before


def test_the_kernel_agrees_with_itself_about_as_well_as_with_the_simulator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = ROOT / "scenarios" / "agree" / "kernel-runs"
    words = ["agree", "--cells", "134", "--kernel-runs", str(runs / "design-1.jsonl")]
    monkeypatch.chdir(tmp_path)
    both = [*words, "--other-kernel-runs", str(runs / "design-1-again.jsonl")]
    assert main([*both, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    judged = found["counts"]["agrees"] + found["counts"]["differs"]
    assert judged > 100
    # Runs of two days: in 3 of 10 cells a value differs by more than the tolerance.
    assert 0.6 < found["within_tolerance"] / judged < 0.8
    assert 0.9 < found["share"] < 1.0
    assert list(tmp_path.iterdir()) == []
    assert main(both) == 0
    assert "in the first file" in capsys.readouterr().out
    assert main(["agree", "--cells", "134", "--other-kernel-runs", str(runs / "design-1.jsonl")]) == 2
    assert "two files of kernel runs are compared" in capsys.readouterr().err
    other = ["--other-kernel-runs", str(runs / "design-2.jsonl")]
    assert main([*words, *other]) == 2
    assert "no run of the cells to compare" in capsys.readouterr().err


def test_finished_runs_are_not_repeated_but_late_and_failed_ones_are(kernel: list[str], tmp_path: Path) -> None:
    first = matrix(tmp_path, "same", "late", "fails")
    kernel.clear()
    assert matrix(tmp_path, "same", "late", "fails") == first
    assert set(kernel) == {"fails cubic", "fails reno", "late cubic", "late reno"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two scenarios that agree."""
    for i, name in enumerate(("one", "same")):
        scenario = dumbbell("reno", rate=f"{12 + i}Mbps", rtprop="10ms", duration="4s", warmup="1s", name=name)
        (tmp_path / f"{name}.toml").write_text(scenario.to_toml())
    return tmp_path


def command(folder: Path, *more: str) -> list[str]:
    return ["agree", "--ccas", "reno,vegas", "--scenarios", str(folder), "--out", str(folder / "out"), *more]


def test_the_command_shows_keeps_and_judges(
    kernel: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(folder, "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["share"], document["holds"], len(document["cells"])) == (1.0, True, 4)
    assert json.loads((folder / "out" / "agreement.json").read_text()) == document
    assert "Does the simulator agree with Linux?" in (folder / "out" / "agreement.html").read_text()
    assert main(command(folder)) == 0
    assert "4 of 4 cells agree (100%, at least 80%)" in capsys.readouterr().out
    (folder / "one.toml").rename(folder / "differs.toml")
    (folder / "differs.toml").write_text((folder / "differs.toml").read_text().replace('"one"', '"differs"'))
    (folder / "out" / "runs").rename(folder / "old")
    assert main(command(folder)) == 1
    shown = capsys.readouterr().out
    assert "differs, reno: reno-1: throughput" in shown
    assert "known:" not in shown
    (folder / "known").mkdir()
    file = folder / "known" / "differences.toml"
    file.write_text('[[difference]]\ncca = "re*"\nscenario = "differs"\nwhy = "it was meant to"\n')
    assert main(command(folder)) == 1
    shown = capsys.readouterr().out
    assert shown.count("known: it was meant to") == 1
    assert "1 of the differences have a known reason" in shown
    assert "it was meant to" in (folder / "out" / "agreement.html").read_text()
    file.write_text('[[difference]]\ncca = "reno"\n')
    assert main(command(folder)) == 2
    assert "difference.0" in capsys.readouterr().err


def test_nothing_judged_is_no_verdict(kernel: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in folder.glob("*.toml"):
        file.write_text(file.read_text().replace(f'"{file.stem}"', '"late"', 1))
    (folder / "same.toml").unlink()
    assert main(command(folder)) == 2
    assert "error: no cell could be judged" in capsys.readouterr().err


def test_an_interrupt_keeps_what_was_finished(
    kernel: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play = batch._play_kernel

    def interrupt(task: Task) -> Summary:
        if len(kernel) == 3:
            raise KeyboardInterrupt
        return play(task)

    monkeypatch.setattr(batch, "_play_kernel", interrupt)
    assert main(command(folder)) == 130
    assert "run the same command to resume" in capsys.readouterr().err
    assert len(list((folder / "out" / "runs").iterdir())) == 3


def test_nothing_is_simulated_if_there_is_no_kernel_world(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise KernelError("not built")

    monkeypatch.setattr(world_kernel, "find_helper", missing)
    monkeypatch.setattr(batch, "map_jobs", lambda *_args, **_kw: pytest.fail("simulated"))
    with pytest.raises(FairweirError, match="not built"):
        play_all([Task(dumbbell("reno")), Task(dumbbell("reno"), "kernel")], Archive(None))


def test_the_shipped_scenarios_are_many_short_and_take_any_controller() -> None:
    scenarios = load_scenarios(ROOT / "scenarios" / "agree")
    assert len(scenarios) >= 12
    assert len({scenario.name for scenario in scenarios}) == len(scenarios)
    names = {scenario.name for scenario in [*scenarios, *draw(134, 1), *draw(67, 2)]}
    assert all(difference.scenario in {*names, "*"} for difference in load_known(ROOT / "scenarios" / "agree"))
    for scenario in scenarios:
        assert Scenario.from_dict(scenario.to_dict()).resolve()["duration"] <= 60_000_000_000
        scenario.override({"flow.*.cca": "frcc"}).resolve()


def test_an_empty_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no scenarios"):
        load_scenarios(tmp_path)
