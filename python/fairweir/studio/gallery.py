"""The gallery: scenarios of failing claims, refutations, starvation certificates and published figures.

Each opens in the studio.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from fairweir.documents import shipped
from fairweir.errors import ConfigError, FairweirError
from fairweir.judging.outcome import Outcome
from fairweir.reproduce.experiment import Experiment, load_all
from fairweir.scenario.model import Scenario
from fairweir.studio.folder import Folder

#: Before the name of an experiment's case where names of scenarios are expected: ``experiment:thesis-2.1/0``.
EXPERIMENT: Final = "experiment:"
#: Before the name of a certificate's flow: ``certificate:results/starve/reno/reno-certificate.parquet/slow``.
CERTIFICATE: Final = "certificate:"
#: Maximum number of audits, and of certificates, that are listed; the newest are.
_MAX_FILES: Final = 20
_DEPTH: Final = 5


@dataclass(frozen=True)
class Item:
    """A scenario that can be opened by its name; in a world, or where it is empty in any."""

    name: str
    title: str
    world: str = ""


@dataclass(frozen=True)
class Group:
    """Scenarios with one origin: an audit, a refutation, an experiment or a certificate.

    Attributes
    ----------
    kind : str, heading of the part of the page
    text : str, the origin, or the reason why it cannot be read
    """

    kind: str
    title: str
    text: str
    items: list[Item] = field(default_factory=list)


def groups(folder: Folder) -> list[Group]:
    """Return the gallery of a working folder."""
    audits = [_read(_audit, "Failing claims of audits", folder, path) for path in _newest(folder, "results.json")]
    refutations = [_read(_refutation, "Refutations", folder, path) for path in _newest(folder, "verdict.json")]
    certificates = [
        _read(_certificate, "Starvation certificates", folder, path)
        for path in _newest(folder, "*-certificate.parquet")
    ]
    files = (*audits, *refutations, *certificates)
    return [*filter(None, files), *map(_experiment, _experiments())]


def text_of_item(folder: Folder, name: str) -> str:
    """Return the scenario of an experiment's case or of a certificate's flow, as TOML.

    Raises
    ------
    ConfigError : there is none, or its file is outside the folder or cannot be read
    """
    if name.startswith(EXPERIMENT):
        experiment, _, case = name.removeprefix(EXPERIMENT).partition("/")
        found = next((one for one in _experiments() if one.id == experiment), None)
        setting = next((one for one in found.settings(["sim"]) if str(one.case) == case), None) if found else None
        if setting is None:
            raise ConfigError(f"no such experiment or case: `{name[:200]}`", hint="open it from the gallery")
        return setting.scenario.to_toml()
    from fairweir.starvation.certificate import read

    path, _, flow = name.removeprefix(CERTIFICATE).rpartition("/")
    header = read(folder.inside(path)).header
    if flow not in ("slow", "fast"):
        raise ConfigError(f"a certificate has the flows slow and fast: `{flow[:60]}`", hint="open it from the gallery")
    alone = header.slow if flow == "slow" else header.fast
    return Scenario.from_dict(alone.scenario, source=path).to_toml()


def _newest(folder: Folder, pattern: str) -> list[Path]:
    patterns = ["/".join(["*"] * depth + [pattern]) for depth in range(_DEPTH)]
    found = [path for one in patterns for path in folder.root.glob(one) if not _is_hidden(path, folder)]
    return sorted(found, key=lambda path: -path.stat().st_mtime)[:_MAX_FILES]


def _is_hidden(path: Path, folder: Folder) -> bool:
    try:
        folder.inside(str(path.relative_to(folder.root)))
    except ConfigError:
        return True
    return any(part.startswith(".") for part in path.relative_to(folder.root).parts) or not path.is_file()


def _read(
    reader: Callable[[Folder, Path], tuple[str, str, Iterator[Item]] | None], kind: str, folder: Folder, path: Path
) -> Group | None:
    """Return the group of a file; a file that cannot be read is listed with the reason."""
    try:
        found = reader(folder, path)
        return None if found is None else Group(kind, found[0], found[1], list(found[2]))
    except (FairweirError, OSError, ValueError, RecursionError) as error:
        return Group(kind, str(path.relative_to(folder.root)), f"cannot be read: {error}"[:300])


def _audit(folder: Folder, path: Path) -> tuple[str, str, Iterator[Item]] | None:
    from fairweir.audit.results import AuditResults

    results = AuditResults.load(path)

    def items() -> Iterator[Item]:
        for cca in results.ccas:
            for exhibit in cca.exhibits:
                if exhibit.verdict is not Outcome.FAILS or exhibit.scenario is None:
                    continue
                scenario = folder.inside(str(path.parent.relative_to(folder.root) / exhibit.scenario))
                if scenario.is_file():
                    name = scenario.relative_to(folder.root.resolve()).as_posix()
                    world = "" if results.world == "sim" else results.world
                    yield Item(name, f"{cca.cca}: {exhibit.name}: {exhibit.why}", world)

    where = path.parent.relative_to(folder.root).as_posix()
    return f"audit of {', '.join(cca.cca for cca in results.ccas)}", f"{where}, depth {results.depth}", items()


def _refutation(folder: Folder, path: Path) -> tuple[str, str, Iterator[Item]] | None:
    """Return a refutation of ``fairweir verify --out`` (:mod:`fairweir.formal.verdicts.evidence`) as packets."""
    found = json.loads(path.read_bytes())
    if not isinstance(found, dict) or not {"cca", "model", "claim", "outcome"} <= found.keys():
        raise ConfigError("not a verdict of `fairweir verify`")
    if found["outcome"] != "refuted":
        return None
    refutation = found.get("refutation")
    refutation = refutation if isinstance(refutation, dict) else {}
    scenario = path.with_name("scenario.toml")
    where = path.parent.relative_to(folder.root).as_posix()

    def items() -> Iterator[Item]:
        if scenario.is_file() and not _is_hidden(scenario, folder):
            is_broken = isinstance(packets := refutation.get("packets"), dict) and packets.get("breaks_the_claim")
            violated = ", where the claim is violated too" if is_broken else ""
            yield Item(scenario.relative_to(folder.root).as_posix(), f"the trace, replayed in packets{violated}")

    unplayed = f": not replayed in packets: {refutation['not_replayed']}" if "not_replayed" in refutation else ""
    return f"{found['cca']} on {found['model']}: {found['claim']} is refuted", f"{where}{unplayed}"[:300], items()


def _certificate(folder: Folder, path: Path) -> tuple[str, str, Iterator[Item]]:
    from fairweir.starvation.certificate import read

    header = read(path).header
    name = path.relative_to(folder.root).as_posix()

    def items() -> Iterator[Item]:
        stem = path.name.removesuffix("-certificate.parquet")
        for scenario in sorted(path.parent.glob("*.toml")):
            if scenario.name.startswith(f"{stem}-") and not _is_hidden(scenario, folder):
                yield Item(scenario.relative_to(folder.root).as_posix(), scenario.stem)
        for flow in ("slow", "fast"):
            yield Item(f"{CERTIFICATE}{name}/{flow}", f"the {flow} flow alone on its ideal link")

    return f"{header.cca}: ratio {header.ratio:.3g}", name, items()


@cache
def _experiments() -> list[Experiment]:
    return load_all(shipped.folder("experiments"))


def _experiment(experiment: Experiment) -> Group:
    cases = {setting.case: setting for setting in reversed(list(experiment.settings(["sim"])))}
    items = [
        Item(
            f"{EXPERIMENT}{experiment.id}/{number}",
            f"{experiment.case[number].name}{f', {cases[number].label}' if cases[number].label else ''}",
        )
        for number in sorted(cases)
    ]
    return Group("Published figures", f"{experiment.id}: {experiment.title}", experiment.source, items)
