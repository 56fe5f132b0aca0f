"""Network models: relations between data sent, served, lost and delayed. One file per model."""

from __future__ import annotations

from collections.abc import Mapping

from fairweir.formal.exact.networks import define
from fairweir.formal.models.cbr_delay import CbrDelay
from fairweir.formal.models.ccac import Ccac
from fairweir.formal.models.ideal import Ideal
from fairweir.formal.models.model import Model, PacketPath

#: The shipped models by name. Each is judged by its definition in `formal/exact/networks`.
NETWORKS: Mapping[str, Model] = {model.name: model for model in (Ideal(), CbrDelay(), Ccac())}

_ALL: dict[str, Model] = {
    **NETWORKS,
    **{f"{name}-published": model.published() for name, model in NETWORKS.items() if model.has_jitter},
}
#: By the name that queries and the command line use, a user's own included once it is registered. The published code's
#: models forbid acknowledgements to pause.
MODELS: Mapping[str, Model] = _ALL


def register(model: Model) -> None:
    """Add a model to :data:`MODELS`, and its definition to those that judge traces."""
    define(model.definition)
    _ALL[model.name] = model


def summary(name: str) -> str:
    """Return one line on the model `name`."""
    return MODELS[name].summary


__all__ = ["MODELS", "NETWORKS", "Model", "PacketPath", "register", "summary"]
