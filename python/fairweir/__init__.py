"""Evidence for congestion control.

``import fairweir as fw`` has the names of everyday use: ``fw.run(fw.dumbbell(["bbr", "cubic"]))``, ``fw.sweep``,
``fw.run_audit``, ``fw.verify``. Each loads its part of the package when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from fairweir._core import Ack, Loss, LostPacket, Sent, Start, __version__
from fairweir.ccas.cca import Cca
from fairweir.errors import CcaError, ConfigError, ControllerError, FairweirError

if TYPE_CHECKING:
    from fairweir.audit.runner import run_audit
    from fairweir.formal.verdicts.verify import verify
    from fairweir.judging.outcome import Outcome
    from fairweir.play.run import Run, run
    from fairweir.play.sweep import Sweep, sweep
    from fairweir.scenario.dumbbell import dumbbell
    from fairweir.scenario.model import Scenario
    from fairweir.units import Bytes, Duration, Rate

__all__ = [
    "Ack",
    "Bytes",
    "Cca",
    "CcaError",
    "ConfigError",
    "ControllerError",
    "Duration",
    "FairweirError",
    "Loss",
    "LostPacket",
    "Outcome",
    "Rate",
    "Run",
    "Scenario",
    "Sent",
    "Start",
    "Sweep",
    "__version__",
    "dumbbell",
    "run",
    "run_audit",
    "sweep",
    "verify",
]

#: Names that are loaded when they are used, and their modules.
_HOMES: Final = {
    "Bytes": "units",
    "Duration": "units",
    "Outcome": "judging.outcome",
    "Rate": "units",
    "Run": "play.run",
    "Scenario": "scenario.model",
    "Sweep": "play.sweep",
    "dumbbell": "scenario.dumbbell",
    "run": "play.run",
    "run_audit": "audit.runner",
    "sweep": "play.sweep",
    "verify": "formal.verdicts.verify",
}


def __getattr__(name: str) -> Any:
    """Return a name of :data:`__all__` from its module."""
    if name in _HOMES:
        return getattr(import_module(f"fairweir.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
