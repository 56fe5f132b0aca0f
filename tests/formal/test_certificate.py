"""Certificates: found for unsatisfiable questions, accepted by the checker, and rejected after any wrong change."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from fairweir.errors import SolverError
from fairweir.formal.beliefs import ccac as beliefs
from fairweir.formal.certificates import checker
from fairweir.formal.certificates.certificate import Certificate, accept, certify, save
from fairweir.formal.certificates.checker import Constraint, RejectedError
from fairweir.formal.certificates.farkas import factors
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import Prepared

x, y, w = z3.Reals("x y w")
p, q = z3.Bools("p q")


def text_of(*formulas: z3.BoolRef) -> str:
    return Prepared(formulas).script([])


CONTRADICTIONS = {
    "bounds": [x < 1, x > 1],
    "strict": [x < y, y < x],
    "sum": [x + y <= 1, 2 * x + w / 3 > 2, y - w / 6 >= 0],
    "cases": [z3.Or(x > 2, y > 2), x + y < 1, x > -1, y > -1, z3.Implies(x > 0, p), z3.Not(p), z3.Or(y < 0, q), x < 0],
    "choice": [x == z3.If(p, y + 1, y - 1), x == y],
    "equality": [z3.Not(x == y), x - y <= 0, y <= x],
    "iff": [p == (x > 0), q == z3.Not(p), x > 1, q],
    "xor": [z3.Xor(p, q), p == q],
    "propositional": [z3.Or(p, q), z3.Or(p, ~q), z3.Or(~p, q), z3.Or(~p, ~q)],
    "let": [z3.And(*[z3.Or(x + y + w > i, x + y + w < -i) for i in range(1, 4)]), x + y == -w],
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_have_certificates(name: str) -> None:
    text = text_of(*CONTRADICTIONS[name])
    certificate = certify(text)
    assert accept(text, certificate.lines) == certificate.propagations + certificate.lemmas + sum(
        line.startswith("a") for line in certificate.lines
    )


def test_a_satisfiable_question_has_no_certificate() -> None:
    with pytest.raises(SolverError, match="nothing to certify"):
        certify(text_of(x < 1, x > 0))


@pytest.fixture(scope="module")
def narrow_belief() -> tuple[str, Certificate]:
    """Return the certified question that C_L stays below C on a CCAC link over 4 steps."""
    system = MODELS["ccac"].build(Grid(5), Buffer.INFINITE)
    beliefs.attach(system)
    text = text_of(*system.assertions(), system.flows[0].beliefs["C_L"][4] > 1)
    return text, certify(text)


def test_a_belief_is_certified_sound(narrow_belief: tuple[str, Certificate]) -> None:
    text, certificate = narrow_belief
    assert certificate.lemmas > 0
    assert accept(text, certificate.lines) > 0


def _flip(words: list[str], at: int) -> list[str]:
    return [*words[:at], str(-int(words[at])), *words[at + 1 :]]


MUTATIONS: dict[str, Callable[[list[str]], list[str] | None]] = {
    "a literal is negated": lambda words: _flip(words, 2) if words[0] in "fr" and words[2] != "0" else None,
    "a literal is dropped": lambda words: words[:2] + words[3:] if words[0] in "fr" and words[2] != "0" else None,
    "a factor is larger": lambda words: [*words[:-1], str(Fraction(words[-1]) + 1)] if words[0] == "f" else None,
    "a factor is negative": lambda words: [*words[:-1], f"-{words[-1]}"] if words[0] == "f" else None,
    "a reason is missing": lambda words: words[:-1] if words[0] == "r" else None,
    "an atom is another one": lambda words: (
        [*words[:3], str(Fraction(words[3]) + 1), *words[4:]] if words[0] == "a" else None
    ),
    "a step is missing": lambda words: [],
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_certificate_with_a_mistake_is_rejected(name: str, narrow_belief: tuple[str, Certificate]) -> None:
    text, certificate = narrow_belief
    mutants = 0
    for i, line in enumerate(certificate.lines):
        words = MUTATIONS[name](line.split())
        if words is None or words == line.split():
            continue
        mutants += 1
        with pytest.raises(RejectedError):
            accept(text, [*certificate.lines[:i], *filter(None, [" ".join(words)]), *certificate.lines[i + 1 :]])
    assert mutants > 0 or name == "an atom is another one"


def test_a_certificate_is_for_one_question(narrow_belief: tuple[str, Certificate]) -> None:
    text, certificate = narrow_belief
    weaker = text.replace("(>= C_L_4 ", "(<= C_L_4 ").replace("(> C_L_4 1.0)", "(> C_L_4 0.5)")
    assert weaker != text
    with pytest.raises(RejectedError):
        accept(weaker, certificate.lines)


def test_the_checker_runs_alone(narrow_belief: tuple[str, Certificate], tmp_path: Path) -> None:
    text, certificate = narrow_belief
    paths = save(certificate, text, tmp_path)
    command = [sys.executable, "-I", "-S", checker.__file__, *map(str, paths)]
    accepted = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (accepted.returncode, accepted.stdout.split(":")[0]) == (0, "accepted")
    paths[1].write_text(paths[1].read_text(encoding="utf-8").replace("\nf ", "\nr ", 1), encoding="utf-8")
    rejected = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (rejected.returncode, rejected.stdout.split(":")[0]) == (1, "rejected")


#: Certificates for satisfiable questions; atoms are numbered from 2 on, clauses of the assertions too.
FORGED = {
    "a negative factor": ([x <= 1, x <= 2], ["f 4 -2 -3 0 1 -1", "r 5 0 2 3 4"], "a factor is negative"),
    "0 <= 0 as a contradiction": ([x <= 1, x >= 1], ["f 4 -2 3 0 1 1", "r 5 0 2 3 4"], "0 <= 0 is not a contradiction"),
    "an atom by another number": ([x <= 1], ["a 9 le 0 x 1", "r 5 0 2"], "not an atom with the number 3"),
    "an atom that is not normal": ([x <= 1], ["a 3 le 0 x 2", "r 5 0 2"], "not in normal form"),
    "a clause that is there": ([x <= 1], ["r 2 2 0 2"], "not a step: a clause with the number 3"),
    "no steps": ([x <= 1], [], "line 1: not a step"),
    "another kind of step": ([x <= 1], ["t 4 0"], "not a step"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_certificates_are_rejected(name: str) -> None:
    formulas, lines, message = FORGED[name]
    with pytest.raises(RejectedError, match=message):
        accept(text_of(*formulas), lines)


ATOMS = [p, q, x < 1, x >= y, y == 2 * w - 1, w + x > z3.Q(1, 3), x - y <= w, z3.BoolVal(True)]


@st.composite
def formulas(draw: st.DrawFn) -> list[z3.BoolRef]:
    """Return formulas with all connectives; each contains atoms and earlier formulas."""
    pool = list(ATOMS)
    for _ in range(draw(st.integers(1, 8))):
        a, b, c = (pool[draw(st.integers(0, len(pool) - 1))] for _ in range(3))
        made = [z3.Not(a), z3.And(a, b), z3.Or(a, b), z3.Implies(a, b), a == b, z3.If(a, b, c), z3.Xor(a, b)]
        made.append(z3.If(a, x, y + 1) < z3.If(b, w, x))
        pool.append(made[draw(st.integers(0, len(made) - 1))])
    return [pool[i] for i in draw(st.lists(st.integers(0, len(pool) - 1), min_size=2, max_size=6))]


@settings(max_examples=40)
@given(formulas())
def test_certificates_exist_exactly_where_a_solver_finds_no_model(asserted: list[z3.BoolRef]) -> None:
    solver = z3.Solver()
    solver.add(asserted)
    text = text_of(*asserted)
    if solver.check() == z3.unsat:
        assert accept(text, certify(text).lines) > 0
    else:
        with pytest.raises(SolverError, match="nothing to certify"):
            certify(text)


def test_factors_are_exact() -> None:
    third = Fraction(1, 3)
    above = Constraint((("x", Fraction(1)), ("y", third)), -1, Fraction(-1), is_strict=False)
    below = [
        Constraint((("x", Fraction(1)),), 1, third, is_strict=False),
        Constraint((("y", Fraction(1)),), 1, Fraction(2), is_strict=True),
        Constraint((("w", Fraction(1)),), 1, Fraction(0), is_strict=False),
    ]
    found = factors([above, *below])
    assert found is not None
    assert [value / found[0] for value in found] == [1, 1, third, 0]
    assert factors(below) is None
