"""``fairweir contract table``: the contracts that follow by algebra, and their costs."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table

from fairweir.cli import output
from fairweir.cli.options import AsJson


def table(*, as_json: AsJson = False) -> None:
    """Print contracts derived from equilibrium conditions, without runs, and their costs (thesis table 6.2)."""
    from fairweir.contracts.analytical import CONDITIONS, Setting, costs

    setting = Setting()
    rows = [costs(condition, setting) for condition in CONDITIONS]
    if as_json:
        document = [
            {
                "ccas": row.condition.ccas,
                "statistic": row.condition.statistic,
                "rate": str(row.condition.rate),
                "fold": row.condition.fold.value,
                "source": row.condition.source,
                "robustness": row.robustness,
                "unfairness": row.unfairness,
                "growth": row.growth,
                "generality": row.generality,
                "corner": row.corner,
                "starves": row.condition.starves,
                "note": row.condition.note,
            }
            for row in rows
        ]
        output.print_json({"setting": asdict(setting), "contracts": document})
        return
    columns = ("CCA", "s", "rate", "fold", "robustness", "unfairness", "growth", "generality", "corner")
    shown = Table(*columns, box=None, header_style="bold")
    for row in rows:
        numbers = (row.robustness, row.unfairness, row.growth, row.generality)
        condition = row.condition
        names = ", ".join(condition.ccas)
        shown.add_row(
            names,
            condition.statistic,
            str(condition.rate),
            condition.fold.value,
            *(f"{n:.3g}" for n in numbers),
            row.corner.value if row.corner else "",
        )
    output.stdout.print(shown)
    for row in rows:
        if said := row.condition.starves or row.condition.note:
            output.stdout.print(f"{', '.join(row.condition.ccas)}: {said}", soft_wrap=True)
    output.stdout.print(
        "ledbat has no row: its action depends only on the delay, not on the rate (fairweir contract open-loop ledbat)",
        soft_wrap=True,
    )
    output.stdout.print(
        f"qdelay in [{setting.s_min:g}, {setting.s_max:g}] ms, noise {setting.noise:g} ms, rtprop {setting.rtprop:g}"
        f" ms; a loss or mark rate of {setting.per_ms:g} is equivalent to 1 ms; {setting.hops} hops, "
        f"{setting.flows} flows;"
        " lower is better, except for generality; corner: the steepest contract with its robustness to noise or "
        "its unfairness over hops",
        style="dim",
        soft_wrap=True,
    )
