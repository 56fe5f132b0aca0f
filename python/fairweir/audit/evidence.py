"""Scenarios as files, with the commands that replay them: of failing exhibits, and of metrics that are worse."""

from __future__ import annotations

import itertools
import shlex
from typing import TYPE_CHECKING

from fairweir.documents.atomic_write import write_text
from fairweir.documents.filenames import slug
from fairweir.judging.difference import Relation
from fairweir.judging.outcome import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from fairweir.audit.results import AuditResults, CcaResults, ClaimResult
    from fairweir.audit.standings import Relative, Side, Standing
    from fairweir.play.run import World

FOLDER = "failing"
WORSE = "worse"


def write_evidence(results: AuditResults, out: Path) -> None:
    """Write ``failing/<cca>-<exhibit>.toml`` for every failing exhibit, and ``worse/<cca>-<metric>-candidate.toml`` and
    ``-reference.toml`` for all that is worse than the reference; note paths and commands in `results`.

    Files of an earlier audit in the same directory are removed, so that all files belong to these results.
    """
    for folder in (out / FOLDER, out / WORSE):
        if folder.is_symlink():
            folder.unlink()
        elif folder.is_dir():
            for old in folder.glob("*.toml"):
                old.unlink()
    for cca in results.ccas:
        for exhibit in cca.exhibits:
            if exhibit.verdict is Outcome.FAILS and exhibit.scenario_toml is not None:
                _write(cca, exhibit, results.world, out)
    for relative in results.relative:
        for standing in relative.of(Relation.WORSE):
            for side, role in zip(standing.shown_by, ROLES, strict=False):
                _write_side(relative, standing, side, role, results.world, out)


ROLES = ("candidate", "reference")


def _write_side(relative: Relative, standing: Standing, side: Side, role: str, world: World, out: Path) -> None:
    if side.scenario_toml is None:
        return
    name = _unused(out, f"{WORSE}/{slug(relative.cca)}-{slug(standing.name)}-{role}")
    side.scenario = name
    side.replay = _replay(out / name, world)
    value = "" if side.value is None else f"\n# mean over pairs: {side.value:.4g} {standing.unit}".rstrip()
    header = (
        f"# {one_line(relative.cca)} is worse than {one_line(relative.reference)}: {standing.name} at {standing.at},"
        f" {standing.change}\n# the {role}: {one_line(side.cca)}{value}\n# replay: {side.replay}\n\n"
    )
    write_text(out / name, header + side.scenario_toml)


def one_line(text: str) -> str:
    """Return a text of a user without line ends, which would end a comment."""
    return " ".join(text.split())


def _replay(file: Path, world: World) -> str:
    return f"fairweir run {shlex.quote(str(file))}{'' if world == 'sim' else f' --on {world}'}"


def _write(cca: CcaResults, exhibit: ClaimResult, world: World, out: Path) -> None:
    name = _unused(out, f"{FOLDER}/{slug(cca.cca)}-{slug(exhibit.name)}")
    exhibit.scenario = name
    exhibit.replay = _replay(out / name, world)
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
