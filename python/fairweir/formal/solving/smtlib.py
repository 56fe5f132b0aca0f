"""SMT-LIB 2 text: questions for solvers, and exact numbers from their answers.

z3's printer writes the formulas, and all solvers get the same text. Values in answers are parsed as fractions.
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
    """Return the constants that `text` declares, in its notation, with their sorts."""
    return dict(_DECLARED.findall(text))


def assert_all(formulas: Iterable[z3.BoolRef], known: Iterable[str] = ()) -> str:
    """Write declarations and assertions.

    Parameters
    ----------
    formulas : z3's Booleans
    known : constants declared before, as written in SMT-LIB

    Returns
    -------
    str, SMT-LIB 2 without logic and commands
    """
    import z3

    solver = z3.Solver()
    solver.add(list(formulas))
    text = str(solver.sexpr())
    before = frozenset(known)
    return _DECLARED.sub(lambda found: "" if found[1] in before else found[0], text) if before else text


def words(text: str) -> Iterator[str]:
    """Yield brackets, symbols and literals one by one."""
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
    """Read a rational literal: ``3``, ``2.5``, ``(/ 1 2)``, ``(- (/ 1.0 2.0))``.

    Raises
    ------
    SolverError : not a rational number, such as an algebraic number
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
    """Write an expression in SMT-LIB notation."""
    return tree if isinstance(tree, str) else f"({' '.join(map(write, tree))})"


def values(text: str, names: Sequence[str]) -> dict[str, Value]:
    """Read the answer to ``(get-value ...)``.

    Parameters
    ----------
    text : the solver's output
    names : the constants requested, in order; quotes of SMT-LIB are removed

    Returns
    -------
    dict from name to its exact value; every name has one

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
