"""Evidence for congestion control."""

from fairweir._core import Ack, Loss, LostPacket, Sent, Start, __version__
from fairweir.ccas.cca import Cca
from fairweir.errors import CcaError, ConfigError, ControllerError, FairweirError

__all__ = [
    "Ack",
    "Cca",
    "CcaError",
    "ConfigError",
    "ControllerError",
    "FairweirError",
    "Loss",
    "LostPacket",
    "Sent",
    "Start",
    "__version__",
]
