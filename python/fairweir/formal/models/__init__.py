"""Network models, one file per model: relations between the data sent, served, lost and delayed."""

from __future__ import annotations

from collections.abc import Mapping

from fairweir.formal.exact.networks import define
from fairweir.formal.models.cbr_delay import CbrDelay
from fairweir.formal.models.ccac import Ccac
from fairweir.formal.models.ideal import Ideal
from fairweir.formal.models.model import Model, PacketPath

#: The shipped models by name. The definitions in `formal/exact/networks` judge their traces.
NETWORKS: Mapping[str, Model] = {model.name: model for model in (Ideal(), CbrDelay(), Ccac())}

_ALL: dict[str, Model] = {
    **NETWORKS,
    **{f"{name}-published": model.published() for name, model in NETWORKS.items() if model.has_jitter},
}
#: All models by the names that queries and the command line use, including users' models that are registered. In the
#: models ending in `-published`, acknowledgments never pause, as in the published code.
MODELS: Mapping[str, Model] = _ALL


def register(model: Model) -> None:
    """Add a model to :data:`MODELS`, and its definition to those that judge traces."""
    define(model.definition)
    _ALL[model.name] = model


def summary(name: str) -> str:
    """Return a one-line description of the model `name`."""
    return MODELS[name].summary


__all__ = ["MODELS", "NETWORKS", "Model", "PacketPath", "register", "summary"]
