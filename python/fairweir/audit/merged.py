"""Audits put next to each other: the CCAs of several documents in one, for a comparison's page."""

from __future__ import annotations

from collections.abc import Sequence

from fairweir.audit.baseline import compare
from fairweir.audit.results import AuditResults, Comparison
from fairweir.errors import ConfigError


def aligned(first: AuditResults, other: AuditResults) -> AuditResults:
    """Return `first` with the names of the CCAs in `other`, if both are audits of one CCA and these differ.

    Raises
    ------
    ConfigError : the audits have no CCA in common and several CCAs, or ran other batteries or worlds
    """
    for what, one, two in (("battery", first.depth, other.depth), ("world", first.world, other.world)):
        if one != two:
            reason = f"audits of one {what} are compared: `{one}` and `{two}`"
            raise ConfigError(reason, hint="audit both with the same options")
    if any(first.cca(cca.cca) is not None for cca in other.ccas):
        return first
    hosts = {cca.wake: cca.cca for cca in other.ccas}
    is_one_each = len(first.ccas) == len(other.ccas) == len(hosts)
    if not is_one_each or {cca.wake for cca in first.ccas} != hosts.keys():
        names = [", ".join(cca.cca for cca in audit.ccas) or "none" for audit in (first, other)]
        raise ConfigError(
            f"the audits have no CCA in common: {names[0]}; {names[1]}",
            hint="compare audits of the same CCAs, or of one CCA each",
        )
    return first.model_copy(update={"ccas": [cca.model_copy(update={"cca": hosts[cca.wake]}) for cca in first.ccas]})


def merged(audits: Sequence[AuditResults], labels: Sequence[str], command: str) -> AuditResults:
    """Return the CCAs of several audits in one document; of two, with the changes from the first to the second.

    Parameters
    ----------
    audits : at least two
    labels : the name of each audit, which follows those of its CCAs if a CCA is in several audits
    command : the command line, for the record
    """
    names = [cca.cca for audit in audits for cca in audit.ccas]
    is_unique = len(set(names)) == len(names)

    def name_of(cca: str, label: str) -> str:
        return cca if is_unique else f"{cca} ({label})"

    last = audits[-1]
    comparison: Comparison | None = None
    if len(audits) == 2:
        found = compare(aligned(*audits), last, labels[0])
        changes = [one.model_copy(update={"cca": name_of(one.cca, labels[-1])}) for one in found.changes]
        compared = [name_of(cca.cca, labels[-1]) for cca in last.ccas]
        comparison = found.model_copy(update={"changes": changes, "ccas": compared})
    return last.model_copy(
        update={
            "command": command,
            "ccas": [
                cca.model_copy(update={"cca": name_of(cca.cca, label)})
                for audit, label in zip(audits, labels, strict=True)
                for cca in audit.ccas
            ],
            "complete": all(audit.complete for audit in audits),
            "runs": sum(audit.runs for audit in audits),
            "packets": sum(audit.packets for audit in audits),
            "wall_s": sum(audit.wall_s for audit in audits),
            "comparison": comparison,
            "relative": [],
            "profiles": [],
        }
    )
