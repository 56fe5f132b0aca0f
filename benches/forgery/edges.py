"""Proofs that need exactly the work that their length allows, or a unit more."""

from __future__ import annotations

from fairweir.formal.certificates.checker import WORK, WORK_PER_BYTE, check, read

#: Literals of the longer clause; naming it costs more than the letters of its number allow.
LENGTH = 600


def lengthen(question: str) -> str:
    """Add Booleans, and two clauses of them at the end: one has `LENGTH` literals, the other one less."""
    names = [f"long.{i}" for i in range(LENGTH)]
    declared = "".join(f"(declare-fun {name} () Bool)" for name in names)
    clauses = f"(assert (or {' '.join(names[1:])}))(assert (or {' '.join(names)}))"
    longer = question.replace("(check-sat)", f"{declared}{clauses}(check-sat)", 1)
    # Their numbers are to have as many digits, so that one is named instead of the other without a longer text.
    ends = len(read(longer).clauses) % 10 == 0
    return longer.replace(clauses, f"(assert (or {names[0]} {names[1]})){clauses}") if ends else longer


def exhaust(question: str, lines: list[str], units: int) -> list[str]:
    """Put a step before the last one so that the proof needs this number of units above its limit.

    Parameters
    ----------
    question, lines : a lengthened question, and its proof
    """
    *steps, last = lines
    kind, number, *words = last.split(" ")
    last = " ".join([kind, str(int(number) + 1), *words])
    clauses = read(question).clauses
    short, long = len(clauses) - 1, len(clauses)
    copied = ["r", number, *map(str, clauses[long - 1]), "0", str(long)]
    left = _left(question, [*steps, " ".join(copied), last])
    names, extra = divmod(left, LENGTH - 1 - WORK_PER_BYTE * (1 + len(str(long))))
    # What is left now is as many units as there are names of the longer clause among those of the shorter one.
    filler = [str(long)] * (extra + units) + [str(short)] * (names - extra - units)
    return [*steps, " ".join(copied + filler), last]


def _left(question: str, lines: list[str]) -> int:
    """Return the units that a proof leaves."""
    allowed = WORK_PER_BYTE * (len(question) + sum(len(line) + 1 for line in lines)) + WORK
    problem = read(question, allowed)
    check(problem, lines)
    return int(problem.work)
