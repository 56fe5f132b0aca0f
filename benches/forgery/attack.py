"""Rounds of attempts; each round has separate questions and proofs."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import z3
from benches.forgery.edges import exhaust, lengthen
from benches.forgery.mistakes import spoil_lines, spoil_question, weaken
from benches.forgery.questions import Writer

from fairweir.errors import SolverError
from fairweir.formal.certificates.certificate import CHECKERS, certify, verdict
from fairweir.formal.certificates.checker import Problem, RejectedError, read

#: Number of attempts with one pool of questions, and number of questions of each kind in a pool.
ROUND = 20_000
POOL = 32


@dataclass
class Questions:
    """The questions and proofs of one round."""

    can_be_met: list[str] = field(default_factory=list)
    proved: list[tuple[str, list[str]]] = field(default_factory=list)
    #: Satisfiable questions, each with the proof of an unsatisfiable question that differs in one word.
    weakened: list[tuple[str, list[str]]] = field(default_factory=list)
    #: Lengthened questions and their proofs.
    long: list[tuple[str, list[str]]] = field(default_factory=list)


@dataclass
class Tally:
    """Counts of attempts.

    Attributes
    ----------
    attempts, accepted : int; only proofs of unsatisfiable questions count as accepted
    failures : messages with the question and the certificate
    """

    attempts: int = 0
    accepted: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the tally of another round."""
        self.attempts += other.attempts
        self.accepted += other.accepted
        self.kinds += other.kinds
        self.failures += other.failures


def solve(question: str) -> z3.CheckSatResult | None:
    """Return z3's answer; None if z3 cannot parse the question."""
    solver = z3.Solver()
    try:
        # The logic only restricts the input, and z3 rejects products of long constants in it. The commands after the
        # question do not change the answer.
        solver.from_string(question.replace("(set-logic QF_LRA)", "").partition("(check-sat)")[0])
    except z3.Z3Exception:
        return None
    return solver.check()


def prepare(chance: random.Random, size: int) -> Questions:
    """Return questions, proofs, and weakened questions that are satisfiable although the proof seems to fit.

    Raises
    ------
    AssertionError : the checker's clauses of a question have another answer than the question
    """
    found, writer = Questions(), Writer(chance)
    while len(found.can_be_met) < size or len(found.weakened) < size:
        text = writer.question()
        answer = solve(text)
        if answer == z3.sat:
            found.can_be_met.append(text)
            # This raises an error if the clauses are unsatisfiable.
            lines = _certificate(text)
        elif answer == z3.unsat:
            lines = _certificate(text)
            found.proved.append((text, lines or []))
            if len(found.long) < size // 4:
                found.long.append((lengthen(text), _certificate(lengthen(text)) or []))
        if answer not in (z3.sat, z3.unsat) or (lines is None) != (answer == z3.sat):
            raise AssertionError(f"z3 answers {answer}, but the clauses have another answer:\n{text}")
        if lines is None:
            continue
        for _ in range(8):
            weaker = weaken(chance, text)
            if solve(weaker) == z3.sat:
                found.weakened.append((weaker, lines))
    return found


def _certificate(question: str) -> list[str] | None:
    """Return a proof; None if the clauses are satisfiable."""
    try:
        return certify(question).lines
    except SolverError as error:
        if "nothing to certify" in error.message:
            return None
        raise


def forge(chance: random.Random, problem: Problem) -> list[str]:
    """Return plausible random steps, with existing numbers at valid positions."""
    atoms, literals, clauses = list(problem.atoms), problem.literals, len(problem.clauses)
    lines = []
    for _ in range(chance.randint(1, 5)):
        kind = chance.choice("afffrrr")
        if kind == "a":
            variables = sorted(chance.sample(sorted(problem.reals), chance.randint(1, 2)))
            pairs = " ".join(f"{name} {chance.choice((1, -1, 2)) if i else 1}" for i, name in enumerate(variables))
            literals += 1
            lines.append(f"a {literals} {chance.choice(('le', 'lt'))} {chance.choice((0, 1, 2, -1, '1/2'))} {pairs}")
            atoms.append(literals)
            continue
        clauses += 1
        pool = atoms if kind == "f" and atoms else range(1, literals + 1)
        count = min(len(pool), chance.randint(0, 4))
        clause = " ".join(str(chance.choice((1, -1)) * literal) for literal in chance.sample(pool, count))
        if kind == "f":
            why = [chance.choice(("0", "1", "1", "1", "2", "1/2", "3")) for _ in range(count)]
        else:
            why = [str(chance.randint(1, clauses - (chance.random() < 0.9))) for _ in range(chance.randint(0, 5))]
        lines.append(" ".join([kind, str(clauses), *clause.split(), "0", *why]))
    lines.append(
        " ".join(["r", str(clauses + 1), "0", *(str(n) for n in range(1, clauses + 1) if chance.random() < 0.5)])
    )
    return lines


