"""Definitions of network models, one file per model; the encodings are in :mod:`fairweir.formal.models`."""

from __future__ import annotations

from fairweir.errors import ConfigError
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.definition import Definition
from fairweir.formal.exact.networks.cbr_delay import CbrDelay
from fairweir.formal.exact.networks.ccac import Ccac
from fairweir.formal.exact.networks.ideal import Ideal

#: Definitions by model name. Registering a user's model adds its definition (:func:`fairweir.formal.models.register`).
_DEFINITIONS: dict[str, Definition] = {one.name: one for one in (Ideal(), CbrDelay(), Ccac())}


def define(definition: Definition) -> None:
    """Register the definition that judges a model's traces."""
    _DEFINITIONS[definition.name] = definition


def definition_of(trace: Trace) -> Definition:
    """Return the definition of a trace's model.

    Raises
    ------
    ConfigError : there is no such model
    """
    return definition_named(trace.model)


def definition_named(model: str) -> Definition:
    """Return a model's definition.

    Raises
    ------
    ConfigError : there is no such model
    """
    if model not in _DEFINITIONS:
        known = ", ".join(_DEFINITIONS)
        raise ConfigError(f"unknown network model: `{model}`", key="model", hint=f"known are {known}")
    return _DEFINITIONS[model]


__all__ = ["Definition", "define", "definition_named", "definition_of"]
