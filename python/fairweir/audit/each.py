"""Audit many CCAs one after the other, resumably: each CCA has a report of its own, and finished audits are reused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fairweir.audit.exhibits.family import Depth
from fairweir.audit.folder import write_files
from fairweir.audit.results import AuditResults
from fairweir.audit.runner import run_audit
from fairweir.ccas import lookup
from fairweir.ccas.cca_spec import table_of
from fairweir.documents.arguments import words_for_enums
from fairweir.documents.filenames import slug
from fairweir.documents.store import Store, fingerprint
from fairweir.play.pool import Where
from fairweir.play.simulate import build, sources

#: Folder of the finished audits, next to the CCAs' folders.
FINISHED = "finished"


def built_in() -> list[str]:
    """Return the names of all built-in CCAs and of the controllers of QUIC stacks."""
    return list(lookup.algorithms())


@words_for_enums
def audit_each(
    ccas: Sequence[str],
    folder: Path,
    *,
    depth: Depth = Depth.DEFAULT,
    seeds: int | None = None,
    only: Iterable[str] | None = None,
    workers: Where = None,
    command: str = "",
    on_progress: Callable[[str, float], object] | None = None,
) -> list[AuditResults]:
    """Audit each of `ccas` alone, and write its report to a folder of its own.

    Parameters
    ----------
    ccas : as :func:`fairweir.audit` takes them
    folder : gets a folder per CCA with the files of its audit, and ``finished/KEY.json`` for each finished audit
    depth, seeds, only, workers : as for :func:`fairweir.audit`
    command : the command line, for the record
    on_progress : called with a description and the completed fraction of all audits

    Returns
    -------
    list of AuditResults, in the order of `ccas`

    Raises
    ------
    KeyboardInterrupt : Ctrl-C; finished audits and runs are stored, and the same call reuses them
    """
    report = on_progress or (lambda what, part: None)
    selected = sorted(only or ())
    store = Store(folder / FINISHED, _encoded, _complete)
    found = []
    for number, cca in enumerate(ccas):

        def advance(what: str, part: float, number: int = number) -> None:
            report(what, (number + part) / len(ccas))

        digest = lookup.source_digest(table_of(cca)["name"])
        key = fingerprint(build(), sources(), cca, digest, depth.value, seeds, selected)
        results = store.get(key)
        if results is None:
            try:
                results = run_audit(
                    cca,
                    depth=depth,
                    seeds=seeds,
                    only=selected or None,
                    workers=workers,
                    command=command,
                    resume_in=report_of(folder, cca).parent,
                    on_progress=advance,
                )
            except KeyboardInterrupt:
                message = f"{number} of {len(ccas)} audits are stored in {folder}/; the same call resumes"
                raise KeyboardInterrupt(message) from None
            store.put(key, results)
        target = report_of(folder, cca).parent
        target.mkdir(parents=True, exist_ok=True)
        write_files(results, target)
        found.append(results)
    return found


def report_of(folder: Path, cca: str) -> Path:
    """Return the file of a CCA's report."""
    return folder / slug(cca) / "report.html"


def _encoded(results: AuditResults) -> bytes:
    return results.to_json().encode()


def _complete(content: bytes) -> AuditResults:
    results = AuditResults.model_validate_json(content)
    if not results.complete:
        raise ValueError("an audit that was interrupted")
    return results
