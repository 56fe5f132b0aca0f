"""The simulator's world: run in this process, or in a child process if a user's code could harm this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairweir.ccas import lookup
from fairweir.play import process
from fairweir.play.simulate import NO_RECORDING, RawRun, Recording, is_users, simulate


def play(
    config: dict[str, Any],
    base: Path | None,
    on_progress: Callable[[float], object] | None,
    recording: Recording = NO_RECORDING,
    *,
    isolates_python: bool = False,
) -> RawRun:
    """Run `config`; use a child process if it contains a user's C.

    Parameters
    ----------
    config : dict, ``fairweir_scenario::Config``
    base : Path; folder of Python controllers' files, after the working directory
    on_progress : called periodically with the completed fraction of simulated time, 0 to 1
    recording : what to record of its packets
    isolates_python : run a Python class in a child process, too. A class that exits, prints or exhausts memory then
        causes only an error message, but a debugger cannot reach it.

    Raises
    ------
    ConfigError : there are more data packets than the maximum to record, or a file cannot be written
    CcaError : a controller cannot be loaded or rejects its parameters
    ControllerError : a controller misbehaved
    InvariantError : a bug of the simulator
    """
    duration = config["duration"]
    report = (lambda ns: on_progress(min(ns / duration, 1.0))) if on_progress else None
    names = {flow["cca"] for flow in config["flows"]}
    if any(is_users(name) for name in names):
        from fairweir.play import pool

        if not pool.is_guarded() and (isolates_python or any(lookup.is_native(name) for name in names)):
            from fairweir.play import sandbox

            return sandbox.play(config, base, report, recording)
        if pool.is_worker():
            with process.user_code():
                return simulate(config, base, report, recording)
    return simulate(config, base, report, recording)
