"""Network models by definition, one file per model; their encodings are in :mod:`fairweir.formal.models`."""

from __future__ import annotations

from fairweir.errors import ConfigError
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact.definition import Definition
from fairweir.formal.exact.networks.cbr_delay import CbrDelay
from fairweir.formal.exact.networks.ccac import Ccac
from fairweir.formal.exact.networks.ideal import Ideal

#: By name; a user's model adds its own when it is registered (:func:`fairweir.formal.models.register`).
_DEFINITIONS: dict[str, Definition] = {one.name: one for one in (Ideal(), CbrDelay(), Ccac())}


def define(definition: Definition) -> None:
    """Judge traces of a model by this definition from now on."""
    _DEFINITIONS[definition.name] = definition


def definition_of(trace: Trace) -> Definition:
    """Return the definition of the model that a trace is of.

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
