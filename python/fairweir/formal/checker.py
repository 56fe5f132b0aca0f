"""An independent checker of proofs that linear constraints contradict each other.

It needs Python alone: ``python checker.py QUERY.smt2 CERTIFICATE``. Whoever doubts a proof reads this file; the solver
that found it need not be trusted, and there is no step that is taken on trust.

The question is SMT-LIB 2: Booleans and linear arithmetic over the reals. It is cut into clauses here (Tseitin 1968), so
that the certificate has nothing to say about what the question means. A literal is a number, negative when negated; an
atom is ``vector <= bound`` or ``vector < bound`` with a leading coefficient of one, and an equality is two of them.

A certificate is text, a step a line, each adding a clause that follows from those before:

    a ATOM le|lt BOUND [VARIABLE COEFFICIENT]...     a further atom, with the next free number
    f ID LITERAL... 0 FACTOR...                      Farkas: the negated literals, times the factors, sum to 0 < 0;
                                                     a literal with the factor 0 is not needed
    r ID LITERAL... 0 ID...                          the clauses named, each with one literal left under the negated
                                                     literals and what came before, end in a contradiction

Clauses of the question have the numbers 1 to n, in the order in which `read` gives them. The last step is the empty
clause.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

#: Variables in the order of their names, with coefficients that are not zero; the first one is 1.
Vector = tuple[tuple[str, Fraction], ...]
Clause = tuple[int, ...]
Tree = str | list["Tree"]

_WORD = re.compile(r";[^\n]*|\|[^|]*\||[()]|[^\s()]+")
_BEFORE = {"set-logic", "set-info", "set-option"}
_AFTER = {"get-value", "get-model", "exit"}
TRUE = 1


class RejectedError(Exception):
    """The certificate, or the question, is not one that can be accepted."""


@dataclass(frozen=True)
class Atom:
    """``vector <= bound``, or ``vector < bound`` if it is strict."""

    vector: Vector
    bound: Fraction
    is_strict: bool


@dataclass(frozen=True)
class Constraint:
    """``sign * vector <= bound``, or ``<`` if it is strict."""

    vector: Vector
    sign: int
    bound: Fraction
    is_strict: bool


@dataclass
class Sum:
    """A linear form: coefficients and a constant."""

    terms: dict[str, Fraction]
    constant: Fraction

    def plus(self, other: Sum, factor: Fraction) -> Sum:
        """Give this form plus a multiple of another one."""
        terms = dict(self.terms)
        for name, coefficient in other.terms.items():
            terms[name] = terms.get(name, Fraction(0)) + factor * coefficient
        kept = {name: coefficient for name, coefficient in terms.items() if coefficient}
        return Sum(kept, self.constant + factor * other.constant)


@dataclass
class Problem:
    """A question as clauses: what is to be shown contradictory.

    Attributes
    ----------
    clauses : list of clauses; the number of the first is 1
    atoms : dict from literal to what it says; literals without one are Booleans
    names : dict from a Boolean of the question to its literal
    """

    clauses: list[Clause] = field(default_factory=lambda: [(TRUE,)])
    atoms: dict[int, Atom] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    literals: int = TRUE
    _by_atom: dict[Atom, int] = field(default_factory=dict)
    _by_gate: dict[Clause, int] = field(default_factory=dict)

    def fresh(self) -> int:
        """Give a literal that nothing is known of."""
        self.literals += 1
        return self.literals

    def atom(self, form: Sum, *, is_strict: bool) -> int:
        """Give the literal that says ``form <= 0``, or ``form < 0``."""
        if not form.terms:
            return TRUE if form.constant < 0 or (form.constant == 0 and not is_strict) else -TRUE
        ordered = sorted(form.terms.items())
        lead = ordered[0][1]
        vector = tuple((name, coefficient / lead) for name, coefficient in ordered)
        bound = -form.constant / lead
        # Divided by a negative number, <= becomes >=, which is the negation of <.
        return (
            self.literal(Atom(vector, bound, is_strict))
            if lead > 0
            else -self.literal(Atom(vector, bound, not is_strict))
        )

    def literal(self, atom: Atom) -> int:
        """Give the literal of an atom, a new one if it has none."""
        if atom not in self._by_atom:
            self._by_atom[atom] = self.fresh()
            self.atoms[self._by_atom[atom]] = atom
        return self._by_atom[atom]

    def conjunction(self, literals: Iterable[int]) -> int:
        """Give a literal that is true if and only if all of `literals` are."""
        kept = tuple(sorted(set(literals) - {TRUE}, key=abs))
        if -TRUE in kept or any(-literal in kept for literal in kept):
            return -TRUE
        if len(kept) <= 1:
            return kept[0] if kept else TRUE
        if kept not in self._by_gate:
            gate = self._by_gate[kept] = self.fresh()
            self.clauses += [(-gate, literal) for literal in kept]
            self.clauses.append((gate, *(-literal for literal in kept)))
        return self._by_gate[kept]

    def disjunction(self, literals: Iterable[int]) -> int:
        """Give a literal that is true if and only if one of `literals` is."""
        return -self.conjunction(-literal for literal in literals)

    def choice(self, condition: int, then: int, otherwise: int) -> int:
        """Give a literal that says what `then` says where the condition holds, else what `otherwise` says."""
        return self.conjunction([self.disjunction([-condition, then]), self.disjunction([condition, otherwise])])

    def equality(self, form: Sum) -> int:
        """Give a literal that says ``form = 0``."""
        return self.conjunction([self.atom(form, is_strict=False), -self.atom(form, is_strict=True)])

    def demand(self, literal: int) -> None:
        """Add a clause of the question."""
        self.clauses.append((literal,))


def read(text: str) -> Problem:
    """Read a question.

    Parameters
    ----------
    text : SMT-LIB 2, with Booleans and linear real arithmetic; ``let`` and ``ite`` may occur

    Raises
    ------
    RejectedError : it has something else
    """
    reader = _Reader()
    for command in _trees(text):
        reader.obey(command)
    return reader.problem


def _trees(text: str) -> Iterator[Tree]:
    stack: list[list[Tree]] = []
    for found in _WORD.finditer(text):
        word = found[0]
        if word == "(":
            stack.append([])
        elif word == ")":
            if not stack:
                raise RejectedError("a closing bracket too many")
            done = stack.pop()
            if stack:
                stack[-1].append(done)
            else:
                yield done
        elif not word.startswith(";"):
            if not stack:
                raise RejectedError(f"a word outside of brackets: {word}")
            stack[-1].append(word)
    if stack:
        raise RejectedError("a bracket is not closed")


class _Reader:
    """What names stand for, while a question is read."""

    def __init__(self) -> None:
        self.problem = Problem()
        self.sorts: dict[str, str] = {}
        self.choices = 0
        self.is_asked = False

    def obey(self, command: Tree) -> None:
        match command:
            case ["check-sat"]:
                self.is_asked = True
            case [str(word), *_] if word in (_AFTER if self.is_asked else _BEFORE):
                pass
            case _ if self.is_asked:
                raise RejectedError(f"a command behind (check-sat): {str(command)[:80]}")
            case ["declare-fun", str(name), [], str(sort)] | ["declare-const", str(name), str(sort)]:
                if sort not in ("Real", "Bool") or name in self.sorts:
                    raise RejectedError(f"cannot declare {name} as {sort}")
                self.sorts[name] = sort
                if sort == "Bool":
                    self.problem.names[name] = self.problem.fresh()
            case ["assert", formula]:
                self.demand(formula, {})
            case _:
                raise RejectedError(f"unknown command: {str(command)[:80]}")

    def demand(self, formula: Tree, scope: dict[str, int | Sum]) -> None:
        """Assert a formula: conjunctions part by part, disjunctions as clauses."""
        match formula:
            case ["and", *parts]:
                for part in parts:
                    self.demand(part, scope)
            case ["or", *parts]:
                literals = {self.literal(part, scope) for part in parts}
                self.problem.clauses.append(tuple(sorted(literals)))
            case ["let", list(bindings), body]:
                self.demand(body, self.bind(bindings, scope))
            case _:
                self.problem.demand(self.literal(formula, scope))

    def bind(self, bindings: list[Tree], scope: dict[str, int | Sum]) -> dict[str, int | Sum]:
        inner = dict(scope)
        for binding in bindings:
            match binding:
                case [str(name), value]:
                    inner[name] = self.value(value, scope)
                case _:
                    raise RejectedError(f"not a binding: {binding}")
        return inner

    def value(self, tree: Tree, scope: dict[str, int | Sum]) -> int | Sum:
        """Give a literal for a Boolean and a linear form for a number."""
        if isinstance(tree, str):
            return self.word(tree, scope)
        match tree:
            case ["let", list(bindings), body]:
                return self.value(body, self.bind(bindings, scope))
            case ["ite", condition, then, otherwise]:
                return self.ite(self.literal(condition, scope), self.value(then, scope), self.value(otherwise, scope))
            case [str(word), *parts] if parts:
                return self.apply(word, [self.value(part, scope) for part in parts])
        raise RejectedError(f"unknown expression: {str(tree)[:80]}")

    def literal(self, tree: Tree, scope: dict[str, int | Sum]) -> int:
        value = self.value(tree, scope)
        if isinstance(value, Sum):
            raise RejectedError(f"a number where a formula should be: {str(tree)[:80]}")
        return value

    def word(self, word: str, scope: dict[str, int | Sum]) -> int | Sum:
        if word in scope:
            return scope[word]
        if word in self.problem.names:
            return self.problem.names[word]
        if word in self.sorts:
            return Sum({word: Fraction(1)}, Fraction(0))
        if word in ("true", "false"):
            return TRUE if word == "true" else -TRUE
        if re.fullmatch(r"\d+(\.\d+)?", word):
            return Sum({}, Fraction(word))
        raise RejectedError(f"unknown word: {word}")

    def ite(self, condition: int, then: int | Sum, otherwise: int | Sum) -> int | Sum:
        problem = self.problem
        if isinstance(then, int) and isinstance(otherwise, int):
            return problem.choice(condition, then, otherwise)
        if isinstance(then, int) or isinstance(otherwise, int):
            raise RejectedError("a choice between a formula and a number")
        # A name that no question can declare.
        self.choices += 1
        chosen = Sum({f"(ite {self.choices})": Fraction(1)}, Fraction(0))
        for guard, branch in ((condition, then), (-condition, otherwise)):
            problem.demand(problem.disjunction([-guard, problem.equality(chosen.plus(branch, Fraction(-1)))]))
        return chosen

    def apply(self, word: str, parts: list[int | Sum]) -> int | Sum:
        literals = [part for part in parts if isinstance(part, int)]
        forms = [part for part in parts if isinstance(part, Sum)]
        if len(literals) == len(parts):
            return self.boolean(word, literals)
        if len(forms) == len(parts):
            return self.arithmetic(word, forms)
        raise RejectedError(f"formulas and numbers under one `{word}`")

    def boolean(self, word: str, parts: list[int]) -> int:
        problem = self.problem
        match word, parts:
            case "not", [one]:
                return -one
            case "and", _:
                return problem.conjunction(parts)
            case "or", _:
                return problem.disjunction(parts)
            case "=>", [*before, last] if before:
                return problem.disjunction([*(-part for part in before), last])
            case "=", [first, *others] if others:
                return problem.conjunction(problem.choice(first, other, -other) for other in others)
            case "xor", [first, *others] if others:
                for other in others:
                    first = problem.choice(first, -other, other)
                return first
            case "distinct", [one, other]:
                return problem.choice(one, -other, other)
        raise RejectedError(f"unknown connective `{word}` of {len(parts)}")

    def arithmetic(self, word: str, parts: list[Sum]) -> int | Sum:
        problem, first, minus = self.problem, parts[0], Fraction(-1)
        pairs = list(pairwise(parts))
        match word:
            case "+":
                return _total(first, parts[1:], Fraction(1))
            case "-":
                return _total(first, parts[1:], minus) if pairs else _total(Sum({}, Fraction(0)), [first], minus)
            case "*" if sum(bool(part.terms) for part in parts) <= 1:
                product = Sum({}, Fraction(1))
                for part in parts:
                    product = _scaled(part, product.constant) if not product.terms else _scaled(product, part.constant)
                return product
            case "/" if len(parts) == 2 and not parts[1].terms and parts[1].constant:
                return _scaled(first, 1 / parts[1].constant)
            case "<=" | "<" if pairs:
                strict = word == "<"
                return problem.conjunction(problem.atom(a.plus(b, minus), is_strict=strict) for a, b in pairs)
            case ">=" | ">" if pairs:
                strict = word == ">"
                return problem.conjunction(problem.atom(b.plus(a, minus), is_strict=strict) for a, b in pairs)
            case "=" if pairs:
                return problem.conjunction(problem.equality(a.plus(b, minus)) for a, b in pairs)
            case "distinct" if len(parts) == 2:
                return -problem.equality(first.plus(parts[1], minus))
        raise RejectedError(f"not linear arithmetic: `{word}` of {len(parts)}")


def _total(first: Sum, others: list[Sum], factor: Fraction) -> Sum:
    for other in others:
        first = first.plus(other, factor)
    return first


def _scaled(form: Sum, factor: Fraction) -> Sum:
    return Sum({}, Fraction(0)).plus(form, factor)


def check(problem: Problem, certificate: Iterable[str]) -> int:
    """Check every step of a certificate.

    Parameters
    ----------
    problem : Problem, as `read` gives it; further atoms are added to it
    certificate : lines

    Returns
    -------
    int, how many steps there are

    Raises
    ------
    RejectedError : a step does not follow, or the empty clause is never reached
    """
    clauses = dict(enumerate(problem.clauses, start=1))
    steps, is_refuted = 0, () in clauses.values()
    for number, line in enumerate(certificate, start=1):
        kind, *words = line.split() or ["c"]
        if kind == "c":
            continue
        steps += 1
        try:
            if kind == "a":
                _define(problem, words)
                continue
            name, rest = int(words[0]), words[1:]
            cut = rest.index("0")
            clause, reasons = tuple(map(int, rest[:cut])), rest[cut + 1 :]
            if kind == "f":
                factors = list(map(Fraction, reasons))
                used = [(literal, factor) for literal, factor in zip(clause, factors, strict=True) if factor]
                check_farkas([(denied(problem, literal), factor) for literal, factor in used])
            elif kind == "r":
                check_propagation(clause, [clauses[int(reason)] for reason in reasons])
            else:
                raise RejectedError(f"unknown kind of step: {kind}")
        except RejectedError as error:
            raise RejectedError(f"line {number}: {error}") from None
        except (ValueError, KeyError, IndexError, ZeroDivisionError):
            raise RejectedError(f"line {number}: cannot be read, or names a clause that is not there") from None
        if name in clauses:
            raise RejectedError(f"line {number}: clause {name} is there already")
        clauses[name] = clause
        is_refuted = is_refuted or not clause
    if not is_refuted:
        raise RejectedError("the empty clause is never reached")
    return steps


def _define(problem: Problem, words: list[str]) -> None:
    name, relation, bound, *pairs = words
    vector = tuple(zip(pairs[::2], map(Fraction, pairs[1::2]), strict=True))
    atom = Atom(vector, Fraction(bound), {"le": False, "lt": True}[relation])
    is_ordered = [variable for variable, _ in vector] == sorted({variable for variable, _ in vector})
    if not vector or not is_ordered or vector[0][1] != 1 or not all(coefficient for _, coefficient in vector):
        raise RejectedError("an atom that is not in normal form")
    if problem.literal(atom) != int(name):
        raise RejectedError(f"the atom has another number than {name}")


def denied(problem: Problem, literal: int) -> Constraint:
    """Give the negation of a literal as ``sign * vector <= bound``, or ``<``."""
    atom = problem.atoms[abs(literal)]
    if literal < 0:
        return Constraint(atom.vector, 1, atom.bound, atom.is_strict)
    return Constraint(atom.vector, -1, -atom.bound, not atom.is_strict)


def check_farkas(scaled: list[tuple[Constraint, Fraction]]) -> None:
    """Check that constraints, times positive factors, sum to ``0 <= negative`` or ``0 < 0``.

    Raises
    ------
    RejectedError : they do not
    """
    total: dict[str, Fraction] = {}
    bound, is_strict = Fraction(0), False
    for constraint, factor in scaled:
        if factor <= 0:
            raise RejectedError("Farkas: a factor is negative")
        for variable, coefficient in constraint.vector:
            total[variable] = total.get(variable, Fraction(0)) + constraint.sign * factor * coefficient
        bound += factor * constraint.bound
        is_strict = is_strict or constraint.is_strict
    if any(total.values()):
        raise RejectedError("Farkas: the variables do not cancel")
    if bound > 0 or (bound == 0 and not is_strict):
        raise RejectedError(f"Farkas: 0 {'<' if is_strict else '<='} {bound} is no contradiction")


def check_propagation(clause: Clause, reasons: list[Clause]) -> None:
    """Check that `reasons`, in their order, lead from the negated clause to a contradiction, a literal at a time.

    Raises
    ------
    RejectedError : they do not
    """
    true = {-literal for literal in clause}
    if any(-literal in true for literal in true):
        return
    for reason in reasons:
        left = {literal for literal in reason if -literal not in true}
        if not left:
            return
        if len(left) > 1:
            raise RejectedError("propagation: a clause has more than one literal left")
        true |= left
    raise RejectedError("propagation: no contradiction is reached")


def main(arguments: list[str]) -> int:
    """Check a certificate against a question; 0: accepted, 1: rejected."""
    query, certificate = map(Path, arguments)
    try:
        with certificate.open(encoding="utf-8") as lines:
            steps = check(read(query.read_text(encoding="utf-8")), lines)
    except RejectedError as error:
        sys.stdout.write(f"rejected: {error}\n")
        return 1
    sys.stdout.write(f"accepted: unsatisfiable, {steps} steps, none on trust\n")
    return 0


if __name__ == "__main__":
    sys.setrecursionlimit(100_000)
    sys.exit(main(sys.argv[1:]))
