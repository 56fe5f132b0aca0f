"""An independent checker of proofs that linear constraints contradict each other.

It needs only Python: ``python checker.py QUESTION.smt2 CERTIFICATE``. The checker verifies every step.

The question is SMT-LIB 2: Booleans and linear arithmetic over the reals. The checker converts the question to clauses
(Tseitin 1968), so a certificate cannot change the meaning of the question. A clause is a disjunction of literals. A
literal is a positive integer, which stands for a Boolean or for an atom, or a negative integer, which stands for the
negation. An atom is ``vector <= bound`` or ``vector < bound``; the vector is a linear form whose first factor is 1. An
equality is two atoms.

A certificate is text with one step per line. A step defines an atom, or adds a clause that follows from the clauses
before it:

    a ATOM le|lt BOUND [VARIABLE COEFFICIENT]...     define a new atom with the next free literal
    f ID LITERAL... 0 FACTOR...                      Farkas: the negated literals, as inequalities times the factors,
                                                     sum to 0 < 0; a literal with the factor 0 is not needed
    r ID LITERAL... 0 ID...                          unit propagation: if all literals of the clause are false, each
                                                     listed clause has one literal that is not false, which becomes
                                                     true; the last listed clause has no such literal

The question's clauses have the numbers 1 to n, in the order in which `read` returns them; each step that adds a clause
has the next number. The last step is the empty clause. docs/formal/certificates.md defines the language of questions
and the language of certificates. The checker rejects all other texts, and accepts only one notation for each number.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import TypeVar

#: Variables, sorted by name, with their non-zero coefficients; the first coefficient is 1.
Vector = tuple[tuple[str, Fraction], ...]
Clause = tuple[int, ...]
Tree = str | list["Tree"]
Found = TypeVar("Found")

TRUE = 1
#: Maximum size of a question and of a certificate, in bytes; of the depth of brackets; of a word, in characters.
MAX_QUESTION, MAX_CERTIFICATE, MAX_DEPTH, MAX_WORD = 1 << 24, 1 << 28, 200, 1000
#: Maximum number of bits in the numerator, and in the denominator, of every computed number.
MAX_BITS = 4096
#: Limit on the work of a check: `WORK_PER_BYTE` units for each byte of both texts, plus `WORK` units. An operation on
#: numbers costs `OPERATION` units plus one unit for each bit of the numbers.
WORK_PER_BYTE, WORK, OPERATION = 64, 1 << 22, 32
ZERO, ONE, MINUS_ONE = Fraction(0), Fraction(1), Fraction(-1)

_WORD = re.compile(r"[()]|[^() \n]+")
_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9_.!]*")
_DECIMAL = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?")
_SIGN = re.compile(r"[-+*/]|[<>]=?|=>?|set-logic|declare-fun|check-sat|get-value|get-model")
_INTEGER = re.compile(r"-?[1-9][0-9]{0,17}")
_RATIONAL = re.compile(r"0|-?[1-9][0-9]*(/[1-9][0-9]*)?")
#: Words of SMT-LIB and of its theories, which a question must not redefine.
_RESERVED = re.compile(
    "and|or|not|xor|distinct|ite|let|true|false|as|par|exists|forall|match|assert|exit|push|pop|echo|reset"
    "|Real|Bool|Int|String|BINARY|DECIMAL|HEXADECIMAL|NUMERAL|STRING"
)


class RejectedError(Exception):
    """The certificate or the question is rejected."""


def _shown(word: object) -> str:
    """Return a part of the input, shortened and escaped, for a message on a terminal."""
    return ascii(word if isinstance(word, str) and len(word) <= 60 else str(word)[:60] + "...")


def _bounded(number: Fraction) -> Fraction:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS:
        raise RejectedError(f"a number of more than {MAX_BITS} bits")
    return number


def _bits(number: Fraction) -> int:
    return number.numerator.bit_length() + number.denominator.bit_length()


def _integer(word: str) -> int:
    if not _INTEGER.fullmatch(word):
        raise RejectedError(f"not an integer other than 0, as it is to be written: {_shown(word)}")
    return int(word)


def _rational(word: str) -> Fraction:
    if len(word) <= MAX_WORD and _RATIONAL.fullmatch(word):
        number = Fraction(word)
        if str(number) == word:
            return number
    raise RejectedError(f"not a fraction in lowest terms: {_shown(word)}")


@dataclass(frozen=True)
class Constraint:
    """The inequality ``sign * vector <= bound``, with ``<`` if `is_strict`. The sign is 1 or -1; an atom has sign 1."""

    vector: Vector
    sign: int
    bound: Fraction
    is_strict: bool


@dataclass
class Sum:
    """A linear form: a coefficient for each variable, and a constant."""

    terms: dict[str, Fraction]
    constant: Fraction


@dataclass
class Problem:
    """A question as clauses. Clauses are numbered from 1; the first clause says that the literal `TRUE` is true."""

    clauses: list[Clause] = field(default_factory=lambda: [(TRUE,)])
    #: The atom of each literal; literals without an atom are Booleans.
    atoms: dict[int, Constraint] = field(default_factory=dict)
    #: `names`: the literal of each Boolean variable. `reals`: the names of the real variables; a variable ``#n`` is not
    #: from the question, but stands for the value of an `ite` between numbers.
    names: dict[str, int] = field(default_factory=dict)
    reals: set[str] = field(default_factory=set)
    literals: int = TRUE
    #: Number of units of work that the check may still use.
    work: float = inf
    _by_atom: dict[Constraint, int] = field(default_factory=dict)
    _by_gate: dict[Clause, int] = field(default_factory=dict)

    def spend(self, units: int) -> None:
        """Use some of the remaining units of work. If too few remain, reject the texts."""
        self.work -= units
        if self.work < 0:
            raise RejectedError("more work than texts of this length may ask for")

    def plus(self, number: Fraction, factor: Fraction, other: Fraction) -> Fraction:
        """Return ``number + factor * other``."""
        self.spend(OPERATION + _bits(number) + _bits(factor) + _bits(other))
        return _bounded(number + factor * other)

    def sum(self, parts: Iterable[tuple[Fraction, Sum]]) -> Sum:
        """Return the sum of linear forms, each multiplied by its factor."""
        terms, constant = dict[str, Fraction](), ZERO
        for factor, form in parts:
            for name, coefficient in form.terms.items():
                terms[name] = self.plus(terms.get(name, ZERO), factor, coefficient)
            if form.constant:
                constant = self.plus(constant, factor, form.constant)
        return Sum({name: coefficient for name, coefficient in terms.items() if coefficient}, constant)

    def fresh(self) -> int:
        """Return a new literal, which no clause constrains."""
        self.literals += 1
        return self.literals

    def atom(self, left: Sum, right: Sum, *, is_strict: bool) -> int:
        """Return the literal of ``left <= right``, or ``left < right``."""
        form = self.sum([(ONE, left), (MINUS_ONE, right)])
        if not form.terms:
            return TRUE if form.constant < 0 or (form.constant == 0 and not is_strict) else -TRUE
        lead = form.terms[min(form.terms)]
        form = self.sum([(1 / lead, form)])
        # Division by a negative coefficient turns <= into >=, which is the negation of <.
        atom = Constraint(tuple(sorted(form.terms.items())), 1, -form.constant, is_strict is (lead > 0))
        return self.literal(atom) if lead > 0 else -self.literal(atom)

    def literal(self, atom: Constraint) -> int:
        """Return the literal of an atom. If the atom has no literal, create one."""
        literal = self._by_atom.setdefault(atom, self.literals + 1)
        if literal > self.literals:
            self.atoms[self.fresh()] = atom
        return literal

    def conjunction(self, literals: Iterable[int]) -> int:
        """Return a literal that is true if and only if all of `literals` are true."""
        distinct = set(literals) - {TRUE}
        if -TRUE in distinct or any(-literal in distinct for literal in distinct):
            return -TRUE
        kept = tuple(sorted(distinct, key=abs))
        if len(kept) <= 1:
            return kept[0] if kept else TRUE
        if kept not in self._by_gate:
            gate = self._by_gate[kept] = self.fresh()
            self.clauses += [(-gate, literal) for literal in kept]
            self.clauses.append((gate, *(-literal for literal in kept)))
        return self._by_gate[kept]

    def disjunction(self, literals: Iterable[int]) -> int:
        """Return a literal that is true if and only if at least one of `literals` is true."""
        return -self.conjunction(-literal for literal in literals)

    def choice(self, condition: int, then: int, otherwise: int) -> int:
        """Return a literal that equals `then` if `condition` is true, and `otherwise` if `condition` is false."""
        return self.conjunction([self.disjunction([-condition, then]), self.disjunction([condition, otherwise])])

    def equality(self, left: Sum, right: Sum) -> int:
        """Return a literal that is true if and only if ``left = right``."""
        return self.conjunction([self.atom(left, right, is_strict=False), -self.atom(left, right, is_strict=True)])


def read(text: str, work: float = inf) -> Problem:
    """Parse a question: SMT-LIB 2 with Booleans, linear real arithmetic, ``let`` and ``ite``."""
    reader = _Reader(Problem(work=work))
    for command in _trees(text):
        reader.execute(command)
    if not reader.is_asked:
        raise RejectedError("there is no (check-sat)")
    return reader.problem


def _trees(text: str) -> Iterator[Tree]:
    """Yield each command as a nested list of words. Comments, strings, quoted symbols and keywords are rejected."""
    stack: list[list[Tree]] = []
    for found in _WORD.finditer(text):
        word = found[0]
        if word == "(":
            if len(stack) == MAX_DEPTH:
                raise RejectedError(f"brackets deeper than {MAX_DEPTH}")
            stack.append([])
        elif not stack:
            raise RejectedError(f"not in brackets: {_shown(word)}")
        elif word != ")":
            if len(word) > MAX_WORD or not any(kind.fullmatch(word) for kind in (_SYMBOL, _DECIMAL, _SIGN)):
                raise RejectedError(f"not a word of the language: {_shown(word)}")
            stack[-1].append(word)
        else:
            done = stack.pop()
            if stack:
                stack[-1].append(done)
            else:
                yield done
    if stack:
        raise RejectedError("a bracket is not closed")


class _Reader:
    """The state of the parser of a question: the names and their values."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        #: The value of each name that `let` binds; None for a name whose `let` has ended.
        self.scope: dict[str, int | Sum | None] = {}
        self.commands = 0
        self.is_asked = False

    def execute(self, command: Tree) -> None:
        self.commands += 1
        match command:
            case ["get-value" | "get-model" | "exit", *_] if self.is_asked:
                pass
            case _ if self.is_asked:
                raise RejectedError(f"a command behind (check-sat): {_shown(command)}")
            case ["check-sat"]:
                self.is_asked = True
            case ["set-logic", "QF_LRA"] if self.commands == 1:
                pass
            case ["declare-fun", str(name), [], "Real" | "Bool" as sort]:
                if name in self.problem.names or name in self.problem.reals:
                    raise RejectedError(f"declared twice: {_shown(name)}")
                if sort == "Real":
                    self.problem.reals.add(_name(name))
                else:
                    self.problem.names[_name(name)] = self.problem.fresh()
            case ["assert", formula]:
                self.demand(formula)
            case _:
                raise RejectedError(f"unknown command: {_shown(command)}")

    def demand(self, formula: Tree) -> None:
        """Add the clauses of a formula that must hold. A conjunction adds the clauses of each part; a disjunction adds
        one clause.
        """
        match formula:
            case ["and", *parts] if parts:
                for part in parts:
                    self.demand(part)
            case ["or", *parts] if parts:
                literals = {self.literal(part) for part in parts}
                self.problem.clauses.append(tuple(sorted(literals)))
            case ["let", [_, *_] as bindings, body]:
                self.within(bindings, lambda: self.demand(body))
            case _:
                self.problem.clauses.append((self.literal(formula),))

    def within(self, bindings: list[Tree], body: Callable[[], Found]) -> Found:
        """Call `body` while the names in `bindings` have their values. The values are evaluated before the names are
        bound.
        """
        new = dict[str, int | Sum | None]()
        for binding in bindings:
            match binding:
                case [str(name), value] if name not in new:
                    new[_name(name)] = self.value(value)
                case _:
                    raise RejectedError(f"not a binding, or one of a name that has one: {_shown(binding)}")
        hidden = {name: self.scope.get(name) for name in new}
        self.scope.update(new)
        found = body()
        self.scope.update(hidden)
        return found

    def value(self, tree: Tree) -> int | Sum:
        """Return the literal of a Boolean expression, or the linear form of a number."""
        if isinstance(tree, str):
            return self.word(tree)
        match tree:
            case ["let", [_, *_] as bindings, body]:
                return self.within(bindings, lambda: self.value(body))
            case ["ite", condition, then, otherwise]:
                return self.ite(self.literal(condition), self.value(then), self.value(otherwise))
            case [str(word), *parts] if parts:
                return self.apply(word, [self.value(part) for part in parts])
        raise RejectedError(f"unknown expression: {_shown(tree)}")

    def literal(self, tree: Tree) -> int:
        value = self.value(tree)
        if isinstance(value, Sum):
            raise RejectedError(f"a number where a formula should be: {_shown(tree)}")
        return value

    def word(self, word: str) -> int | Sum:
        bound = self.scope.get(word)
        if bound is not None:
            return bound
        if word in self.problem.names:
            return self.problem.names[word]
        if word in self.problem.reals:
            return Sum({word: ONE}, ZERO)
        if word in ("true", "false"):
            return TRUE if word == "true" else -TRUE
        if _DECIMAL.fullmatch(word):
            return Sum({}, Fraction(word))
        raise RejectedError(f"unknown word: {_shown(word)}")

    def ite(self, condition: int, then: int | Sum, otherwise: int | Sum) -> int | Sum:
        problem = self.problem
        if isinstance(then, int) and isinstance(otherwise, int):
            return problem.choice(condition, then, otherwise)
        if isinstance(then, int) or isinstance(otherwise, int):
            raise RejectedError("a choice between a formula and a number")
        # A question cannot declare a name that begins with #, so the name is new.
        name = f"#{len(problem.reals) + 1}"
        problem.reals.add(name)
        chosen = Sum({name: ONE}, ZERO)
        for guard, branch in ((condition, then), (-condition, otherwise)):
            is_branch = problem.equality(chosen, branch)
            problem.clauses.append((problem.disjunction([-guard, is_branch]),))
        return chosen

    def apply(self, word: str, parts: list[int | Sum]) -> int | Sum:
        literals = [part for part in parts if isinstance(part, int)]
        if len(literals) == len(parts):
            return self.boolean(word, literals)
        if not literals:
            return self.arithmetic(word, [part for part in parts if isinstance(part, Sum)])
        raise RejectedError(f"formulas and numbers under one {_shown(word)}")

    def boolean(self, word: str, parts: list[int]) -> int:
        problem = self.problem
        match word, parts:
            case "not", [one]:
                return -one
            case "and", _:
                return problem.conjunction(parts)
            case "or", _:
                return problem.disjunction(parts)
            case "=>", [one, other]:
                return problem.disjunction([-one, other])
            case "=", [one, other]:
                return problem.choice(one, other, -other)
            case "xor" | "distinct", [one, other]:
                return problem.choice(one, -other, other)
        raise RejectedError(f"unknown connective: {_shown(word)} of {len(parts)}")

    def arithmetic(self, word: str, parts: list[Sum]) -> int | Sum:
        problem, (first, *others) = self.problem, parts
        match word:
            case "-" if not others:
                return problem.sum([(MINUS_ONE, first)])
            case "+" | "-":
                factor = ONE if word == "+" else MINUS_ONE
                return problem.sum([(ONE, first), *((factor, part) for part in others)])
            case "*" if sum(bool(part.terms) for part in parts) <= 1:
                product = Sum({}, ONE)
                for part in parts:
                    one, other = (part, product) if not product.terms else (product, part)
                    product = problem.sum([(other.constant, one)])
                return product
            case "/" if len(others) == 1 and not others[0].terms and others[0].constant:
                return problem.sum([(1 / others[0].constant, first)])
            case "<=" | "<" if len(others) == 1:
                return problem.atom(first, others[0], is_strict=word == "<")
            case ">=" | ">" if len(others) == 1:
                return problem.atom(others[0], first, is_strict=word == ">")
            case "=" | "distinct" if len(others) == 1:
                literal = problem.equality(first, others[0])
                return literal if word == "=" else -literal
        raise RejectedError(f"not linear arithmetic: {_shown(word)} of {len(parts)}")


