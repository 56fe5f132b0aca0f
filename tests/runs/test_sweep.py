"""Sweeps: every combination, once."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairweir.agree.matrix import COMPARED_TRANSPORT
from fairweir.errors import ClusterError, ConfigError
from fairweir.play.cluster import Cluster
from fairweir.play.sweep import expand, fingerprint, grid_of, parse_grid, sweep
from fairweir.play.table import Table
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario


def small(**changes: Any) -> Scenario:
    return dumbbell("reno", rtprop=["10ms", "20ms"], **{"rate": "12Mbps", "duration": "2s", **changes})


GRID: dict[str, list[Any]] = {"link.bottleneck.rate": ["6Mbps", "12Mbps"], "seed": [1, 2]}


def test_every_combination_is_run_and_tabled(tmp_path: Path) -> None:
    reported: list[tuple[int, int, str | None]] = []
    result = sweep(small(), GRID, tmp_path / "s", on_done=lambda *news: reported.append(news))
    assert result.is_complete
    assert [tuple(point.settings.values()) for point in result.points] == [
        ("6Mbps", 1),
        ("6Mbps", 2),
        ("12Mbps", 1),
        ("12Mbps", 2),
    ]
    assert reported[0] == (0, 4, None)
    assert reported[-1] == (4, 4, None)
    flows = Table.read(tmp_path / "s" / "flows.parquet")
    assert len(flows) == 8
    assert set(flows) >= {"point", "link.bottleneck.rate", "seed", "jain", "id", "rtt_ms_mean"}
    assert len(Table.read(tmp_path / "s" / "links.parquet")) == 4
    direct = small(rate="6Mbps", seed=2)
    from fairweir.play.run import run

    assert result.summaries[result.points[1].key].document["flows"] == run(direct).summary.document["flows"]


def test_finished_points_are_not_played_again(tmp_path: Path) -> None:
    sweep(small(), GRID, tmp_path)
    store = tmp_path / "points"
    first = {path.name: path.stat().st_mtime_ns for path in store.iterdir()}
    # One point is lost, one is damaged, and the grid grows.
    names = sorted(first)
    (store / names[0]).unlink()
    (store / names[1]).write_text("{")
    result = sweep(small(), {**GRID, "seed": [1, 2, 3]}, tmp_path)
    assert result.is_complete
    assert (len(result.points), result.reused) == (6, 2)
    assert {path.stat().st_mtime_ns for path in store.iterdir()} >= {first[name] for name in names[2:]}
    assert not [path for path in store.iterdir() if path.suffix != ".json"]


def test_a_point_is_known_by_all_that_it_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "mine.py"
    source.write_text("import fairweir\nclass Mine(fairweir.Cca):\n    pass\n")
    scenario = dumbbell("mine.py:Mine", duration="1s", base=tmp_path)
    first = fingerprint(scenario)
    assert fingerprint(dumbbell("mine.py:Mine", duration="1s", base=tmp_path, description="words")) == first
    assert fingerprint(dumbbell("mine.py:Mine", duration="1000ms", base=tmp_path)) == first
    assert fingerprint(dumbbell("mine.py:Mine", duration="2s", base=tmp_path)) != first
    source.write_text(source.read_text() + "# changed\n")
    first, second = fingerprint(scenario), first
    assert first != second
    on_kernel = fingerprint(scenario, "kernel")
    monkeypatch.setattr("fairweir.play.sweep.build", lambda: "another simulator")
    assert fingerprint(scenario) != first
    assert fingerprint(scenario, "kernel") == on_kernel


def test_a_kernel_run_depends_on_autotuning_alone_of_the_transport() -> None:
    def known(transport: Any, **flow: Any) -> str:
        scenario = dumbbell("reno", duration="1s", **flow).override({"transport": transport})
        return fingerprint(scenario, "kernel")

    plain = fingerprint(dumbbell("reno", duration="1s"), "kernel")
    assert known("linux") == known(["autotuning"]) == plain
    assert len({known(value) for value in ("ideal", ["handshake"], COMPARED_TRANSPORT)} | {plain}) == 2
    assert known("linux", rwnd="20pkts") == known("ideal", rwnd="20pkts")


def test_failures_are_reported_and_the_rest_continues(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import fairweir\nclass Mine(fairweir.Cca):\n    def on_ack(self, ack):\n        raise ValueError('no')\n"
    )
    result = sweep(small(), {"flow.0.cca": ["reno", f"{tmp_path}/mine.py:Mine"]}, tmp_path / "s")
    assert not result.is_complete
    assert len(result.summaries) == 1
    assert "ValueError: no" in result.failures[result.points[1].key]
    assert Table.read(tmp_path / "s" / "flows.parquet")["flow.0.cca"].tolist() == ["reno", "reno"]
    assert result.flows["flow.0.cca"].tolist() == ["reno", "reno"]
    assert len(result.links) == 1


def test_a_notebook_shows_a_sweep_with_its_failures(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import fairweir\nclass Mine(fairweir.Cca):\n    def on_ack(self, ack):\n        raise ValueError('<b>')\n"
    )
    grid: dict[str, list[Any]] = {"flow.0.cca": ["reno", f"{tmp_path}/mine.py:Mine"], "seed": [1, 2]}
    result = sweep(small(), grid, tmp_path / "s")
    assert repr(result) == "<Sweep of flow.0.cca, seed: 2 of 4 points finished, 2 failed>"
    shown = result._repr_html_()
    assert "<th>throughput_mbps<br>" in shown
    assert shown.count("<td>reno</td>") == 4
    assert "ValueError: &lt;b&gt;" in shown
    assert "<b>" not in shown
    none = replace(result, summaries={})
    assert "0 of 4 points finished" in none._repr_html_()
    assert len(none.flows) == 0


def test_bad_points_are_found_before_any_is_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="rate `3` has no unit"):
        sweep(small(), {"link.bottleneck.rate": ["6Mbps", "3"]}, tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("seed=1..3", [1, 2, 3]),
        ("k=12Mbps,24Mbps", ["12Mbps", "24Mbps"]),
        ("k=1,2", [1, 2]),
        ('k=["a,b", { kind = "codel" }]', ["a,b", {"kind": "codel"}]),
        ("k=true,false", [True, False]),
        ("seed=1..3,7", [1, 2, 3, 7]),
        ("k=2..6/2", [2, 4, 6]),
        ("k=0.5..0.9/0.1", [0.5, 0.6, 0.7, 0.8, 0.9]),
        ("k=-1..1/0.5", [-1.0, -0.5, 0.0, 0.5, 1.0]),
        ("k=1..2/0.4", [1.0, 1.4, 1.8]),
        ("k=10ms..30ms/10ms", ["10ms", "20ms", "30ms"]),
        ("k=0.5bdp..1.5bdp/0.5bdp,infinite", ["0.5bdp", "1.0bdp", "1.5bdp", "infinite"]),
        ("k=10Mbit/s..20Mbit/s / 5Mbit/s", ["10Mbit/s", "15Mbit/s", "20Mbit/s"]),
        ("k=1%..3%/1%", ["1%", "2%", "3%"]),
        ("k=cubic{beta=0.5,c=0.4},bbr", ["cubic{beta=0.5,c=0.4}", "bbr"]),
        ('k={ name = "cubic", beta = 0.5 },"a,b"', [{"name": "cubic", "beta": 0.5}, "a,b"]),
        ("k=../mine.py:Mine,a..b", ["../mine.py:Mine", "a..b"]),
    ],
)
def test_axes(text: str, values: list[Any]) -> None:
    assert list(parse_grid([text]).values()) == [values]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed", "grid axis has no values: `seed`"),
        ("seed=", "grid axis has no values: `seed=`"),
        ("seed=5..1", "grid axis descends: `seed=5..1`"),
        ("seed=1..99999999", "grid axis has more than 1000000 values"),
        ("k=0.5..0.9", "range without a step: `0.5..0.9`"),
        ("k=10ms..50ms", "range without a step: `10ms..50ms`"),
        ("k=10ms..1s/10ms", "range with more than one unit: `10ms..1s/10ms`"),
        ("k=10..50ms/10ms", "range with more than one unit"),
        ("k=10ms..50ms/10", "range with more than one unit"),
        ("k=50ms..10ms/10ms", "grid axis descends: `k=50ms..10ms/10ms`"),
        ("k=1..2/0", "range with a step that is not positive"),
        ("k=1..2/-1", "range with a step that is not positive"),
        ("k=0..1/0.0000001", "grid axis has more than 1000000 values"),
        ("k=1..many", "not a range: `1..many` (in `k=1..many`)"),
        ("k=few..5", "not a range: `few..5`"),
        ("k=1..2..3", "not a range: `1..2..3`"),
        ("k=[1", "grid axis is not a list"),
        ("k=[]", "grid axis is not a list"),
    ],
)
def test_axes_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        parse_grid([text])


def test_an_axis_varies_a_parameter_of_a_controller_however_it_is_written(tmp_path: Path) -> None:
    axis = parse_grid(["flow.0.cca.beta=0.5..0.7/0.2"])
    for written in ("cubic", {"name": "cubic"}, {"name": "cubic", "c": 0.4}, "cubic{c=0.4}"):
        points = expand(dumbbell(written, rate="12Mbps", duration="2s"), axis)
        assert [point.scenario.flow[0].cca.params["beta"] for point in points] == [0.5, 0.7]
    # The grid comes after --set, which may have changed the controller itself.
    base = small().override({"flow.*.cca": {"name": "bbr"}})
    found = sweep(base, parse_grid(["flow.*.cca.cwnd_gain=1.5,2"]), tmp_path)
    assert not found.failures
    assert [point.scenario.flow[1].cca.params for point in found.points] == [{"cwnd_gain": 1.5}, {"cwnd_gain": 2}]


def test_a_scenario_may_bring_its_grid() -> None:
    text = (
        small().to_toml()
        + '\n[sweep]\nseed = "1..2"\nlink.bottleneck.rate = ["6Mbps", "12Mbps"]\n"flow.0.ecn" = [true]\n'
    )
    scenario = Scenario.from_toml(text)
    assert grid_of(scenario) == {"seed": [1, 2], "link.bottleneck.rate": ["6Mbps", "12Mbps"], "flow.0.ecn": [True]}
    points = expand(scenario, grid_of(scenario))
    assert len(points) == 4
    assert all(not point.scenario.sweep for point in points)
    with pytest.raises(ConfigError, match="grid axis has no values: `3`"):
        grid_of(Scenario.from_toml(small().to_toml() + "\n[sweep]\nseed = 3\n"))
    with pytest.raises(ConfigError, match="grid has 1000001 points"):
        expand(scenario, {"seed": range(1_000_001)})


def test_points_are_files_a_person_can_read(tmp_path: Path) -> None:
    result = sweep(small(), {"seed": [4]}, tmp_path)
    kept = json.loads((tmp_path / "points" / f"{result.points[0].key}.json").read_text())
    assert kept["settings"] == {"seed": 4}
    assert Scenario.from_dict(kept["scenario"]).resolve() == result.points[0].scenario.resolve()
    assert kept["summary"]["seed"] == 4


def test_no_cluster_at_the_address(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no Dask scheduler at `nonsense`"):
        sweep(small(), {"seed": [4]}, tmp_path, workers=Cluster("nonsense"))
