"""Write the scenario of each failing exhibit to a file, with the command that replays it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from fairweir.documents.atomic_write import write_text
from fairweir.documents.filenames import slug
from fairweir.judging.outcome import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.audit.results import AuditResults, CcaResults, ClaimResult

FOLDER = "failing"


def write_evidence(results: AuditResults, out: Path) -> None:
    """Write ``failing/<cca>-<exhibit>.toml`` for each failing exhibit, and record its path and command in `results`.

    Files of an earlier audit in the same directory are removed, so that all files belong to these results.
    """
    folder = out / FOLDER
    if folder.is_symlink():
        folder.unlink()
    elif folder.is_dir():
        for old in folder.glob("*.toml"):
            old.unlink()
    for cca in results.ccas:
        for exhibit in cca.exhibits:
            if exhibit.verdict is Outcome.FAILS and exhibit.scenario_toml is not None:
                _write(cca, exhibit, out)


def _write(cca: CcaResults, exhibit: ClaimResult, out: Path) -> None:
    name = _unused(out, f"{FOLDER}/{slug(cca.cca)}-{slug(exhibit.name)}")
    exhibit.scenario = name
    exhibit.replay = f"fairweir run {out / name}"
    value = (
        "" if exhibit.value is None else f"\n# value: {exhibit.value:.4g} {exhibit.unit}".rstrip() + f" at {exhibit.at}"
    )
    why = exhibit.why.replace("\n", " ")
    header = f"# {cca.cca} fails: {exhibit.claim}\n# {why}{value}\n# replay: {exhibit.replay}\n\n"
    write_text(out / name, header + (exhibit.scenario_toml or ""))


def _unused(out: Path, stem: str) -> str:
    """Return an unused file name: two CCAs of this audit may have paths that differ only in their directories."""
    names = itertools.chain([f"{stem}.toml"], (f"{stem}-{i}.toml" for i in itertools.count(2)))
    return next(name for name in names if not (out / name).exists())