def _name(word: str) -> str:
    if _RESERVED.fullmatch(word) or not _SYMBOL.fullmatch(word):
        raise RejectedError(f"not a name that can be given a meaning: {_shown(word)}")
    return word


def accept(question: str, certificate: str) -> int:
    """Check a certificate against a question, both as text, and return the number of the certificate's lines."""
    for text, name, limit in ((question, "question", MAX_QUESTION), (certificate, "certificate", MAX_CERTIFICATE)):
        if len(text) > limit or not text.isascii():
            raise RejectedError(f"the {name} is longer than {limit} bytes, or is not ASCII")
    try:
        work = WORK_PER_BYTE * (len(question) + len(certificate)) + WORK
        return check(read(question, work), certificate.removesuffix("\n").split("\n"))
    except (MemoryError, RecursionError):
        raise RejectedError("too large for the memory of this machine") from None


def check(problem: Problem, certificate: Iterable[str]) -> int:
    """Check every line of a certificate, and return the number of lines.

    The atoms that the certificate defines are added to `problem`.
    """
    clauses, is_refuted, number = list(problem.clauses), False, 0
    for number, line in enumerate(certificate, start=1):
        try:
            if is_refuted:
                raise RejectedError("a step behind the empty clause")
            kind, *words = line.split(" ")
            if kind == "a":
                _define(problem, words)
            else:
                clauses.append(_follow(problem, clauses, kind, words))
                is_refuted = not clauses[-1]
        except RejectedError as error:
            raise RejectedError(f"line {number}: {error}") from None
    if not is_refuted:
        raise RejectedError("the empty clause is never reached")
    return number


