"""Find certificates and check them with two independent checkers (`accept`).

A certificate is a proof, as a list of steps, that a question has no solution: that its constraints contradict each
other. The constraints are clauses; a clause is a disjunction of literals; a literal is a Boolean variable, a linear
inequality, or the negation of one of the two.

z3 gets the clauses of the question, and reports each clause that it derives. If unit propagation (repeatedly making the
last possible literal of a clause true) confirms a derived clause, the clause becomes a step that names its premises. A
lemma of arithmetic becomes a step with Farkas factors: numbers by which inequalities are multiplied so that their sum
is a contradiction. Steps that the proof does not need are omitted.
"""

from __future__ import annotations

import re
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fairweir._core import check_certificate
from fairweir.documents.atomic_write import write_text
from fairweir.errors import InvariantError, SolverError
from fairweir.formal.certificates import checker, farkas
from fairweir.formal.certificates.checker import (
    ONE,
    TRUE,
    ZERO,
    Clause,
    Constraint,
    Problem,
    RejectedError,
    Sum,
    denied,
    read,
)
from fairweir.formal.certificates.propagation import Propagation

if TYPE_CHECKING:
    import z3

#: The two checkers by name, which share no code: checker.py here, and crates/checker in Rust.
CHECKERS: Final[Mapping[str, Callable[[str, str], int]]] = {
    "checker.py": checker.accept,
    "fairweir-checker": check_certificate,
}


@dataclass(frozen=True)
class Step:
    """A derived clause, and the numbers of the earlier clauses from which it follows; None if it is a lemma of
    arithmetic.
    """

    clause: Clause
    reasons: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Certificate:
    """A certificate, and the cost of finding it.

    Attributes
    ----------
    lines : list of str, the certificate's text
    propagations : int, number of steps that unit propagation confirms
    lemmas : int, number of steps that are lemmas of arithmetic
    cpu_s : float, CPU time to find and write the certificate, s
    """

    lines: list[str] = field(repr=False)
    propagations: int
    lemmas: int
    cpu_s: float


def certify(text: str, z3_steps: int | None = None) -> Certificate:
    """Find a certificate that a question has no solution.

    Parameters
    ----------
    text : the question in SMT-LIB 2, in the language of :func:`fairweir.formal.certificates.checker.read`
    z3_steps : int, limit on z3's steps (rlimit)

    Returns
    -------
    Certificate, which both checkers have accepted

    Raises
    ------
    SolverError : the question has a solution; z3 has no answer within `z3_steps`; or the clauses that z3 reports do not
        form a proof
    """
    with _deep_recursion():
        return _certify(text, z3_steps)


def accept(question: str, lines: Iterable[str]) -> int:
    """Check a certificate against its question with both checkers. A proof counts only if both accept it.

    Parameters
    ----------
    question : SMT-LIB 2, in the language of docs/formal/certificates.md
    lines : the certificate's lines, without line feeds

    Returns
    -------
    int, number of the certificate's steps

    Raises
    ------
    RejectedError : the certificate does not prove that the question has no solution
    InvariantError : the checkers disagree, so one of them is wrong and nothing is proved
    """
    text = "".join(f"{line}\n" for line in lines)
    verdicts = {name: verdict(check, question, text) for name, check in CHECKERS.items()}
    steps = {found for found in verdicts.values() if isinstance(found, int)}
    rejections = [found for found in verdicts.values() if isinstance(found, RejectedError)]
    if not steps:
        raise rejections[0]
    if rejections or len(steps) > 1:
        said = "; ".join(f"{name}: {found}" for name, found in verdicts.items())
        raise InvariantError(
            f"the checkers contradict each other about a certificate: {said}",
            hint="nothing is proved, because one of the checkers is wrong; keep the question and the certificate",
        )
    return steps.pop()


def verdict(check: Callable[[str, str], int], question: str, certificate: str) -> int | RejectedError:
    """Return the number of steps if a checker accepts the certificate, otherwise the reason for the rejection.

    Parameters
    ----------
    check : the checker, a function of a question and a certificate that returns the number of steps
    question : str, SMT-LIB 2
    certificate : str, the certificate's text
    """
    try:
        return check(question, certificate)
    except RejectedError as error:
        return error


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Raise Python's recursion limit in the context, because terms may be deeply nested; then restore the limit."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 100_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _certify(text: str, z3_steps: int | None) -> Certificate:
    begin = _cpu_s()
    try:
        problem = read(text)
    except RejectedError as error:
        raise SolverError(f"the checker cannot read the question: {error}") from error
    known = problem.literals
    proof = _Proof(problem)
    for clause, is_theory in _derivation(problem, z3_steps):
        proof.take(clause, is_theory=is_theory)
        if proof.is_complete:
            break
    proof.finish()
    if not proof.is_complete:
        raise SolverError("z3 reports that the claim holds, but its steps do not form a certificate")
    lines, counts = proof.write(known)
    try:
        accept(text, lines)
    except RejectedError as error:
        raise SolverError(f"the certificate that was found is rejected: {error}") from error
    return Certificate(lines, *counts, _cpu_s() - begin)


