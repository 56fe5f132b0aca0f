"""The simulated world: a resolved scenario on a virtual clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairweir import _core, cca
from fairweir.errors import InvariantError

Columns = dict[str, bytes]
#: The summary, and the time series of flows and links if they were asked for.
Result = tuple[dict[str, Any], tuple[Columns, Columns] | None]


def play(config: dict[str, Any], base: Path | None, on_progress: Callable[[float], object] | None) -> Result:
    """Play `config`, in a process of its own if a user's C is in it.

    Parameters
    ----------
    config : dict, ``fairweir_sim::Config``
    base : Path; where the files of Python controllers are looked up after the working directory
    on_progress : called now and then with the fraction of simulated time that is done, 0 to 1

    Raises
    ------
    CcaError : a controller cannot be loaded or refuses its parameters
    ControllerError : a controller misbehaved
    InvariantError : a bug of the simulator
    """
    duration = config["duration"]
    report = (lambda ns: on_progress(min(ns / duration, 1.0))) if on_progress else None
    if any(cca.is_bpf_source(flow["cca"]) for flow in config["flows"]):
        from fairweir import pool

        if not pool.is_guarded():
            from fairweir import apart

            return apart.play(config, base, report)
    return simulate(config, base, report)


def simulate(config: dict[str, Any], base: Path | None, on_progress: Callable[[int], object] | None) -> Result:
    """Play `config` in this process.

    Parameters
    ----------
    config, base : as for :func:`play`
    on_progress : called now and then with the simulated time reached, ns

    Raises
    ------
    CcaError, ControllerError, InvariantError : as for :func:`play`
    """
    names = {flow["cca"] for flow in config["flows"]}
    classes = {name: cca.load_class(name, base=base) for name in names if cca.is_python(name)}
    try:
        summary_json, series = _core.run(json.dumps(config), classes, on_progress)
    except BaseException as error:
        # Not an Exception, so that nobody takes it for an ordinary failure; but an audit must go on.
        if type(error).__name__ == "PanicException":
            hint = "this is a bug of fairweir: please report it with the scenario"
            raise InvariantError(f"the simulator broke an invariant: {error}", hint=hint) from None
        raise
    return json.loads(summary_json), series
