"""Read a capture and explain its flows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fairweir import _core
from fairweir.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def explain_file(path: Path, on_progress: Callable[[int], object] | None = None) -> dict[str, Any]:
    """Read a capture and explain its flows.

    Parameters
    ----------
    path : Path of a pcap or pcapng file, or of a qlog
    on_progress : callable, called with the number of frames read; an exception that it raises ends the reading

    Returns
    -------
    dict, `capture` (counts), `flows` (units ns, bytes, bytes/s; each has its number `flow`, where 1 delivered the
    most), `links` (bottlenecks, each with the numbers of its flows), `flows_without_acks`, `left_out` (counts of data
    beyond limits)

    Raises
    ------
    ConfigError : the file is missing, empty or damaged, is not a capture, or has no flow with data and ACKs
    """
    try:
        path.stat()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"capture cannot be read: {reason}", source=str(path)) from None
    document: dict[str, Any] = json.loads(_core.explain(str(path), on_progress))
    document["flows"] = [{"flow": number, **facts} for number, facts in enumerate(document["flows"], start=1)]
    if not document["flows"]:
        raise ConfigError(
            f"no flow with data and ACKs in {document['capture']['frames']} frames",
            hint="capture both directions of a TCP transfer, at the data's sender: `tcpdump -s 128 -w FILE tcp`",
            source=str(path),
        )
    return document