class _Proof:
    """The steps of a proof that have been found so far."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.given = len(problem.clauses)
        self.steps: dict[int, Step] = {}
        self.propagation = Propagation()
        self.seen: set[Clause] = set()
        for number, clause in enumerate(problem.clauses, start=1):
            self.propagation.add(number, clause)

    @property
    def is_complete(self) -> bool:
        return self.propagation.refuted_by is not None

    def take(self, clause: Clause, *, is_theory: bool) -> None:
        """Add a clause that z3 has derived, if the clause can be verified."""
        if clause in self.seen or any(-literal in clause for literal in clause):
            return
        self.seen.add(clause)
        if is_theory:
            self._add(Step(clause))
            return
        reasons = self.propagation.follows(clause)
        if reasons is None:
            # The clause depends on an arithmetic fact that z3 derived but did not report.
            self._seek_lemma(clause)
            reasons = self.propagation.follows(clause)
        if reasons is not None:
            self._add(Step(clause, tuple(reasons)))

    def finish(self) -> None:
        """If the proof is incomplete, search for an arithmetic contradiction among the literals that are known to be
        true.
        """
        if not self.is_complete:
            self._seek_lemma(())

    def _add(self, step: Step) -> None:
        number = self.given + len(self.steps) + 1
        self.steps[number] = step
        self.propagation.add(number, step.clause)

    def _seek_lemma(self, clause: Clause) -> None:
        """Add a lemma of arithmetic that shows the negation of a clause to be a contradiction, if there is one."""
        true = [literal for literal in self.propagation.consequences(clause) if abs(literal) in self.problem.atoms]
        found = farkas.factors([denied(self.problem, -literal) for literal in true]) if true else None
        if found is not None:
            self._add(Step(tuple(-literal for literal, factor in zip(true, found, strict=True) if factor)))

    def _factors(self, clause: Clause) -> list[Fraction]:
        """Return the Farkas factors of a lemma, one for each literal; 0 for a literal that the lemma does not need."""
        literals = [literal for literal in clause if abs(literal) in self.problem.atoms]
        found = farkas.factors([denied(self.problem, literal) for literal in literals]) if literals else None
        if found is None:
            raise SolverError("z3 reported a lemma that does not follow from linear arithmetic")
        factors = dict(zip(literals, found, strict=True))
        return [factors.get(literal, Fraction(0)) for literal in clause]

    def write(self, known: int) -> tuple[list[str], tuple[int, int]]:
        """Return the lines of the certificate, and the numbers of its propagation steps and of its lemmas.

        Parameters
        ----------
        known : int, number of literals in the question; the certificate defines literals with higher numbers
        """
        end = Step((), tuple(self.propagation.refuted_by or ()))
        needed = set(end.reasons or ())
        for number in sorted(self.steps, reverse=True):
            if number in needed:
                needed.update(self.steps[number].reasons or ())
        steps = {number: step for number, step in self.steps.items() if number in needed}
        used = {abs(literal) for step in steps.values() for literal in step.clause}
        atoms = {literal: atom for literal, atom in self.problem.atoms.items() if literal > known and literal in used}
        literals = {literal: known + i for i, literal in enumerate(atoms, start=1)}
        lines = [_definition(literals[literal], atom) for literal, atom in atoms.items()]
        numbers = {number: number for number in range(1, self.given + 1)}
        for number, step in [*steps.items(), (0, end)]:
            numbers[number] = len(numbers) + 1
            clause = [literals.get(abs(literal), abs(literal)) * (1 if literal > 0 else -1) for literal in step.clause]
            kind = "f" if step.reasons is None else "r"
            why = self._factors(step.clause) if step.reasons is None else [numbers[reason] for reason in step.reasons]
            lines.append(" ".join(map(str, [kind, numbers[number], *clause, 0, *why])))
        lemmas = sum(step.reasons is None for step in steps.values())
        return lines, (len(steps) + 1 - lemmas, lemmas)


def _definition(literal: int, atom: Constraint) -> str:
    pairs = " ".join(f"{variable} {coefficient}" for variable, coefficient in atom.vector)
    return f"a {literal} {'lt' if atom.is_strict else 'le'} {atom.bound} {pairs}"


def _derivation(problem: Problem, z3_steps: int | None) -> Iterator[tuple[Clause, bool]]:
    """Yield the clauses that z3 derives, in order, each with a flag: whether the clause is a lemma of arithmetic."""
    import z3

    formulas = _Formulas(problem)
    solver = z3.SimpleSolver()
    # With arithmetic propagation, z3 derives clauses from arithmetic consequences that it does not report; such clauses
    # could not be verified.
    solver.set("arith.propagation_mode", 0)
    if z3_steps is not None:
        solver.set("rlimit", z3_steps)
    said: list[tuple[bool, list[z3.ExprRef]]] = []

    def listen(hint: z3.ExprRef | None, _: Any, clause: Sequence[z3.ExprRef]) -> None:
        kind = hint.decl().name() if hint is not None else ""
        if kind != "del":
            said.append((kind not in ("assumption", "tseitin", "rup"), list(clause)))

    listener = z3.OnClause(solver, listen)
    solver.add([formulas.clause(clause) for clause in problem.clauses])
    verdict = solver.check()
    del listener
    if verdict == z3.sat:
        raise SolverError("there is nothing to certify: the claim is wrong")
    if verdict == z3.unknown:
        raise SolverError(f"z3 found no certificate within its budget: {solver.reason_unknown()}")
    for is_theory, clause in said:
        for literals in formulas.read(clause):
            yield literals, is_theory


class _Formulas:
    """Conversion of a question's literals to z3's formulas, and of z3's clauses to literals."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._known: dict[int, tuple[z3.ExprRef, list[list[int]] | None]] = {}

    def clause(self, clause: Clause) -> z3.BoolRef:
        import z3

        return z3.Or([self.literal(literal) for literal in clause])

    def literal(self, literal: int) -> z3.BoolRef:
        import z3

        atom = self.problem.atoms.get(abs(literal))
        if abs(literal) == TRUE:
            formula = z3.BoolVal(True)
        elif atom is None:
            formula = z3.Bool(f"b{abs(literal)}")
        else:
            left = z3.Sum([z3.RealVal(str(factor)) * z3.Real(name) for name, factor in atom.vector])
            bound = z3.RealVal(str(atom.bound))
            formula = left < bound if atom.is_strict else left <= bound
        return formula if literal > 0 else z3.Not(formula)

    def read(self, clause: Sequence[z3.ExprRef]) -> list[Clause]:
        """Return z3's clause as clauses of literals; empty if it contains a term that is not in the question."""
        clauses: list[list[int]] = [[]]
        for formula in clause:
            parts = self._parts(formula)
            if parts is None:
                return []
            clauses = [[*left, *right] for left in clauses for right in parts]
        return [tuple(sorted(set(literals) - {-TRUE})) for literals in clauses if TRUE not in literals]

    def _parts(self, formula: z3.ExprRef) -> list[list[int]] | None:
        """Return z3's literal as a conjunction of clauses. Results are cached, because z3 repeats literals.

        The result is None if the literal contains a term that is not in the question.
        """
        key = formula.get_id()
        if key not in self._known:
            self._known[key] = (formula, self._translate(formula))
        return self._known[key][1]

    def _translate(self, formula: z3.ExprRef) -> list[list[int]] | None:
        import z3

        kind = formula.decl().kind()
        if kind == z3.Z3_OP_NOT:
            parts = self._parts(formula.arg(0))
            if parts is None:
                return None
            if len(parts) == 1:
                return [[-literal] for literal in parts[0]]
            return [[-literal for part in parts for literal in part]]
        if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
            return [[TRUE if kind == z3.Z3_OP_TRUE else -TRUE]]
        if kind == z3.Z3_OP_UNINTERPRETED and formula.num_args() == 0:
            # Any other name is a Boolean that z3 uses internally, for a feature that is disabled here.
            name = formula.decl().name()
            return [[int(name[1:])]] if re.fullmatch(r"b\d+", name) else None
        relations = {
            z3.Z3_OP_LE: (False, False),
            z3.Z3_OP_LT: (False, True),
            z3.Z3_OP_GE: (True, False),
            z3.Z3_OP_GT: (True, True),
        }
        if kind == z3.Z3_OP_EQ and z3.is_real(formula.arg(0)):
            left, right = map(self._sum, formula.children())
            at_most = self.problem.atom(left, right, is_strict=False)
            less = self.problem.atom(left, right, is_strict=True)
            return [[at_most], [-less]]
        if kind not in relations:
            return None
        is_turned, is_strict = relations[kind]
        left, right = map(self._sum, formula.children())
        if is_turned:
            left, right = right, left
        return [[self.problem.atom(left, right, is_strict=is_strict)]]

    def _sum(self, term: z3.ExprRef) -> Sum:
        """Convert a linear term of z3."""
        import z3

        if z3.is_rational_value(term):
            return Sum({}, Fraction(term.numerator_as_long(), term.denominator_as_long()))
        if z3.is_mul(term):
            factor, rest = map(self._sum, term.children())
            return self.problem.sum([(factor.constant, rest)])
        if z3.is_add(term):
            return self.problem.sum([(ONE, self._sum(part)) for part in term.children()])
        return Sum({term.decl().name(): ONE}, ZERO)


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def save(certificate: Certificate, question: str, folder: Path) -> tuple[Path, Path]:
    """Write a question to ``question.smt2`` and its certificate to ``certificate.txt``, and return the two paths.

    Existing files of these names are replaced; a symbolic link is replaced, not followed.

    Parameters
    ----------
    certificate : Certificate
    question : str, the question's SMT-LIB text
    folder : Path, which must exist
    """
    query, proof = folder / "question.smt2", folder / "certificate.txt"
    write_text(query, question)
    write_text(proof, "\n".join(certificate.lines) + "\n")
    return query, proof
