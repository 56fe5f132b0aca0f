"""``fairweir contract design``: the contract that meets requirements, or the reason why no contract does."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.contract_results import CLAIM_FAILS
from fairweir.cli.options import AsJson
from fairweir.contracts.design import Design, Requirements, designs, impossible
from fairweir.documents.atomic_write import write_text
from fairweir.errors import ConfigError
from fairweir.scenario.dumbbell import dumbbell_document, flows
from fairweir.scenario.model import Scenario
from fairweir.units import Duration, Rate

EXAMPLE = "fairweir contract design noise=1ms slowest=2Mbps fastest=100Mbps hops=3 flows=4 error=1.5"
RTPROP = Duration.from_ms(40)
DURATION, WARMUP = Duration.from_s(60), Duration.from_s(30)


def _mbps(text: str) -> float:
    return Rate.parse(text).mbps


def _ms(text: str) -> float:
    return Duration.parse(text).ms


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 2:
        raise ConfigError(f"not a whole number above 1: `{text}`", hint="such as flows=4 hops=3")
    return int(text)


def _ratio(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1.0 < value < math.inf:
        raise ConfigError(f"not a ratio above 1: `{text}`", hint="such as error=1.5 unfairness=3 growth=4")
    return value


READERS: dict[str, tuple[str, Callable[[str], float]]] = {
    "noise": ("noise_ms", _ms),
    "slowest": ("slowest_mbps", _mbps),
    "fastest": ("fastest_mbps", _mbps),
    "hops": ("hops", _count),
    "flows": ("flows", _count),
    "min_qdelay": ("min_qdelay_ms", _ms),
    "error": ("error", _ratio),
    "unfairness": ("unfairness", _ratio),
    "growth": ("growth", _ratio),
    "max_qdelay": ("max_qdelay_ms", _ms),
}
"""Requirement: attribute of :class:`Requirements`, and the parser of its value."""


def read_requirements(texts: list[str]) -> Requirements:
    """Parse ``KEY=VALUE`` requirements.

    Parameters
    ----------
    texts : with keys of :data:`READERS`; hops defaults to 3, flows to 4, and min_qdelay to the noise

    Raises
    ------
    ConfigError : an unknown or missing key, an invalid value, or contradictory requirements
    """
    values: dict[str, Any] = {"hops": 3, "flows": 4}
    for text in texts:
        key, _, value = text.partition("=")
        if key not in READERS or not value:
            raise ConfigError(f"not a requirement: `{text}`", hint=f"KEY=VALUE, KEY one of {', '.join(READERS)}")
        attribute, read = READERS[key]
        try:
            values[attribute] = read(value)
        except ConfigError as e:
            raise ConfigError(e.message, key=key, hint=e.hint) from e
        if values[attribute] <= 0:
            raise ConfigError(f"must be positive: `{value}`", key=key, hint=EXAMPLE)
    for key in ("noise", "slowest", "fastest"):
        if READERS[key][0] not in values:
            raise ConfigError(f"a design needs `{key}`", hint=EXAMPLE)
    requirements = Requirements(**{"min_qdelay_ms": values["noise_ms"], **values})
    if requirements.range <= 1.0:
        raise ConfigError("the fastest share must be above the slowest", key="fastest", hint=EXAMPLE)
    if requirements.error is not None and requirements.error >= requirements.range:
        raise ConfigError(
            f"every contract satisfies this requirement: `{requirements.error:g}`",
            key="error",
            hint="use a value below fastest / slowest",
        )
    return requirements


def scenario_of(design: Design, requirements: Requirements) -> Scenario:
    """Return a scenario of flows that follow the contract.

    The flows' fair share is the geometric mean of the slowest and the fastest share; the buffer is twice what the flows
    need.
    """
    tables = flows("", [RTPROP] * requirements.flows, seed=1)
    for table in tables:
        table |= {"cca": design.flow_keys, "oracle_rtprop": True}
    share = math.sqrt(requirements.slowest_mbps * requirements.fastest_mbps)
    document = dumbbell_document(
        "contract-design",
        f"{requirements.flows} flows that follow a contract; fair share {share:.3g} Mbps",
        rate=Rate.from_mbps(share) * requirements.flows,
        buffer=f"{max(1.0, 2.0 * design.max_qdelay_ms / RTPROP.ms):.3f}bdp",
        flow_tables=tables,
        duration=DURATION,
        warmup=WARMUP,
        seed=1,
    )
    return Scenario.from_dict(document, source="contract design")


def design(
    requirements: Annotated[
        list[str],
        typer.Argument(metavar="KEY=VALUE...", help="Such as noise=1ms slowest=1Mbps fastest=100Mbps error=1.5."),
    ],
    *,
    scenario: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a scenario whose flows follow the contract.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find a contract that meets requirements, or the bound that rules out every contract.

    Exit 0: a contract meets the requirements.
    Exit 1: no such contract is found.
    Exit 2: bad input.
    """
    if not design_contract(requirements, scenario, as_json=as_json):
        raise typer.Exit(CLAIM_FAILS)


def design_contract(texts: list[str], scenario: Path | None, *, as_json: bool) -> bool:
    """Print the contract for requirements, and write its scenario; return False if no contract is found."""
    requirements = read_requirements(texts)
    reasons = impossible(requirements)
    found = [] if reasons else designs(requirements)
    is_met = bool(found) and not found[0].missed
    if is_met and scenario is not None:
        write_text(scenario, scenario_of(found[0], requirements).to_toml())
    if as_json:
        document = [asdict(d) | {"flow": d.flow_keys} for d in found]
        output.print_json(
            {"requirements": asdict(requirements), "met": is_met, "impossible": reasons, "contracts": document}
        )
        return is_met
    for reason in reasons:
        output.stdout.print(f"no contract: {reason}", soft_wrap=True)
    if found:
        _show(found, requirements)
    if is_met:
        output.stdout.print(found[0].flow_line, soft_wrap=True)
    elif found:
        output.stdout.print(
            "neither corner contract meets the requirements; no bound of appendix C.1 rules out other contracts",
            soft_wrap=True,
        )
    return is_met


def _show(found: list[Design], requirements: Requirements) -> None:
    columns = ("contract", "qdelay, ms", "error", "unfairness", "growth", "generality", "misses")
    table = Table(*columns, box=None, header_style="bold")
    for d in found:
        name = f"1/s^{d.exponent:.3g}" if d.shape == "power" else f"exp(-s / {d.s0_ms:.3g} ms)"
        table.add_row(
            name,
            f"{d.min_qdelay_ms:.3g} to {d.max_qdelay_ms:.3g}",
            *(f"{n:.3g}" for n in (d.robustness, d.unfairness, d.growth, d.generality)),
            "; ".join(d.missed) or "-",
        )
    output.stdout.print(table)
    output.stdout.print(
        f"shares of {requirements.slowest_mbps:g} to {requirements.fastest_mbps:g} Mbps; error: ratio of rates for"
        f" {requirements.noise_ms:g} ms of noise; unfairness over {requirements.hops} hops; infinite if the long flow"
        f" leaves that range; growth of the queueing delay for {requirements.flows} flows",
        style="dim",
        soft_wrap=True,
    )
