"""The reference of an audit: another CCA of the same audit, or the results of a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fairweir import _core
from fairweir.audit.battery import BUDGETS
from fairweir.audit.exhibits.family import Depth, Subject
from fairweir.audit.exhibits.registry import FAMILIES
from fairweir.audit.results import AuditResults, CcaResults
from fairweir.audit.world import check_world, hosted
from fairweir.documents.arguments import words_for_enums
from fairweir.documents.store import fingerprint
from fairweir.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_SEEDS = 1000
"""As for ``--seeds``: a baseline may come from someone else."""
ANY_CCA = "CCA"
"""Stands for the name of the CCA in fingerprints."""


@dataclass(frozen=True)
class Contest:
    """The reference of an audit.

    Attributes
    ----------
    rivals : tuple of each candidate with the name of its reference in this audit; the name is empty if the reference
        comes from the baseline
    baseline : AuditResults or None, results of an earlier audit that has the reference
    source : str, name or file of the baseline
    """

    rivals: tuple[tuple[Subject, str], ...]
    baseline: AuditResults | None = None
    source: str = ""

    @classmethod
    @words_for_enums
    def with_baseline(cls, baseline: AuditResults, depth: Depth, candidates: Sequence[Subject]) -> Contest:
        """Compare with the CCAs of the same names in a baseline, or with its only CCA; on the same hosts.

        Raises
        ------
        ConfigError : another world or battery, no runs that confirm differences, or no CCA to compare with
        """
        for one in candidates:
            check_world(baseline.world, one.world)
        if baseline.depth != depth:
            raise ConfigError(
                f"the baseline is an audit of depth `{baseline.depth}`, and this audit has depth `{depth}`",
                hint="use the same option as the baseline: --quick, --deep or neither",
            )
        if not baseline.new_seeds or not baseline.seeds:
            raise ConfigError(
                "the baseline has no runs that confirm differences", hint="write it with `audit --save-baseline NAME`"
            )
        if len(baseline.seeds) > MAX_SEEDS or len(baseline.new_seeds) > MAX_SEEDS or baseline.seeds[0] < 0:
            raise ConfigError(f"the baseline has more than {MAX_SEEDS} seeds, or negative ones")
        contest = cls(tuple((one, "") for one in candidates), baseline, baseline.source)
        for one in candidates:
            contest.of(one)
        return contest

    @property
    def version(self) -> str:
        """The version of fairweir that ran the reference; empty for this one."""
        return self.baseline.version if self.baseline is not None else ""

    def of(self, candidate: Subject) -> CcaResults:
        """Return the results in the baseline that a candidate is compared with.

        Raises
        ------
        ConfigError : the baseline has several CCAs on such hosts, and none of that name
        """
        known = self.baseline.ccas if self.baseline is not None else []
        alike = [one for one in known if one.wake == candidate.wake]
        found = next((one for one in alike if one.cca == candidate.name), alike[0] if len(alike) == 1 else None)
        if found is None:
            raise ConfigError(
                f"the baseline has no results of `{candidate.name}`",
                hint=f"it has {', '.join(one.cca for one in known)}" if known else "it has no CCA",
            )
        return found

    def pairs(self, judged: Callable[[str], CcaResults]) -> Iterator[tuple[str, CcaResults]]:
        """Yield each candidate with the results of its reference.

        Parameters
        ----------
        judged : returns the results so far of a CCA of this audit
        """
        for candidate, reference in self.rivals:
            yield candidate.name, self.of(candidate) if self.baseline is not None else judged(reference)

    def notes(self) -> list[str]:
        """Return reasons for care."""
        if self.baseline is None or self.baseline.version == _core.__version__:
            return []
        return [
            f"the baseline ran on fairweir {self.baseline.version}, this audit on {_core.__version__}: a difference"
            " may come from fairweir"
        ]


@words_for_enums
def scenarios_of(family: str, depth: Depth, subject: Subject) -> str:
    """Return the fingerprint of a family's scenarios for a subject, without the name of its CCA."""
    anyone = replace(subject, name=ANY_CCA, cca=ANY_CCA, seed_shift=0)
    found, patience = FAMILIES[family], BUDGETS[depth].patience
    return fingerprint(*(hosted(found.scenario(anyone, at, 1, patience), anyone) for at in found.places[depth]))
