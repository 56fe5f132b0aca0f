"""Definitions of network models in exact fractions, which check traces; one file per model.

A network model is a relation between the bytes that flows send and the bytes that the network serves, loses and delays.
A trace is the value of each curve, such as the bytes sent, at each sample point. :mod:`fairweir.formal.models` has the
constraints of the same models for solvers.
"""

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
    """Register the definition of a model."""
    _DEFINITIONS[definition.name] = definition


def definition_of(trace: Trace) -> Definition:
    """Return the definition of the model to which a trace belongs.

    Raises
    ------
    ConfigError : no model has this name
    """
    return definition_named(trace.model)


def definition_named(model: str) -> Definition:
    """Return the definition of a model, by the model's name.

    Raises
    ------
    ConfigError : no model has this name
    """
    if model not in _DEFINITIONS:
        known = ", ".join(_DEFINITIONS)
        raise ConfigError(f"unknown network model: `{model}`", key="model", hint=f"known are {known}")
    return _DEFINITIONS[model]


__all__ = ["Definition", "define", "definition_named", "definition_of"]
