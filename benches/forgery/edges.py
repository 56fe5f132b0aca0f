"""Proofs that need exactly the work that the limit for their length allows, or one unit more."""

from __future__ import annotations

from fairweir.formal.certificates.checker import WORK, WORK_PER_BYTE, check, read

#: Number of literals of the longer clause; a reference to it costs more work than the length of the reference adds to
#: the limit.
LENGTH = 600


def lengthen(question: str) -> str:
    """Add Booleans, and at the end two clauses of them: one with `LENGTH` literals, one with `LENGTH` - 1."""
    names = [f"long.{i}" for i in range(LENGTH)]
    declared = "".join(f"(declare-fun {name} () Bool)" for name in names)
    clauses = f"(assert (or {' '.join(names[1:])}))(assert (or {' '.join(names)}))"
    longer = question.replace("(check-sat)", f"{declared}{clauses}(check-sat)", 1)
    # The clauses' numbers must have equally many digits, so that replacing one by the other does not change the length.
    ends = len(read(longer).clauses) % 10 == 0
    return longer.replace(clauses, f"(assert (or {names[0]} {names[1]})){clauses}") if ends else longer


def exhaust(question: str, lines: list[str], units: int) -> list[str]:
    """Insert a step before the last step so that the proof needs `units` units of work above its limit.

    Parameters
    ----------
    question, lines : a lengthened question and its proof
    """
    *steps, last = lines
    kind, number, *words = last.split(" ")
    last = " ".join([kind, str(int(number) + 1), *words])
    clauses = read(question).clauses
    short, long = len(clauses) - 1, len(clauses)
    copied = ["r", number, *map(str, clauses[long - 1]), "0", str(long)]
    left = _left(question, [*steps, " ".join(copied), last])
    names, extra = divmod(left, LENGTH - 1 - WORK_PER_BYTE * (1 + len(str(long))))
    # The remaining work determines how many references to the longer clause replace references to the shorter one.
    filler = [str(long)] * (extra + units) + [str(short)] * (names - extra - units)
    return [*steps, " ".join(copied + filler), last]


def _left(question: str, lines: list[str]) -> int:
    """Return the units of work that remain after a proof."""
    allowed = WORK_PER_BYTE * (len(question) + sum(len(line) + 1 for line in lines)) + WORK
    problem = read(question, allowed)
    check(problem, lines)
    return int(problem.work)
