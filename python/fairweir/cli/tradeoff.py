"""``fairweir tradeoff``: the bound of thesis theorem 4.2.1 for a given loss allowance."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.cli.values import read
from fairweir.formal.lemmas.tradeoff import Allowance, min_time, rounds_to
from fairweir.units import Bytes, Duration, Rate

NO_BOUND = "no bound exists without a buffer or a delay"


def tradeoff(
    allowances: Annotated[
        list[str],
        typer.Argument(
            metavar="F...",
            help="Loss allowance: packets that may be lost if the BDP is C packets, such as 5, sqrt(C), 0.1*C.",
        ),
    ],
    start: Annotated[
        str,
        typer.Option("--from", metavar="RATE", help="Lower bound on the link rate that the flow knows at its start."),
    ] = "1Mbps",
    goal: Annotated[str, typer.Option("--to", metavar="RATE", help="Actual link rate.")] = "100Mbps",
    rtprop: Annotated[str, typer.Option(metavar="TIME", help="R, the two-way propagation delay.")] = "40ms",
    buffer: Annotated[str, typer.Option(metavar="TIME", help="The link's buffer, at most the jitter D.")] = "20ms",
    packet: Annotated[str, typer.Option(metavar="SIZE", help="Size of a packet.")] = "1500B",
    as_json: AsJson = False,
) -> None:
    """Compute the minimum time in which any CCA can find a link's rate within a loss allowance (thesis theorem 4.2.1).

    The link is a CBR-delay link with a shallow buffer.
    """
    r = read(rtprop, "--rtprop", Duration.parse, hint=NO_BOUND)
    size = read(packet, "--packet", Bytes.parse)
    c_0, c = (read(rate, key, Rate.parse) * r / size for key, rate in (("--from", start), ("--to", goal)))
    buffer_r = read(buffer, "--buffer", Duration.parse, hint=NO_BOUND) / r
    rows: list[dict[str, Any]] = []
    for text in allowances:
        allowance = Allowance(text)
        rows.append(
            {
                "allowance": text,
                "lost_pkts_at_goal": allowance(c),
                "rounds": rounds_to([c], allowance, c_0, buffer_r)[0],
                "min_s": min_time(c, allowance, c_0, buffer_r) * r.s,
            }
        )
    if as_json:
        output.print_json({"from_pkts": c_0, "to_pkts": c, "buffer_r": buffer_r, "bounds": rows})
        return
    table = Table("f(C), packets", f"at {goal}", "F^-1(C), round trips", "minimum time", box=None, header_style="bold")
    for row in rows:
        table.add_row(
            row["allowance"], f"{row['lost_pkts_at_goal']:.3g}", f"{row['rounds']:,}", f"{row['min_s']:.3g} s"
        )
    output.stdout.print(f"from {start} to {goal}: BDP of {c_0:.3g} to {c:.3g} packets, buffer of {buffer_r:.3g} R")
    output.stdout.print(table)