def recite(chance: random.Random, problem: Problem) -> list[str]:
    """Return steps that restate a question: a copy of each of its clauses, and a weaker atom for each atom.

    If the other checker splits the question into other clauses, it rejects at another line.
    """
    lines, number, literals = [], len(problem.clauses), problem.literals
    for i, clause in enumerate(problem.clauses, start=1):
        if len({abs(literal) for literal in clause}) == len(clause):
            number += 1
            lines.append(" ".join(map(str, ["r", number, *clause, 0, i])))
    known = dict(problem.atoms)
    for literal, atom in known.items():
        more = chance.choice((0, 1, Fraction(1, 3)))
        bound, relation = atom.bound + more, "lt" if more else "le"
        pairs = " ".join(f"{name} {coefficient}" for name, coefficient in atom.vector)
        weaker = (atom.vector, bound, relation == "lt")
        twin = next((n for n, one in known.items() if (one.vector, one.bound, one.is_strict) == weaker), None)
        if twin is None:
            literals, twin = literals + 1, literals + 1
            if f" {relation} {bound} {pairs}" in "\n".join(line[line.find(" l") :] for line in lines if line[0] == "a"):
                literals -= 1
                continue
            lines.append(f"a {twin} {relation} {bound} {pairs}")
        if twin != literal:
            number += 1
            lines.append(f"f {number} -{literal} {twin} 0 1 1")
    lines.append(f"a {literals + 1} le 123456789/2 {min(problem.reals)} 1")
    return lines


def attempts(chance: random.Random, size: int) -> Iterator[tuple[str, str, str, bool]]:
    """Yield an attempt's kind, question and certificate, and whether the question is known to be satisfiable."""
    pool = prepare(chance, size)
    problems = {text: read(text) for text in pool.can_be_met}
    for _ in range(ROUND):
        kind = chance.choice(
            ("weakened", "weakened", "spliced", "forged", "forged", "proved", "proved", "asked", "recited")
        )
        # These attempts are slow, and few of them suffice, because they all make the same comparison.
        kind = "exhausted" if chance.random() < 0.01 else kind
        question, lines, can_be_met = "", list[str](), True
        mistakes = chance.choice((0, 1, 1, 2, 3))
        match kind:
            case "weakened":
                question, lines = chance.choice(pool.weakened)
            case "spliced":
                question, lines = chance.choice(pool.can_be_met), chance.choice(pool.proved)[1]
                other = chance.choice(pool.proved)[1]
                lines = [*lines[: chance.randint(0, len(lines))], *other[chance.randint(0, len(other) - 1) :]]
            case "forged":
                question = chance.choice(pool.can_be_met)
                lines, mistakes = forge(chance, problems[question]), chance.choice((0, 0, 1))
            case "proved":
                (question, lines), can_be_met = chance.choice(pool.proved), False
            case "asked":
                question, lines = chance.choice((*pool.proved, *pool.weakened))
                mistakes, can_be_met = chance.choice((0, 0, 1)), False
                for _ in range(chance.choice((1, 1, 2))):
                    question = spoil_question(chance, question)
            case "exhausted":
                (question, lines), can_be_met, mistakes = chance.choice(pool.long), False, 0
                lines = exhaust(question, lines, chance.choice((-1, 0, 0, 1, 2)))
            case "recited":
                question = chance.choice(pool.can_be_met)
                lines, mistakes = recite(chance, problems[question]), chance.choice((0, 1))
        for _ in range(mistakes):
            lines = spoil_lines(chance, lines) if lines else lines
        end = chance.choice(("\n", "\n", "\n", "", "\n\n", "\r\n", "\x00"))
        join = chance.choice(("\n",) * 30 + ("\r\n", "\r", "\u2028"))
        yield kind, question, join.join(lines) + end, can_be_met


def place(found: int | RejectedError) -> str:
    """Return the part of a result on which the checkers must agree: the number of steps, or the line of rejection."""
    if isinstance(found, int):
        return f"accepted, {found} steps"
    line = re.match(r"line [0-9]+", str(found))
    return f"rejected: {line[0]}" if line else "rejected"


def attack(seed: str, limit: int = ROUND, size: int = POOL) -> Tally:
    """Run one round of at most `limit` attempts with `size` questions of each kind."""
    tally, answers = Tally(), dict[str, z3.CheckSatResult | None]()
    for kind, question, certificate, can_be_met in attempts(random.Random(seed), size):  # noqa: S311 (not a secret)
        if tally.attempts == limit:
            break
        tally.attempts += 1
        found = {name: verdict(check, question, certificate) for name, check in CHECKERS.items()}
        where = {name: place(one) for name, one in found.items()}
        is_accepted = any(isinstance(one, int) for one in found.values())
        why = "the checkers contradict each other" if len(set(where.values())) > 1 else ""
        if is_accepted and can_be_met:
            why = "accepted, but the question is satisfiable"
        elif is_accepted:
            if question not in answers:
                answers[question] = solve(question)
            if answers[question] != z3.unsat:
                why = f"accepted, but z3 answers {answers[question]}"
        tally.kinds[f"{kind}: {'accepted' if is_accepted else 'rejected'}"] += 1
        tally.accepted += is_accepted
        if why:
            tally.failures.append(f"{why}: {where}\n{question!r}\n{certificate!r}")
    return tally
