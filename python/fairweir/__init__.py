"""Evidence for congestion control.

``import fairweir as fw`` provides the functions and classes for everyday use: ``fw.run(fw.dumbbell(["bbr",
"cubic"]))``, ``fw.sweep``, ``fw.compare``, ``fw.audit("bbr", depth="quick").report("out/")``, ``fw.verify``,
``fw.explain``. The module of a name is imported at the name's first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from fairweir._core import Ack, AckedPacket, Loss, LostPacket, Sent, Start, __version__
from fairweir.ccas.cca import Cca
from fairweir.errors import CcaError, ConfigError, ControllerError, FairweirError, PolicyError

if TYPE_CHECKING:
    from fairweir.audit.runner import run_audit as audit
    from fairweir.explain.explanation import explain
    from fairweir.formal.verdicts.named import verify
    from fairweir.judging.outcome import Outcome
    from fairweir.play.cluster import Cluster
    from fairweir.play.compare import compare
    from fairweir.play.record_folder import load_record
    from fairweir.play.run import Run, run
    from fairweir.play.simulate import Capture
    from fairweir.play.sweep import Sweep, sweep
    from fairweir.scenario.dumbbell import dumbbell
    from fairweir.scenario.model import Scenario
    from fairweir.units import Bytes, Duration, Rate

__all__ = [
    "Ack",
    "AckedPacket",
    "Bytes",
    "Capture",
    "Cca",
    "CcaError",
    "Cluster",
    "ConfigError",
    "ControllerError",
    "Duration",
    "FairweirError",
    "Loss",
    "LostPacket",
    "Outcome",
    "PolicyError",
    "Rate",
    "Run",
    "Scenario",
    "Sent",
    "Start",
    "Sweep",
    "__version__",
    "audit",
    "compare",
    "dumbbell",
    "explain",
    "load_record",
    "run",
    "sweep",
    "verify",
]

#: Names that are imported at their first use -> their modules.
_HOMES: Final = {
    "Bytes": "units",
    "Capture": "play.simulate",
    "Cluster": "play.cluster",
    "Duration": "units",
    "Outcome": "judging.outcome",
    "Rate": "units",
    "Run": "play.run",
    "Scenario": "scenario.model",
    "Sweep": "play.sweep",
    "dumbbell": "scenario.dumbbell",
    "run": "play.run",
    "load_record": "play.record_folder",
    "compare": "play.compare",
    "sweep": "play.sweep",
    "verify": "formal.verdicts.named",
}

#: Packages that can be called like functions.
_CALLABLE: Final = {"audit", "explain"}


def __getattr__(name: str) -> Any:
    """Import the module of a name of :data:`__all__` and return the name's value.

    Raises
    ------
    MissingExtraError : the module needs a package of an extra that is not installed
    """
    if name in _CALLABLE:
        return import_module(f"fairweir.{name}")
    if name in _HOMES:
        try:
            return getattr(import_module(f"fairweir.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            from fairweir.extras import missing

            raise missing(error.name, f"fairweir.{name}") or error from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
