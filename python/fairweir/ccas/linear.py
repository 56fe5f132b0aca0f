"""Parse and evaluate linear forms, as in rule files: ``2 C_L - 1/2 alpha``, ``C_L_lambda - q_U/R``.

A rule is a CCA as data; a linear form is a sum, with rational coefficients, of these quantities (thesis chapter 4). The
bounds among them are beliefs: a sender computes them from what it observed.

========== ============================== ==========
name       symbol                         unit
========== ============================== ==========
C_L        C_L, lower bound on the rate   data/time
C_U        C_U, upper bound on the rate   data/time
C_L_lambda C_{L,lambda}, of CBR-delay     data/time
alpha      alpha_R = MSS/R                data/time
qdel_L     qdel_L, min queueing delay     time
R          R, propagation delay           time
q_U        q_U, max bytes in the queue    data
MSS        MSS = alpha R                  data
========== ============================== ==========

A name may be multiplied or divided by R, which changes its unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from fairweir.ccas.beliefs import QUANTITIES, Unit
from fairweir.documents.suggestions import did_you_mean

_WORD = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>[-+*/]))")


class FormError(ValueError):
    """A linear form that cannot be parsed; `hint` is a text that the user should write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Atom(NamedTuple):
    """A quantity multiplied by a power of R. For R itself, the name is empty and the power is 1."""

    name: str
    r_power: int

    @property
    def dimension(self) -> tuple[int, int]:
        """The unit of the atom: its power of data and its power of time."""
        data, time = QUANTITIES[self.name].value if self.name else (0, 0)
        return data, time + self.r_power

    def __str__(self) -> str:
        """Return the atom as rule files contain it, such as ``q_U/R``."""
        if self == Atom("alpha", 1):
            return "MSS"
        if not self.name:
            return "R"
        return self.name + {0: "", 1: " R", -1: "/R"}[self.r_power]


@dataclass(frozen=True)
class LinearForm:
    """A sum of atoms with rational coefficients that are not 0; a sum without terms is 0.

    Attributes
    ----------
    terms : tuple of (Atom, Fraction), in the order in which they were written; the fraction is the coefficient
    """

    terms: tuple[tuple[Atom, Fraction], ...]

    @property
    def unit(self) -> Unit | None:
        """The common unit of all terms; None for the form 0, which is valid with every unit."""
        return Unit(self.terms[0][0].dimension) if self.terms else None

    @property
    def names(self) -> frozenset[str]:
        """The names of the quantities in the form, without R."""
        return frozenset(atom.name for atom, _ in self.terms if atom.name)

    def value(self, quantities: Mapping[str, Fraction]) -> Fraction:
        """Return the exact value of the form; `quantities` maps R and each name in the form to a value."""
        return sum((factor * atom_value(atom, quantities) for atom, factor in self.terms), Fraction(0))

    def __sub__(self, other: LinearForm) -> LinearForm:
        """Return the difference of two forms."""
        return _collect([*self.terms, *((atom, -factor) for atom, factor in other.terms)])

    def __str__(self) -> str:
        """Return the form as rule files contain it."""
        if not self.terms:
            return "0"
        parts = []
        for i, (atom, factor) in enumerate(self.terms):
            sign = "-" if factor < 0 else "+"
            size = "" if abs(factor) == 1 else f"{abs(factor)} "
            parts.append(f"{'-' if sign == '-' else ''}{size}{atom}" if i == 0 else f"{sign} {size}{atom}")
        return " ".join(parts)


def atom_value(atom: Atom, quantities: Mapping[str, Fraction]) -> Fraction:
    """Return the exact value of an atom."""
    own = quantities[atom.name] if atom.name else Fraction(1)
    return own * quantities["R"] ** atom.r_power if atom.r_power else own


def parse_form(text: str) -> LinearForm:
    """Parse the text of a linear form.

    Raises
    ------
    FormError : the text is not a form, contains an unknown name, or has terms with different units
    """
    words = list(_words(text))
    terms: list[tuple[Atom, Fraction]] = []
    at = 0
    while at < len(words) or not terms:
        sign = 1
        if at < len(words) and words[at] in {"+", "-"}:
            sign = -1 if words[at] == "-" else 1
            at += 1
        elif terms:
            raise FormError(f"lacks a sign before `{words[at]}`", "write it like `2 C_L - 1/2 alpha`")
        end = next((i for i in range(at, len(words)) if words[i] in {"+", "-"}), len(words))
        terms.append(_term(words[at:end], sign, text))
        at = end
    form = _collect(terms)
    dimensions = {atom.dimension for atom, _ in form.terms}
    if len(dimensions) > 1:
        first, other = form.terms[0][0], next(a for a, _ in form.terms if a.dimension != form.terms[0][0].dimension)
        raise FormError(
            f"adds {_noun(first)} (`{first}`) to {_noun(other)} (`{other}`)",
            "data over time is a rate: `q_U/R`; a rate times R is data: `C_L_lambda R`",
        )
    return form


def _noun(atom: Atom) -> str:
    return Unit(atom.dimension).noun


def _words(text: str) -> Iterator[str]:
    at = 0
    while text[at:].strip():
        found = _WORD.match(text, at)
        if found is None:
            raise FormError(f"cannot be read at `{text[at:].strip()}`", "write it like `2 C_L - 1/2 alpha`")
        at = found.end()
        yield found.group().strip()


def _term(words: list[str], sign: int, text: str) -> tuple[Atom, Fraction]:
    """Parse one term, ``[number] name [* R | / R | / number]``; for the term 0, the number alone is sufficient."""
    factor, names, r_power, divides = Fraction(sign), [], 0, False
    for i, word in enumerate(words):
        if word in {"*", "/"}:
            if i in {0, len(words) - 1} or words[i - 1] in {"*", "/"}:
                raise FormError(f"has nothing to multiply or divide at `{word}`", "write it like `1/2 C_L` or `q_U/R`")
            divides = word == "/"
            continue
        if word[0].isdigit():
            number = Fraction(word)
            if divides and not number:
                raise FormError("divides by 0")
            factor *= 1 / number if divides else number
        elif word in {"R", "MSS"} or word in QUANTITIES:
            name, power = ("alpha", 1) if word == "MSS" else ("", 1) if word == "R" else (word, 0)
            if divides and name:
                raise FormError(f"divides by `{word}`, which is not linear", "only R and numbers may divide")
            r_power += -power if divides else power
            names += [name] if name else []
        else:
            raise FormError(f"has an unknown name `{word}`", did_you_mean(word, [*QUANTITIES, "R", "MSS"]))
        divides = False
    if not words:
        raise FormError("lacks a term" if text.strip() else "is empty", "write it like `2 C_L - 1/2 alpha`")
    if len(names) > 1:
        raise FormError(f"multiplies `{names[0]}` by `{names[1]}`, which is not linear", "only R may multiply a name")
    if not names and r_power == 0 and factor:
        raise FormError(f"has a number without unit, `{' '.join(words)}`", "multiply it by `alpha`, `MSS` or `R`")
    atom = Atom(names[0] if names else "", r_power)
    if factor and atom.dimension not in {unit.value for unit in Unit}:
        raise FormError(
            f"has `{' '.join(words)}`, which is neither rate, data nor time", "such as `C_L`, `q_U/R`, `qdel_L`"
        )
    return atom, factor


def _collect(terms: list[tuple[Atom, Fraction]]) -> LinearForm:
    sums: dict[Atom, Fraction] = {}
    for atom, factor in terms:
        sums[atom] = sums.get(atom, Fraction(0)) + factor
    return LinearForm(tuple((atom, factor) for atom, factor in sums.items() if factor))