def _define(problem: Problem, words: list[str]) -> None:
    """Add the atom that a line defines. The atom must be new and in normal form."""
    if len(words) < 5 or len(words) % 2 == 0 or words[0] != str(problem.literals + 1) or words[1] not in ("le", "lt"):
        raise RejectedError(f"not an atom with the number {problem.literals + 1}")
    variables, coefficients = words[3::2], [_rational(word) for word in words[4::2]]
    if not problem.reals.issuperset(variables) or any(one >= other for one, other in pairwise(variables)):
        raise RejectedError("an atom of variables that are not the question's, or not in order")
    atom = Constraint(tuple(zip(variables, coefficients, strict=True)), 1, _rational(words[2]), words[1] == "lt")
    if coefficients[0] != 1 or not all(coefficients) or str(problem.literal(atom)) != words[0]:
        raise RejectedError("an atom that is not in normal form, or is there already")


def _follow(problem: Problem, clauses: list[Clause], kind: str, words: list[str]) -> Clause:
    """Check that the clause of a line follows from `clauses`, and return the clause."""
    if kind not in ("f", "r") or words[:1] != [str(len(clauses) + 1)] or "0" not in words:
        raise RejectedError(f"not a step: a clause with the number {len(clauses) + 1}, its end, and why it follows")
    cut = words.index("0")
    clause, reasons = tuple(map(_integer, words[1:cut])), words[cut + 1 :]
    if len(set(map(abs, clause))) < len(clause) or not all(abs(literal) <= problem.literals for literal in clause):
        raise RejectedError("a clause with a literal that does not exist, or twice with one atom")
    if kind == "f":
        factors = list(map(_rational, reasons))
        if len(factors) != len(clause):
            raise RejectedError(f"Farkas: {len(factors)} factors for {len(clause)} literals")
        used = [(literal, factor) for literal, factor in zip(clause, factors, strict=True) if factor]
        if not all(abs(literal) in problem.atoms for literal, _ in used):
            raise RejectedError("Farkas: a literal that is not an inequality")
        check_farkas(problem, [(denied(problem, literal), factor) for literal, factor in used])
        return clause
    numbers = list(map(_integer, reasons))
    if not all(0 < number <= len(clauses) for number in numbers):
        raise RejectedError("propagation: a clause that is not there")
    problem.spend(sum(len(clauses[number - 1]) for number in numbers))
    check_propagation(clause, [clauses[number - 1] for number in numbers])
    return clause


