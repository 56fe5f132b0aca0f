"""Unit propagation that records the premises of each conclusion.

A clause is a disjunction of literals, which are integers; a negative integer is a negated literal. If all literals of a
clause but one are false, unit propagation makes the last one true. Two literals of each clause are watched (Moskewicz
et al. 2001), so that a clause is examined only when a watched literal becomes false.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

Clause = tuple[int, ...]


@dataclass
class Propagation:
    """Clauses with numbers, the literals that follow by unit propagation, and the clause that made each literal true.

    Attributes
    ----------
    refuted_by : numbers of clauses that together contradict each other; None if no contradiction is known
    """

    refuted_by: list[int] | None = None
    _clauses: dict[int, list[int]] = field(default_factory=dict)
    _watching: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    _reason: dict[int, int] = field(default_factory=dict)
    """For each true literal, the number of the clause that made it true; 0 if the literal is an assumption."""
    _trail: list[int] = field(default_factory=list)
    _done: int = 0

    def add(self, number: int, clause: Iterable[int]) -> None:
        """Add a clause with its number, and make true the literals that follow."""
        if self.refuted_by is not None:
            return
        literals = sorted(set(clause), key=lambda literal: -literal in self._reason)
        if any(-literal in literals for literal in literals):
            return
        self._clauses[number] = literals
        free = sum(-literal not in self._reason for literal in literals)
        if len(literals) > 1:
            for literal in literals[:2]:
                self._watching[literal].append(number)
        if free == 0:
            self.refuted_by = self._explain(number)
        elif free == 1 and literals[0] not in self._reason:
            self._set(literals[0], number)
            conflict = self._propagate()
            if conflict:
                self.refuted_by = self._explain(conflict)

    def follows(self, clause: Iterable[int]) -> list[int] | None:
        """Return the numbers of the clauses, in order of use, from which unit propagation derives `clause`; None if it
        does not.
        """
        if self.refuted_by is not None:
            return self.refuted_by
        before = len(self._trail)
        conflict = self._deny(clause)
        reasons = self._explain(conflict) if conflict else None
        self._forget(before)
        return reasons

    def consequences(self, clause: Iterable[int] = ()) -> list[int]:
        """Return the literals that unit propagation makes true if all literals of `clause` are assumed false."""
        before = len(self._trail)
        self._deny(clause)
        literals = list(self._trail)
        self._forget(before)
        return literals

    def _deny(self, clause: Iterable[int]) -> int:
        """Assume that all literals of a clause are false, and propagate.

        Return the number of a clause whose literals are all false, or 0.
        """
        for literal in clause:
            if literal in self._reason:
                return self._reason[literal]
            if -literal not in self._reason:
                self._set(-literal, 0)
        return self._propagate()

    def _forget(self, before: int) -> None:
        for literal in self._trail[before:]:
            del self._reason[literal]
        del self._trail[before:]
        self._done = before

    def _set(self, literal: int, reason: int) -> None:
        self._reason[literal] = reason
        self._trail.append(literal)

    def _propagate(self) -> int:
        """Propagate from the true literals. Return the number of a clause whose literals are all false, or 0."""
        true, clauses = self._reason, self._clauses
        while self._done < len(self._trail):
            false = -self._trail[self._done]
            self._done += 1
            numbers = self._watching[false]
            kept: list[int] = []
            for position, number in enumerate(numbers):
                literals = clauses[number]
                if literals[0] == false:
                    literals[0], literals[1] = literals[1], false
                first = literals[0]
                if first in true:
                    kept.append(number)
                    continue
                for i in range(2, len(literals)):
                    if -literals[i] not in true:
                        literals[1], literals[i] = literals[i], false
                        self._watching[literals[1]].append(number)
                        break
                else:
                    kept.append(number)
                    if -first in true:
                        self._watching[false] = kept + numbers[position + 1 :]
                        return number
                    self._set(first, number)
            self._watching[false] = kept
        return 0

    def _explain(self, conflict: int) -> list[int]:
        """Return the numbers of the clauses that lead to the false clause `conflict`, in the order in which they were
        used.
        """
        wanted = {-literal for literal in self._clauses[conflict]}
        used = [conflict]
        for literal in reversed(self._trail):
            if literal in wanted and self._reason[literal]:
                number = self._reason[literal]
                used.append(number)
                wanted.update(-other for other in self._clauses[number] if other != literal)
        return used[::-1]
