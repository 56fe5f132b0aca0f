"""Network models for solvers, one file per model.

A network model is a relation between the bytes that flows send and the bytes that the network serves, loses and delays.
Each model has a second definition, in :mod:`fairweir.formal.exact.networks`, which checks the traces that solvers find.
A trace is the value of each curve, such as bytes sent, at each sample point.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairweir.formal.exact.networks import define
from fairweir.formal.models.cbr_delay import CbrDelay
from fairweir.formal.models.ccac import Ccac
from fairweir.formal.models.ideal import Ideal
from fairweir.formal.models.model import Model, PacketPath

#: The models that are part of fairweir, by name.
NETWORKS: Mapping[str, Model] = {model.name: model for model in (Ideal(), CbrDelay(), Ccac())}

_ALL: dict[str, Model] = {
    **NETWORKS,
    **{f"{name}-published": model.published() for name, model in NETWORKS.items() if model.has_jitter},
}
#: All models by name, including users' models that are registered. In a model whose name ends in `-published`,
#: acknowledgments never pause while bytes wait, as in the published code.
MODELS: Mapping[str, Model] = _ALL


def register(model: Model) -> None:
    """Add a model to :data:`MODELS`, and register the definition that checks the model's traces."""
    define(model.definition)
    _ALL[model.name] = model


def summary(name: str) -> str:
    """Return a one-line description of the model `name`."""
    return MODELS[name].summary


__all__ = ["MODELS", "NETWORKS", "Model", "PacketPath", "register", "summary"]
