"""Violations of conditions by a trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Violation:
    """A violated condition.

    Attributes
    ----------
    rule : str, name of the violated condition of the model, the beliefs or the sender
    t : the point
    flow : index of the flow, or None for the network
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
    """Collects violations, for one flow or the network."""

    flow: int | None = None

    def unless(self, holds: bool, rule: str, t: int, text: str) -> Iterator[Violation]:
        """Yield a violation unless the rule holds.

        Parameters
        ----------
        holds : bool, the condition
        rule : str, name of the condition
        t : int, the point
        text : str, the violation
        """
        if not holds:
            yield Violation(rule, t, self.flow, text)

    def equal(self, name: str, found: Fraction, expected: Fraction, rule: str, t: int) -> Iterator[Violation]:
        """Yield a violation unless `found` equals `expected`.

        Parameters
        ----------
        name : str, name of the quantity
        found : the quantity's value
        expected : the required value
        rule : str, name of the condition
        t : int, the point
        """
        yield from self.unless(found == expected, rule, t, f"{name} is {found}, should be {expected}")

    def within(
        self, name: str, low: Fraction, found: Fraction, high: Fraction, rule: str, t: int
    ) -> Iterator[Violation]:
        """Yield a violation unless `found` lies between `low` and `high`.

        Parameters
        ----------
        name : str, name of the quantity
        low : minimum
        found : the quantity's value
        high : maximum
        rule : str, name of the condition
        t : int, the point
        """
        yield from self.unless(low <= found <= high, rule, t, f"{name} is {found}, should be in [{low}, {high}]")


#: Violations of the network itself.
NETWORK = Report()


def rising(curve: tuple[Fraction, ...], name: str, report: Report) -> Iterator[Violation]:
    """Check that a curve never falls.

    Parameters
    ----------
    curve : the value at each point
    name : str, name of the curve
    report : Report, of the curve's flow or of the network
    """
    for t in range(1, len(curve)):
        yield from report.unless(
            curve[t] >= curve[t - 1], "curves", t, f"{name} falls from {curve[t - 1]} to {curve[t]}"
        )
