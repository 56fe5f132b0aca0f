"""Progress of rate controllers, unrolled over steps: proved or refuted by a run; no real run is excluded."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import z3

from fairweir import _core
from fairweir.ccas.controller_file import Controller
from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.formal.solving.solve import ProofOutcome
from fairweir.game.bounded import Progress, check, play, unrolled
from fairweir.game.model import number
from fairweir.game.query import GameQuery
from fairweir.game.windows import RunningLink

F = Fraction
#: Sends three steps of M while the queue is short, else drains the queue.
PROBE: list[dict[str, Any]] = [
    {"feature": {"q": 1}, "at_most": 1.0, "then": 1, "else": 2},
    {"leaf": {"rate": {"M": 3, "Q": -1}}},
    {"leaf": {"rate": {"M": 1, "Q": -1}}},
]
#: Sends only at the safe rate, which discovers no capacity on a link with a small buffer.
TIMID: list[dict[str, Any]] = [{"leaf": {"rate": {"R0": 1}}}]


def tree(nodes: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    return {
        "format": "fairweir-tree-1", "name": "rate", "kind": "rate", "query": "none", "query_sha256": "",
        "version": "0.1.0", "step": "50ms", "points": 6, "model": {"c": [1, 200], "b": [1, 200]},
        "nodes": nodes, **changes,
    }  # fmt: skip


def controller(nodes: list[dict[str, Any]]) -> Controller:
    return Controller.parse(json.dumps(tree(nodes)))


def test_a_controller_that_probes_makes_progress_on_every_link() -> None:
    assert check(controller(PROBE), Progress(4, F(3, 2))).outcome is ProofOutcome.PROVED


def test_a_controller_that_does_not_probe_is_refuted_by_a_run() -> None:
    claim = Progress(4, F(11, 10))
    found = check(controller(TIMID), claim)
    assert found.outcome is ProofOutcome.REFUTED
    assert found.run is not None
    again = play(controller(TIMID), found.run.c, found.run.b, found.run.hastes)
    assert again == found.run
    assert again.breaks(claim, F(200))


def test_too_much_is_refuted() -> None:
    found = check(controller(PROBE), Progress(4, F(2)))
    assert found.outcome is ProofOutcome.REFUTED
    assert found.run is not None
    assert found.run.min_c[4] < 2


@pytest.mark.parametrize("nodes", [PROBE, TIMID], ids=["probe", "timid"])
def test_no_run_is_excluded_by_the_facts_about_belief_sets(nodes: list[dict[str, Any]]) -> None:
    """Real runs with exact bounds satisfy a proof's assumptions; otherwise the proof would not apply to real links."""
    steps, made = 4, controller(nodes)
    _, held = unrolled(made, steps)
    solver, equal = fresh(held)
    draw = random.Random(1)  # noqa: S311 - examples
    for _ in range(2):
        c, b = F(draw.randint(8, 200), 8), F(draw.randint(8, 200), 8)
        hastes = [F(draw.randint(0, 2), 2) for _ in range(steps)]
        run = play(made, c, b, hastes)
        assert run is not None
        link, arriving = RunningLink(c, b), F(0)
        for rate, haste in zip(run.rates, hastes, strict=True):
            link.step(arriving, haste)
            arriving = rate
        fixed = {"C": c, "B": b}
        fixed |= {f"S_{t}": link.delivered[t] for t in range(1, steps + 1)}
        fixed |= {f"r_{t}": rate for t, rate in enumerate(run.rates)}
        fixed |= {f"M_{t}": known for t, known in enumerate(run.min_c)}
        fixed |= {f"max_c_{t}": known for t, known in enumerate(run.max_c)}
        solver.push()
        solver.add(*equal(fixed))
        assert solver.check() == z3.sat, run
        solver.pop()


