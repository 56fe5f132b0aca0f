"""Violations: conditions that a trace does not satisfy. A condition is one of the network, of the beliefs or of a
sender.

A trace is the value of each curve (such as bytes sent, served and lost) at each sample point.

A belief is a bound on the network that a flow infers from what it observes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Violation:
    """A condition that a trace violates at one sample point.

    Attributes
    ----------
    rule : str, name of the violated condition of the model, the beliefs or the sender
    t : int, the sample point
    flow : int, index of the flow; None if the condition is about the whole network
    text : str, the actual and the expected value
    """

    rule: str
    t: int
    flow: int | None
    text: str

    def __str__(self) -> str:
        """Return the violation as one line."""
        where = f"t = {self.t}" if self.flow is None else f"t = {self.t}, flow {self.flow}"
        return f"{self.rule} at {where}: {self.text}"


@dataclass(frozen=True)
class Report:
    """Creates the violations of one flow or, if `flow` is None, of the whole network."""

    flow: int | None = None

    def unless(self, holds: bool, rule: str, t: int, text: str) -> Iterator[Violation]:
        """Yield a violation if `holds` is false.

        Parameters
        ----------
        holds : bool, whether the trace satisfies the condition
        rule : str, name of the condition
        t : int, the sample point
        text : str, description of the violation
        """
        if not holds:
            yield Violation(rule, t, self.flow, text)

    def equal(self, name: str, found: Fraction, expected: Fraction, rule: str, t: int) -> Iterator[Violation]:
        """Yield a violation if `found` differs from `expected`.

        Parameters
        ----------
        name : str, name of the quantity
        found : the quantity's value
        expected : the required value
        rule : str, name of the condition
        t : int, the sample point
        """
        yield from self.unless(found == expected, rule, t, f"{name} is {found}, should be {expected}")

    def within(
        self, name: str, low: Fraction, found: Fraction, high: Fraction, rule: str, t: int
    ) -> Iterator[Violation]:
        """Yield a violation if `found` is below `low` or above `high`.

        Parameters
        ----------
        name : str, name of the quantity
        low : minimum
        found : the quantity's value
        high : maximum
        rule : str, name of the condition
        t : int, the sample point
        """
        yield from self.unless(low <= found <= high, rule, t, f"{name} is {found}, should be in [{low}, {high}]")


#: Creates violations of the whole network.
NETWORK = Report()


def rising(curve: tuple[Fraction, ...], name: str, report: Report) -> Iterator[Violation]:
    """Yield a violation for each step in which a curve falls.

    Parameters
    ----------
    curve : the value at each point
    name : str, name of the curve
    report : Report, creates the violations
    """
    for t in range(1, len(curve)):
        yield from report.unless(
            curve[t] >= curve[t - 1], "curves", t, f"{name} falls from {curve[t - 1]} to {curve[t]}"
        )
