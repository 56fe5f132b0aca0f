"""The finished runs of an audit that was interrupted, which the same audit reuses.

An audit that has ended deletes them: only an interrupted one leaves runs behind. Another audit of the same folder
therefore measures everything again, also if a module that a user's class imports has changed meanwhile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fairweir.audit.jobs import Job, Measured
from fairweir.audit.results import Trace
from fairweir.documents.store import Store, fingerprint, to_json
from fairweir.judging.summary import Summary
from fairweir.play import sweep
from fairweir.play.measure import Measure, on_all_cores
from fairweir.play.measure import Measured as MeasuredRun
from fairweir.play.pool import Where
from fairweir.play.run import VirtualWorld
from fairweir.play.simulate import sources
from fairweir.scenario.dumbbell import ScenarioDict
from fairweir.scenario.model import Scenario

#: Folder of the runs, next to the audit's results.
FOLDER: Final = "runs"
_STORED: Final = re.compile(r"[0-9a-f]{32}\.json")


class StoredRuns:
    """Runs in a folder, one file each; without a folder nothing is stored.

    Parameters
    ----------
    folder : Path of the audit's results, or None
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder / FOLDER
        self._battery = Store(self._folder, _encoded, _decoded)
        self._searches = Store(self._folder, Summary.to_json, Summary.from_json)

    def get(self, job: Job) -> Measured | None:
        """Return the measurements of a job, if stored."""
        return None if self._folder is None else self._battery.get(_key_of(job))

    def put(self, job: Job, measured: Measured) -> None:
        """Store the measurements of a job."""
        if self._folder is not None:
            self._battery.put(_key_of(job), measured)

    def on_all_cores(self, *, workers: Where, timeout_s: float, world: VirtualWorld) -> Measure:
        """Return :func:`fairweir.play.measure.on_all_cores`, which here reuses the stored runs of a search."""

        def key(scenario: ScenarioDict) -> str:
            return _key(Scenario.from_dict(scenario), world, "search")

        def put(scenario: ScenarioDict, summary: Summary) -> None:
            self._searches.put(key(scenario), summary)

        if self._folder is None:
            return on_all_cores(workers=workers, timeout_s=timeout_s, world=world)
        measure = on_all_cores(workers=workers, timeout_s=timeout_s, world=world, on_done=put)

        def reuse(scenarios: Sequence[ScenarioDict]) -> list[MeasuredRun]:
            stored = [self._searches.get(key(scenario)) for scenario in scenarios]
            missing = [scenario for scenario, found in zip(scenarios, stored, strict=True) if found is None]
            measured = iter(measure(missing))
            return [next(measured) if found is None else found for found in stored]

        return reuse

    def delete(self) -> None:
        """Delete all stored runs."""
        if self._folder is None or self._folder.is_symlink() or not self._folder.is_dir():
            return
        for path in self._folder.iterdir():
            if _STORED.fullmatch(path.name):
                path.unlink(missing_ok=True)
        with suppress(OSError):  # such as other files in the folder
            self._folder.rmdir()


def _key_of(job: Job) -> str:
    return _key(job.scenario(), job.subject.world, job.family, job.subject.name, job.place().label, job.is_traced)


def _key(scenario: Scenario, world: VirtualWorld, *parts: Any) -> str:
    return fingerprint(sweep.fingerprint(scenario, world), sources(), *parts)


def _encoded(measured: Measured) -> bytes:
    trace = None if measured.trace is None else measured.trace.model_dump(mode="json")
    return to_json({"values": measured.values, "packets": measured.packets, "trace": trace})


def _decoded(content: bytes) -> Measured:
    found = json.loads(content)
    trace = None if found["trace"] is None else Trace.model_validate(found["trace"])
    values = {str(name): float(value) for name, value in found["values"].items()}
    return Measured(values, int(found["packets"]), trace)
