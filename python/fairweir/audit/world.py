"""The world of an audit: the simulator, or whole QUIC stacks on two kinds of hosts.

A host runs its stack at every arrival and timeout, or only at intervals, as an event loop that reads in batches. The
interval can reverse which of two flows gets more (docs/quic-world.md), so an audit of stacks runs every exhibit at both
settings of :data:`WAKES`. Each pair of CCA and host is a subject of the audit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fairweir.audit.battery import PYTHON_MAX_PACKETS, QUIC_MAX_PACKETS
from fairweir.ccas.lookup import is_python
from fairweir.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairweir.audit.exhibits.family import Subject
    from fairweir.play.run import VirtualWorld
    from fairweir.scenario.dumbbell import ScenarioDict

#: The values of ``[host] wake`` at which stacks are audited: an ideal host, and an event loop that wakes every ms.
WAKES: Final = ("0s", "1ms")

#: Receive window of every flow of an audit of stacks. quinn closes a connection whose receive buffer has more than
#: 1,024 chunks (quinn-proto 0.11.19, ``connection/assembler.rs``), which one overshoot of slow start causes if the
#: window is unlimited. This window, 2.85 MB, has fewer than 2,048 packets of stream data; every second one lost leaves
#: fewer chunks. quinn's default is 1.25 MB.
RWND: Final = "1900pkts"


def wakes_of(world: VirtualWorld) -> tuple[str | None, ...]:
    """Return the settings of the hosts in a world; the simulator has no hosts, which None stands for."""
    return WAKES if world == "quic" else (None,)


def name_on(name: str, wake: str | None) -> str:
    """Return the name of a CCA on hosts with a setting: ``quinn/cubic (wake 1ms)``."""
    return name if wake is None else f"{name} (wake {'at once' if wake == '0s' else wake})"


def without_host(name: str) -> str:
    """Return the name of a CCA without the setting of its hosts."""
    for wake in WAKES:
        name = name.removesuffix(name_on("", wake))
    return name


def on_hosts(subject: Subject) -> list[Subject]:
    """Return the subject on each kind of host of its world."""
    return [replace(subject, name=name_on(subject.name, wake), wake=wake) for wake in wakes_of(subject.world)]


def hosted(scenario: ScenarioDict, subject: Subject) -> ScenarioDict:
    """Return the scenario with the hosts of a subject, and with their receive windows."""
    if subject.wake is None:
        return scenario
    flows = [{**flow, "rwnd": RWND} for flow in scenario["flow"]]
    return {**scenario, "host": {"wake": subject.wake}, "flow": flows}


def why_too_long(subject: Subject, packets: int) -> str:
    """Return the reason why runs of `packets` are left out; empty if they are not."""
    if subject.world == "quic" and packets > QUIC_MAX_PACKETS:
        return f"more than {QUIC_MAX_PACKETS:,} packets, which takes a QUIC stack minutes"
    if is_python(subject.cca) and packets > PYTHON_MAX_PACKETS:
        return "more packets than a Python class can process"
    return ""


def check_world(baseline: VirtualWorld, world: VirtualWorld, source: str | None = None) -> None:
    """Check that a baseline ran in the world of an audit.

    Raises
    ------
    ConfigError : it ran in another world
    """
    if baseline != world:
        raise ConfigError(
            f"the baseline ran in the world `{baseline}`, and this audit runs in `{world}`",
            source=source,
            hint=f"use the same world as the baseline: --on {baseline}",
        )


def setting(world: VirtualWorld, versions: Mapping[str, str]) -> str:
    """Return the world and its hosts in a sentence, for tables and reports; empty for the simulator.

    Parameters
    ----------
    versions : stack -> version, of which those of QUIC stacks are printed
    """
    if world == "sim":
        return ""
    stacks = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"World quic: whole QUIC stacks in virtual time ({stacks}). A host runs its stack at every arrival and timeout "
        f"(wake at once), or every {WAKES[1]} (wake {WAKES[1]}); receive windows are {RWND}."
    )