@pytest.mark.parametrize("text", ["progress", "progress@0>=2", "progress@99>=2", "progress@4>=1/0", "progress@4<=2"])
def test_claims_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="progress"):
        Progress.parse(text)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rate.json"
    path.write_text(json.dumps(tree(PROBE)))
    assert main(["verify", str(path), "--property", "progress@3>=1.1", "--json", "--write"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"][0]["status"] == "proved"
    assert json.loads(path.read_text())["proofs"] == [{"claim": "progress@3>=11/10", "status": "proved"}]
    assert main(["verify", str(path), "--property", "progress@4>=2"]) == 1
    assert "on the link with C" in capsys.readouterr().out
    path.write_text(json.dumps(tree([{"leaf": {"send": "newest"}}], kind="video")))
    assert main(["verify", str(path), "--property", "progress@3>=2"]) == 1
    assert "refuted" in capsys.readouterr().out
    assert main(["verify", str(path), "--property", "progress@6>=2"]) == 1
    assert "up to 5 steps are unrolled" in capsys.readouterr().out
    path.write_text(json.dumps(tree([{"leaf": {}}], kind="video", encoder=[1, 0])))
    assert main(["verify", str(path), "--property", "progress@3>=2"]) == 2


def published() -> Controller:
    return Controller.load(Path(__file__).parents[2] / "controllers" / "published.json")


def fresh(assertions: Iterable[z3.BoolRef]) -> tuple[z3.Solver, Callable[[dict[str, F]], list[z3.BoolRef]]]:
    """Return a solver of the assertions, and the function from values of variables to equations for it.

    Both are in a context of their own: in one that has the terms of other tests, one question took 1 s or over 300 s.
    """
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set(timeout=120_000)
    solver.add(*(assertion.translate(context) for assertion in assertions))

    def equal(values: dict[str, F]) -> list[z3.BoolRef]:
        return [(z3.Real(name) == number(value)).translate(context) for name, value in values.items()]

    return solver, equal


def test_no_run_with_frames_is_excluded() -> None:
    """Real runs with frames, and any encoder in the range, satisfy the unrolled assertions."""
    steps, made = 5, published()
    _, held = unrolled(made, steps)
    solver, equal = fresh(held)
    draw = random.Random(4)  # noqa: S311 - examples
    for _ in range(2):
        c, b = F(draw.randint(8, 200), 8), F(draw.randint(8, 200), 8)
        hastes = [F(draw.randint(0, 2), 2) for _ in range(steps)]
        factors = [F(draw.choice((6, 10, 13)), 10) for _ in range(steps)]
        run = play(made, c, b, hastes, factors=factors)
        assert run is not None
        fixed = {"C": c, "B": b}
        fixed |= {f"r_{t}": rate for t, rate in enumerate(run.rates)}
        fixed |= {f"M_{t}": known for t, known in enumerate(run.min_c)}
        link, arriving = RunningLink(c, b), F(0)
        for rate, haste in zip(run.rates, hastes, strict=True):
            link.step(arriving, haste)
            arriving = rate
        fixed |= {f"S_{t}": link.delivered[t] for t in range(1, steps + 1)}
        solver.push()
        solver.add(*equal(fixed))
        assert solver.check() == z3.sat, run
        solver.pop()
        solver.push()
        # A rate that no leaf has is excluded.
        fixed["r_3"] += 1000
        solver.add(*equal(fixed))
        assert solver.check() == z3.unsat
        solver.pop()


def test_the_published_controller_needs_five_steps() -> None:
    """A run refutes the claim with three steps; the claim with five (``docs/formal/game.md``) holds in closed loops."""
    found = check(published(), Progress(3, F(11, 10)))
    assert found.outcome is ProofOutcome.REFUTED
    assert found.run is not None
    again = play(published(), found.run.c, found.run.b, found.run.hastes, factors=found.run.factors)
    assert again == found.run
    query = GameQuery.load(Path(__file__).parents[2] / "queries" / "game" / "conference.toml").core
    core = _core.GameController((Path(__file__).parents[2] / "controllers" / "published.json").read_text())
    draw = random.Random(9)  # noqa: S311 - examples
    for seed in range(1500):
        c, b = 1 + 30 * draw.random() ** 2, 1 + 40 * draw.random() ** 2
        session = {
            "c": c, "b": b, "steps": 6, "seed": seed, "encoder_noise": True,
            "jitter": draw.choice(("none", "random", "extreme", "alternating")),
        }  # fmt: skip
        _, rows = _core.game_play(query, json.dumps(session), core, rows=True)
        assert rows is not None
        known = [state.bounds for state in rows["state"]]
        is_found = any(max_c < 200 - 1e-6 for _, _, _, max_c in known)
        assert is_found or known[5][0] >= 1.5 * known[0][0] - 1e-3 or known[5][0] >= 0.95 * c - 1e-3, session
