"""Simulate a resolved scenario on a virtual clock."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from fairweir import _core
from fairweir.ccas import lookup
from fairweir.documents.arguments import one_of
from fairweir.errors import InvariantError
from fairweir.play.columns import Columns

Side = Literal["sender", "receiver"]


@dataclass(frozen=True)
class Capture:
    """A pcap file with the headers of all packets.

    Attributes
    ----------
    path : Path of the file, or its name
    side : position of the capture: at the "sender" or the "receiver" of the data
    """

    path: Path
    side: Side = "sender"

    def __init__(self, path: str | Path, side: Side = "sender") -> None:
        object.__setattr__(self, "path", Path(path))
        one_of(get_args(Side), side, "side")
        object.__setattr__(self, "side", side)


@dataclass(frozen=True)
class Recording:
    """Options of recording a run's packets.

    Attributes
    ----------
    max_packets : int; maximum number of data packets to record, with their ACKs; None records no packets
    capture : Capture, or None
    """

    max_packets: int | None = None
    capture: Capture | None = None


NO_RECORDING = Recording()


@cache
def build() -> str:
    """Return an identifier of the compiled simulator, so that results of another build are not reused."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:12]


@cache
def sources() -> str:
    """Return a hash of the package's Python sources, which contain the scenarios and bounds of audits, and lemmas."""
    digest = hashlib.sha256()
    for path in sorted(Path(str(files("fairweir"))).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class RawRun:
    """Raw result of a run.

    Attributes
    ----------
    summary : dict; flows, links and further results
    series : columns of flows and of links, if the configuration has an interval
    packets : columns of data packets and of ACKs, if recorded
    """

    summary: dict[str, Any]
    series: tuple[Columns, Columns] | None
    packets: tuple[Columns, Columns] | None = None


def is_users(name: str) -> bool:
    """Return whether a controller is a user's code: kernel C, a plug-in or a Python class."""
    return lookup.is_native(name) or lookup.is_python(name)


def simulate(
    config: dict[str, Any],
    base: Path | None,
    on_progress: Callable[[int], object] | None,
    recording: Recording = NO_RECORDING,
) -> RawRun:
    """Run `config` in this process.

    Parameters
    ----------
    config, base, recording : as for :func:`play`
    on_progress : called periodically with the simulated time reached, ns

    Raises
    ------
    ConfigError, CcaError, ControllerError, InvariantError : as for :func:`play`
    """
    names = {flow["cca"] for flow in config["flows"]}
    classes = {name: lookup.load_class(name, base=base) for name in names if lookup.is_python(name)}
    try:
        capture = (str(recording.capture.path), recording.capture.side) if recording.capture is not None else None
        summary_json, series, packets = _core.run(
            json.dumps(config), classes, on_progress, recording.max_packets, capture
        )
    except BaseException as error:
        # PanicException is not a subclass of Exception, so that handlers of ordinary failures ignore it; an audit must
        # continue.
        if type(error).__name__ == "PanicException":
            hint = "this is a bug in fairweir: please report it with the scenario"
            raise InvariantError(f"the simulator violated an invariant: {error}", hint=hint) from None
        raise
    return RawRun(json.loads(summary_json), series, packets)
