"""``fairweir fluid``: weighted AIMD as differential equations: who gets what, and how firmly."""

from __future__ import annotations

import math
from typing import Annotated

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.errors import ConfigError
from fairweir.fluid.model import weighted
from fairweir.fluid.report import Analysis, analyse, limits

CLAIM_FAILS = 1


def fluid(
    scheme: Annotated[str, typer.Argument(metavar="SCHEME", help="wcc_ai, wcc_md, multcp or ewtcp.")],
    weights: Annotated[str, typer.Option(metavar="W,...", help="One weight a flow.")] = "2,1",
    wbar: Annotated[
        str, typer.Option(metavar="N,...", help="Packets that the link and its full buffer hold: C d + K.")
    ] = "3.414,5,10,20,50,100",
    psi: Annotated[
        float, typer.Option(metavar="X", help="Buffer by BDP; default: so deep that the queue never empties.")
    ] = math.inf,
    as_json: AsJson = False,
) -> None:
    """Integrate the fluid model of weighted flows: fixed point or limit cycle, throughputs, and what disturbances do.

    Exit 0: every disturbance fades; 1: one does not.
    """
    shares = _numbers("--weights", weights)
    rows = [analyse(weighted(scheme, shares, size, psi)) for size in _numbers("--wbar", wbar)]
    at_threshold, at_large = limits(scheme, shares)
    if as_json:
        output.print_json(
            {
                "scheme": scheme,
                "weights": shares,
                "psi": None if math.isinf(psi) else psi,
                "ratio_at_threshold": at_threshold,
                "ratio_at_large_wbar": at_large,
                "points": [{**row.model_dump(), "ratio": row.ratio(), "is_stable": row.is_stable} for row in rows],
            }
        )
    else:
        output.stdout.print(_table(rows))
        output.stdout.print(
            f"limits: {at_threshold:.4g} where wbar = {rows[0].threshold:.4g}, {at_large:.4g} for wbar to infinity"
        )
    if not all(row.is_stable for row in rows):
        raise typer.Exit(CLAIM_FAILS)


def _table(rows: list[Analysis]) -> Table:
    table = Table(
        "wbar, packets", "goes to", "throughput by C", "first by last", "fades by", "rho(Z) as published",
        box=None, header_style="bold",
    )  # fmt: skip
    for row in rows:
        where = "fixed point" if row.period is None else f"cycle of {row.period:.2f} R*"
        if row.rises > 1:
            where += f", {row.rises} rises"
        table.add_row(
            f"{row.wbar:g}",
            where,
            " ".join(f"{share:.3f}" for share in row.shares),
            f"{row.ratio():.3f}",
            f"{row.multiplier:.3g} per {'R*' if row.period is None else 'period'}",
            "-" if row.published_radius is None else f"{row.published_radius:.3g}",
        )
    return table


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ConfigError(
            f"{option} must be numbers: `{text}`", hint=f"separate them by commas: {option} 2,1"
        ) from None
