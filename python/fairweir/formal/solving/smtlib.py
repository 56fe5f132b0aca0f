"""SMT-LIB 2 text: write questions for SMT solvers, and read exact numbers from the solvers' answers.

z3's printer writes the formulas, and all solvers get the same text. Values in answers are parsed as fractions. A
constant of SMT-LIB is an unknown, to which a solver assigns a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from fairweir.errors import SolverError

if TYPE_CHECKING:
    import z3

Value = Fraction | bool
#: An SMT-LIB expression as nested lists of words.
Tree = str | list["Tree"]

_WORD = re.compile(r'\|[^|]*\||"(?:[^"]|"")*"|[()]|[^\s()]+')
_DECLARED = re.compile(r"^\(declare-fun (\|[^|]*\||\S+) \(\) (\w+)\)", re.MULTILINE)


def declared(text: str) -> dict[str, str]:
    """Return a dict from each constant that `text` declares, as written there, to the constant's sort (type)."""
    return dict(_DECLARED.findall(text))


def assert_all(formulas: Iterable[z3.BoolRef], known: Iterable[str] = ()) -> str:
    """Return declarations of constants and assertions of formulas as SMT-LIB text.

    Parameters
    ----------
    formulas : z3's Booleans
    known : constants, as written in SMT-LIB, that an earlier text declares and this text must not declare again

    Returns
    -------
    str, SMT-LIB 2 without the logic and without commands such as ``(check-sat)``
    """
    import z3

    solver = z3.Solver()
    solver.add(list(formulas))
    text = str(solver.sexpr())
    before = frozenset(known)
    return _DECLARED.sub(lambda found: "" if found[1] in before else found[0], text) if before else text


def words(text: str) -> Iterator[str]:
    """Yield the brackets, symbols and literals of SMT-LIB text in order."""
    return (found[0] for found in _WORD.finditer(text))


def parse(text: str) -> list[Tree]:
    """Parse the expressions in `text`.

    Raises
    ------
    SolverError : brackets do not match
    """
    stack: list[list[Tree]] = [[]]
    for word in words(text):
        if word == "(":
            stack.append([])
        elif word == ")" and len(stack) > 1:
            done = stack.pop()
            stack[-1].append(done)
        elif word == ")":
            break
        else:
            stack[-1].append(word)
    else:
        if len(stack) == 1:
            return stack[0]
    raise SolverError(f"unbalanced brackets in a solver's output: `{text[:80]}`")


def number(tree: Tree) -> Fraction:
    """Return the value of a rational literal: ``3``, ``2.5``, ``(/ 1 2)``, ``(- (/ 1.0 2.0))``.

    Raises
    ------
    SolverError : the expression is not a rational number; for example, it is an algebraic number
    """
    if isinstance(tree, str):
        try:
            return Fraction(tree)
        except (ValueError, ZeroDivisionError):
            raise SolverError(f"not a rational number: `{tree}`") from None
    match tree:
        case ["-", one]:
            return -number(one)
        case ["/", over, under]:
            return number(over) / number(under)
        case ["to_real", one]:
            return number(one)
    raise SolverError(f"not a rational number: `{write(tree)}`")


def write(tree: Tree) -> str:
    """Return an expression in SMT-LIB notation."""
    return tree if isinstance(tree, str) else f"({' '.join(map(write, tree))})"


def values(text: str, names: Sequence[str]) -> dict[str, Value]:
    """Return the values in a solver's answer to ``(get-value ...)``.

    Parameters
    ----------
    text : the solver's output
    names : the constants whose values were requested, in the order of the request

    Returns
    -------
    dict from each name, without SMT-LIB's quotes, to its exact value

    Raises
    ------
    SolverError : the answer does not have exactly one pair per constant
    """
    trees = parse(text)
    pairs = trees[0] if len(trees) == 1 else trees
    if isinstance(pairs, str) or len(pairs) != len(names):
        raise SolverError(f"missing values of constants in a solver's output: `{text[:120]}`")
    found: dict[str, Value] = {}
    for name, pair in zip(names, pairs, strict=True):
        if isinstance(pair, str) or len(pair) != 2 or pair[0] != name:
            raise SolverError(f"a solver gave no value for `{name}`: `{write(pair)}`")
        found[name.strip("|")] = pair[1] == "true" if pair[1] in ("true", "false") else number(pair[1])
    return found