def denied(problem: Problem, literal: int) -> Constraint:
    """Return the negation of a literal as an inequality ``sign * vector <= bound`` or ``<``."""
    atom = problem.atoms[abs(literal)]
    return atom if literal < 0 else Constraint(atom.vector, -1, -atom.bound, not atom.is_strict)


def check_farkas(problem: Problem, scaled: list[tuple[Constraint, Fraction]]) -> None:
    """Check that the sum of the constraints, each times its positive factor, is ``0 <= negative`` or ``0 < 0``."""
    total, bound, is_strict = dict[str, Fraction](), ZERO, False
    for constraint, factor in scaled:
        if factor <= 0:
            raise RejectedError("Farkas: a factor is negative")
        signed = constraint.sign * factor
        for variable, coefficient in constraint.vector:
            total[variable] = problem.plus(total.get(variable, ZERO), signed, coefficient)
        if constraint.bound:
            bound = problem.plus(bound, factor, constraint.bound)
        is_strict = is_strict or constraint.is_strict
    if any(total.values()):
        raise RejectedError("Farkas: the variables do not cancel")
    if bound > 0 or (bound == 0 and not is_strict):
        raise RejectedError(f"Farkas: 0 {'<' if is_strict else '<='} {bound} is not a contradiction")


def check_propagation(clause: Clause, reasons: list[Clause]) -> None:
    """Check that `clause` follows from the clauses `reasons` by unit propagation.

    All literals of `clause` are assumed false. Each reason, in this order, must then have one literal that is not
    false, which becomes true, until a reason has no such literal.
    """
    true = {-literal for literal in clause}
    for reason in reasons:
        left = {literal for literal in reason if -literal not in true}
        if not left:
            return
        if len(left) > 1:
            raise RejectedError("propagation: a clause has more than one literal left")
        true |= left
    raise RejectedError("propagation: no contradiction is reached")


def main(arguments: list[str]) -> int:
    """Check a certificate against a question, and return the exit code.

    The exit code is 0 if the certificate is accepted, 1 if it is rejected, and 2 for wrong usage or an unreadable file.
    """
    texts = []
    try:
        for path, limit in zip(arguments, (MAX_QUESTION, MAX_CERTIFICATE), strict=True):
            with Path(path).open("rb") as file:
                # latin-1 maps each byte to one character; `accept` rejects texts with characters that are not ASCII.
                texts.append(file.read(limit + 1).decode("latin-1"))
        sys.stdout.write(f"accepted: unsatisfiable, {accept(*texts)} steps, none on trust\n")
    except (OSError, ValueError) as error:
        sys.stderr.write(f"error: {str(error)!a}; usage: checker.py QUESTION CERTIFICATE\n")
        return 2
    except RejectedError as error:
        sys.stdout.write(f"rejected: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
