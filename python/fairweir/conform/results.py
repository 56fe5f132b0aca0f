"""Results of comparisons with a reference, as documents."""

from __future__ import annotations

import csv
import io
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from fairweir import __version__
from fairweir.conform.judge import Cell, Difference, Standing
from fairweir.conform.mechanisms import Mechanism
from fairweir.documents.arguments import words_for_enums
from fairweir.judging.outcome import Interval, Outcome

#: Minimum fraction of the judged scenarios in which a controller conforms.
BOUND: Final = 0.80
_INTERVALS: Final = ("conformance", "yardstick", "translated", "offset_mbps", "offset_ms")
_DIFFERENCES: Final = ("difference", "throughput_mbps", "delay_ms")


class Conformance(BaseModel):
    """A controller compared with its reference in all scenarios.

    Attributes
    ----------
    cca, reference : str, as typed
    cca_version, reference_version : str; the version of the QUIC stack or of Linux, empty for controllers of fairweir
    cells : list of Cell, scenario by scenario
    """

    model_config = ConfigDict(extra="forbid")

    cca: str
    reference: str
    cca_version: str = ""
    reference_version: str = ""
    cells: list[Cell]

    @words_for_enums
    def count(self, standing: Standing) -> int:
        """Return the number of scenarios with this standing."""
        return sum(cell.standing is standing for cell in self.cells)

    @property
    def judged(self) -> list[Cell]:
        """The scenarios with a verdict, including undecided ones."""
        return [cell for cell in self.cells if cell.standing not in (Standing.NOT_JUDGED, Standing.NOT_RUN)]

    @property
    def share(self) -> float | None:
        """Scenarios in which the controller conforms, divided by judged scenarios; None if none is judged."""
        return self.count(Standing.CONFORMS) / len(self.judged) if self.judged else None

    @property
    def standing(self) -> Standing:
        """Overall verdict: ``conforms`` in at least 80 % of the judged scenarios, ``differs`` in more than 20 %."""
        if not self.judged:
            return Standing.NOT_RUN if self.count(Standing.NOT_RUN) else Standing.NOT_JUDGED
        if self.count(Standing.CONFORMS) >= BOUND * len(self.judged):
            return Standing.CONFORMS
        if self.count(Standing.DIFFERS) > (1 - BOUND) * len(self.judged):
            return Standing.DIFFERS
        return Standing.UNDECIDED

    def mean(self, name: str) -> float | None:
        """Return the mean over judged scenarios of an Interval or Difference of :class:`Cell`, by its name."""
        found: list[Interval | Difference | None] = [getattr(cell, name) for cell in self.judged]
        values = [one.value for one in found if one is not None]
        return sum(values) / len(values) if values else None

    @property
    def mechanisms(self) -> list[tuple[Mechanism, int]]:
        """The mechanisms that differ in scenarios in which the controller does not conform, each from its clearest
        scenario.

        Returns
        -------
        list of (Mechanism, number of scenarios); those with a known cause first, then in the order of their frequency
        """
        seen: dict[str, list[Mechanism]] = {}
        for cell in self.judged:
            if cell.standing is not Standing.CONFORMS:
                for one in cell.mechanisms:
                    seen.setdefault(one.measure, []).append(one)
        found = [(max(ones, key=_clarity), len(ones)) for ones in seen.values()]
        return sorted(found, key=lambda pair: (not pair[0].cause, -pair[1]))


class Report(BaseModel):
    """All comparisons of one command.

    Attributes
    ----------
    facts : dict; the kernel, the host and the emulator, if a side is the kernel
    comparisons : list of Conformance
    """

    model_config = ConfigDict(extra="forbid")

    version: str = __version__
    command: str = ""
    seeds: int
    scenarios: dict[str, str]
    facts: dict[str, str] = {}
    bound: float = BOUND
    comparisons: list[Conformance]

    @property
    def outcome(self) -> Outcome:
        """``fails`` if any controller differs; otherwise ``unknown`` if any is undecided; otherwise ``holds``."""
        outcomes = {one.standing.outcome for one in self.comparisons}
        if Outcome.FAILS in outcomes:
            return Outcome.FAILS
        return Outcome.HOLDS if outcomes == {Outcome.HOLDS} else Outcome.UNKNOWN

    def document(self) -> dict[str, Any]:
        """Return the output of ``--json``."""
        found = self.model_dump(mode="json")
        for table, one in zip(found["comparisons"], self.comparisons, strict=True):
            table |= {
                "standing": one.standing.value,
                "share": one.share,
                "counts": {standing.value.replace(" ", "_"): one.count(standing) for standing in Standing},
            }
        return {**found, "outcome": self.outcome.value}

    def csv(self) -> str:
        """Return one row per controller and scenario."""
        text = io.StringIO()
        ends = [f"{name}{end}" for name in _INTERVALS for end in ("", "_lo", "_hi")]
        ends += [f"{name}{end}" for name in _DIFFERENCES for end in ("", "_lo", "_hi", "_allowed")]
        names = ["cca", "cca_version", "reference", "reference_version", "scenario", "arrangement", "standing"]
        out = csv.writer(text, lineterminator="\n")
        out.writerow([*names, *ends, "mechanisms"])
        for one in self.comparisons:
            for cell in one.cells:
                numbers: list[float | None] = []
                for name in _INTERVALS:
                    found: Interval | None = getattr(cell, name)
                    numbers += [None] * 3 if found is None else [found.value, found.lo, found.hi]
                for name in _DIFFERENCES:
                    other: Difference | None = getattr(cell, name)
                    numbers += [None] * 4 if other is None else [other.value, other.lo, other.hi, other.allowed]
                about = [
                    one.cca,
                    one.cca_version,
                    one.reference,
                    one.reference_version,
                    cell.scenario,
                    cell.arrangement,
                ]
                words = "; ".join(map(str, cell.mechanisms))
                out.writerow([*about, cell.standing.value, *numbers, words])
        return text.getvalue()


def _clarity(mechanism: Mechanism) -> tuple[bool, float]:
    """Return a key by which the clearest of several scenarios is the largest: a known cause, then the difference."""
    candidate, reference = mechanism.candidate.value, mechanism.reference.value
    return bool(mechanism.cause), abs(candidate - reference) / max(abs(candidate), abs(reference), 1e-12)
