"""Apply a guard's policies to a capture and return the guard's decisions; nothing is sent."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairweir import _core
from fairweir.errors import ConfigError, PolicyError
from fairweir.guard.treatments import Policy


def replay(
    capture: Path,
    policy: Policy,
    managed: Sequence[str] = (),
    *,
    on_progress: Callable[[int], object] | None = None,
) -> dict[str, Any]:
    """Apply a guard's policies to a capture.

    Parameters
    ----------
    capture : Path of a pcap or pcapng file that was captured at the receiver and has both directions
    policy : Policy, a policy file
    managed : addresses of the guarded hosts; default the host that receives the most payload
    on_progress : called periodically with the number of frames read

    Returns
    -------
    dict; ``managed``: addresses; ``capture``: frame counts; ``flows``: for each ``service``, ``remote``, ``local``,
    ``first_s``, ``last_s`` (since the first packet), ``bytes``, ``mbps``, ``lost_pkts``, ``rtt_ms``, ``min_rtt_ms``,
    ``held_s``, ``min_window_bytes``, ``history`` of ``t_s``, ``window_bytes``, ``target_mbps``, ``why``

    Raises
    ------
    ConfigError : the capture cannot be read; policies, forest or addresses are invalid
    """
    for address in managed:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise ConfigError(
                f"not an address: `{address}`", hint="such as 192.0.2.1 or 2001:db8::1", key="--local"
            ) from None
    try:
        reported = _core.replay_guarded(
            str(capture), policy.text, list(managed), forest=policy.trees, on_progress=on_progress
        )
    except PolicyError as error:
        error.source = error.source or str(policy.file)
        raise
    document: dict[str, Any] = json.loads(reported)
    return document
