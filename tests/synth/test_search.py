"""Complete searches on small questions: answers, resumption, workers, and failures of solvers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import z3

from fairweir.ccas.rule import Rule
from fairweir.errors import ConfigError, SolverError
from fairweir.formal.encoding.system import System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.invariant import keeps
from fairweir.formal.models.ccac import Ccac
from fairweir.formal.solving import solvers as solvers_module
from fairweir.formal.solving.solve import Prepared, VacuousError
from fairweir.formal.solving.solvers import Satisfiable, SolverName, find_program
from fairweir.synth import verifier as verifier_module
from fairweir.synth.archive import FINDINGS, Archive
from fairweir.synth.cegis import Search, search
from fairweir.synth.query import Query
from fairweir.synth.replay import objections
from fairweir.synth.results import document, rules, write_rules
from fairweir.synth.verifier import Stage, Verifier

QUERIES = Path(__file__).parents[2] / "queries"

#: A part of the template of g1-5 that contains cc_qdel: 4 conditions, 4 rates.
CORNER: dict[str, Any] = {
    "template.condition": [{"qdel_L": [-1, 1], "R": [0, 1]}],
    "template.rate": {"C_L": ["1/2", 2], "alpha": [-1, 0]},
}


def query(settings: Mapping[str, Any] | None = None) -> Query:
    return Query.load(QUERIES / "g1-5.toml", {**CORNER, **(settings or {})})


def solved(found: Search) -> set[str]:
    return {rule.to_toml().split("[[branch]]", 1)[1] for rule in rules(found)}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Search, Path]:
    directory = tmp_path_factory.mktemp("search")
    return search(query(), Archive(directory), every_member=True), directory


def test_the_corner_of_cc_qdel_has_two_classes(found: tuple[Search, Path]) -> None:
    result, _ = found
    assert result.is_complete
    branches = [
        [([c.text for c in branch.conditions], str(branch.rate)) for branch in rule.branches] for rule in rules(result)
    ]
    assert branches == [
        [(["R > qdel_L"], "2 C_L"), ([], "1/2 C_L - alpha")],
        [(["qdel_L > 0"], "1/2 C_L - alpha"), ([], "2 C_L")],
    ]


def test_every_candidate_is_judged_alike_one_by_one(found: tuple[Search, Path]) -> None:
    """The search's conclusions from a few traces equal the solver's answers for each candidate."""
    result, _ = found
    checker = Verifier(query())
    space = query().space
    keys = {solution.key for solution in result.solutions}
    for key in {space.class_of(candidate) for candidate in _all(space)}:
        verdicts = [checker.check(member).verdict for member in space.members(key)]
        assert (Satisfiable.UNSAT in verdicts) == (key in keys)
        if key in keys:
            holding = next(solution.holding for solution in result.solutions if solution.key == key)
            assert holding == verdicts.count(Satisfiable.UNSAT)


def _all(space: Any) -> list[tuple[int, ...]]:
    return [
        (c, a, b)
        for c in range(len(space.conditions))
        for a in range(len(space.rates))
        for b in range(len(space.rates))
    ]


def test_counterexamples_replay_and_a_changed_one_does_not(found: tuple[Search, Path]) -> None:
    result, _ = found
    assert result.counterexamples
    for finding in result.counterexamples:
        assert finding.trace is not None
        rule = result.query.space.rule(finding.candidate, "any")
        assert objections(finding.trace, rule, result.query) == []
        assert not keeps(finding.trace, result.query.demands)
        own = finding.trace.flows[0]
        faster = own.model_copy(update={"rate": (*own.rate[:-1], own.rate[-1] + 1)})
        assert objections(finding.trace.model_copy(update={"flows": (faster,)}), rule, result.query)


@pytest.mark.parametrize("name", ["g1-5", "g2", "g5-small", "g6", "g7-any"])
@pytest.mark.parametrize("start", ["consistent", "any"])
def test_the_invariant_by_definition_is_the_encoded_one(name: str, start: str) -> None:
    """The comparison uses traces that solvers found to satisfy each part of the invariant, and to violate it."""
    asked = Query.load(QUERIES / f"{name}.toml", {"points": 4, "beliefs.start": start})
    checker = Verifier(asked)
    system, claim = checker.system, checker.claim
    own, falls = system.flows[0].beliefs, system.flows[0].rate
    flat = [own["C_U"][-1] - own["C_L"][-1] >= own["C_U"][0] - own["C_L"][0], falls[-1] == falls[1]]
    stale = [own["C_L"][0] > 1] if start == "any" else []
    for extra in ([], flat, stale, [*flat, *stale]):
        for wanted in (claim, z3.Not(claim)):
            answer = Prepared(system.assertions()).check([wanted, *extra], solvers=[SolverName.YICES])
            assert answer.verdict is not Satisfiable.UNKNOWN
            if answer.verdict is Satisfiable.SAT:
                assert keeps(Trace.from_values(system, answer.values), asked.demands) == wanted.eq(claim)


def test_the_same_command_resumes_where_it_stopped(found: tuple[Search, Path], tmp_path: Path) -> None:
    result, directory = found
    lines = (directory / FINDINGS).read_text().splitlines(keepends=True)
    keep = 5
    assert len(lines) > keep
    (tmp_path / "search.json").write_text((directory / "search.json").read_text())
    (tmp_path / FINDINGS).write_text("".join(lines[:keep]) + lines[keep][:40])
    again = search(query(), Archive(tmp_path), every_member=True)
    assert again.reused == keep
    assert [one.candidate for one in again.findings] == [one.candidate for one in result.findings]
    assert again.solutions == result.solutions
    assert again.iterations == result.iterations
    assert again.doubts == []
    assert again.unchecked == sum(one.verdict is Satisfiable.UNSAT for one in again.findings[:keep])
    kept, doubts = Archive(tmp_path).begin(Verifier(query()))
    assert (len(kept), doubts) == (len(lines), [])


def test_findings_that_were_edited_are_asked_again(found: tuple[Search, Path], tmp_path: Path) -> None:
    """A changed line is reported and dropped, and the search has the same result."""
    result, directory = found
    lines = (directory / FINDINGS).read_text().splitlines()
    documents = [json.loads(line) for line in lines]
    holds = next(i for i, one in enumerate(documents) if one["verdict"] == "unsat")
    breaks = next(i for i, one in enumerate(documents) if one["verdict"] == "sat")

    def edited(at: int, **changes: Any) -> dict[str, Any]:
        return {**documents[at], **changes}

    other = edited(holds, candidate=documents[breaks]["candidate"])
    faster = json.loads(json.dumps(documents[breaks]))
    faster["trace"]["flows"][0]["rate"][-1] = "7"
    forged: list[tuple[Any, str]] = [
        (edited(breaks, verdict="unsat", trace=None), "it was changed, or was not written by this installation"),
        (edited(holds, verdict="sat"), "a counterexample without its trace"),
        (other, "it was changed"),
        (edited(breaks, candidate=documents[holds]["candidate"]), "its counterexample does not replay"),
        (faster, "its counterexample does not replay"),
        (edited(holds, seal="0" * 64), "it was changed"),
        (edited(holds, candidate=[0, 0]), "no candidate of this template"),
        (edited(holds, candidate=[-1, 0, 0]), "no candidate of this template"),
        (edited(holds, candidate=[True, 0, 0]), "no candidate of this template"),
        (edited(holds, candidate=None), "damaged"),
        ([1, 2], "damaged"),
        ("\x00", "damaged"),
    ]
    (tmp_path / "search.json").write_text((directory / "search.json").read_text())
    for forgery, why in forged:
        (tmp_path / FINDINGS).write_text("".join(f"{line}\n" for line in (lines[breaks], json.dumps(forgery))))
        kept, doubts = Archive(tmp_path).begin(Verifier(query()))
        assert len(kept) == 1, why
        assert len(doubts) == 1
        assert f"line 2: {why}" in doubts[0]
        assert (tmp_path / FINDINGS).read_text() == lines[breaks] + "\n"
    solved_before = json.dumps(edited(breaks, verdict="unsat", trace=None))
    (tmp_path / FINDINGS).write_text("".join(f"{line}\n" for line in (*lines, solved_before)))
    again = search(query(), Archive(tmp_path), every_member=True)
    assert len(again.doubts) == 1
    assert again.solutions == result.solutions


def test_findings_of_another_installation_are_judged_or_asked_again(
    found: tuple[Search, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, directory = found
    for name in ("search.json", FINDINGS):
        (tmp_path / name).write_text((directory / name).read_text())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept, doubts = Archive(tmp_path).begin(Verifier(query()))
    assert [one.verdict for one in kept] == [Satisfiable.SAT] * len(result.counterexamples)
    assert len(doubts) == len(result.findings) - len(kept)


def test_a_query_that_no_sender_can_fail_is_vacuous(monkeypatch: pytest.MonkeyPatch) -> None:
    """No shipped query is vacuous; an invariant without requirements is used instead."""
    monkeypatch.setattr(verifier_module, "invariant", lambda system, _: system.queue(1) >= 0)
    with pytest.raises(VacuousError, match="no sender can violate the invariant"):
        search(query(), Archive(None))


def test_two_workers_find_the_same_solutions(found: tuple[Search, Path]) -> None:
    result, _ = found
    other = search(query(), Archive(None), workers=2)
    assert solved(other) == solved(result)
    assert [one.key for one in other.solutions] == [one.key for one in result.solutions]


def test_an_interrupted_search_keeps_what_it_found(tmp_path: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.iterations == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(query(), Archive(tmp_path), on_progress=stop)
    assert len((tmp_path / FINDINGS).read_text().splitlines()) == 3


def test_a_directory_of_another_search_is_rejected(found: tuple[Search, Path]) -> None:
    _, directory = found
    with pytest.raises(ConfigError, match="another search") as caught:
        search(query({"points": 6}), Archive(directory))
    assert caught.value.hint


def test_solutions_are_rule_files_that_load(found: tuple[Search, Path], tmp_path: Path) -> None:
    result, _ = found
    written = write_rules(result, tmp_path)
    assert [Rule.load(path).name for path in written] == ["g1_5_1", "g1_5_2"]
    beliefs = {"C_L": Fraction(1), "C_U": Fraction(2), "qdel_L": Fraction(0), "alpha": Fraction(1, 10)}
    assert Rule.load(written[1]).decide(beliefs) == 2


def test_no_solution_is_an_answer_with_its_counterexamples() -> None:
    result = search(query({"points": 4}), Archive(None))
    reported = document(result, None)
    assert reported["is_complete"] is True
    assert reported["solutions"] == []
    assert reported["counterexamples"] == reported["iterations"] > 0
    assert all(one.stage is Stage.SEARCH for one in result.findings)
    json.dumps(reported)


def test_assumptions_that_contradict_each_other_are_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    class Contradictory(Ccac):
        def constrain(self, system: System) -> None:
            super().constrain(system)
            system.require("impossible", system.alpha > 1, z3.Real("other") == 0)

    monkeypatch.setattr(verifier_module, "MODELS", {"ccac": Contradictory()})
    with pytest.raises(VacuousError, match="vacuous"):
        search(query(), Archive(None))


def test_candidates_whose_solvers_are_killed_are_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They are reported, the search is incomplete, and nothing is stored that would hide them from the next search."""
    real = find_program
    dying = tmp_path / "dying"
    first = tmp_path / "asked"
    control = f'test -e {first} || {{ touch {first}; exec {real(SolverName.YICES)} "$@"; }}'
    dying.write_text(f"#!/bin/sh\n{control}\nkill -9 $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr(solvers_module, "find_program", lambda _: str(dying))
    tiny = {"template.condition": [{"R": [1]}], "template.rate": {"C_L": [2], "alpha": [0]}}
    asked = query({**tiny, "objectives.queue": 3})
    result = search(asked, Archive(tmp_path / "out"), solvers=[SolverName.YICES])
    assert not result.is_complete
    assert result.solutions == []
    assert "SIGKILL" in result.undecided[0].reason
    assert Archive(tmp_path / "out").begin(Verifier(asked)) == ([], [])


def test_a_missing_solver_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find_program.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: False)
    try:
        with pytest.raises(SolverError, match="yices-smt2") as caught:
            search(query(), Archive(None), solvers=[SolverName.YICES])
        assert caught.value.hint
    finally:
        find_program.cache_clear()
