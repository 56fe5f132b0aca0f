"""Common parts of ``contract derive`` and ``contract open-loop``: CCAs, options, and output of contracts. A contract is
the rate of a flow as a function of delay, loss or marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fairweir.ccas.cca_spec import table_of
from fairweir.cli import output
from fairweir.documents.results import results_folder
from fairweir.play.batch import Archive
from fairweir.scenario.dumbbell import cca_name
from fairweir.scenario.overrides import parse_setting

if TYPE_CHECKING:
    from fairweir.contracts.result import ContractResult
    from fairweir.scenario.dumbbell import Cca

RUNS_FAILED = 2
#: Exit code if a CCA has no contract, or if no contract meets the requirements on the command line.
CLAIM_FAILS = 1

Parameters = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter of the CCAs, such as exponent=2. Repeatable."),
]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Plot points and fits (png, svg or pdf).")]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Store runs here; finished runs found here are reused. Default results/contract/CCA."
    ),
]


def with_parameters(ccas: Sequence[str], settings: Sequence[str] | None) -> list[Cca]:
    """Return the CCAs without duplicates, with the parameters that the command line sets."""
    parameters = dict(map(parse_setting, settings or ()))
    return [{**table_of(cca), **parameters} if parameters else cca for cca in dict.fromkeys(ccas)]


def archive_of(cca: Cca, out: Path | None) -> Archive:
    """Return the store of a CCA's runs."""
    return Archive(out or results_folder("contract", cca_name(cca)))


def report_results(results: list[ContractResult], plot: Path | None, *, as_json: bool) -> None:
    """Draw and print contracts.

    Raises
    ------
    typer.Exit : a CCA has no contract, or its runs failed
    """
    if plot is not None:
        from fairweir.contracts.draw import contract_panels
        from fairweir.show.plots import save_figure

        save_figure(contract_panels(results), plot)
    if as_json:
        output.print_json({"contracts": [result.model_dump(mode="json") for result in results]})
    else:
        show(results)
    if any(result.outcome == "failed" for result in results):
        raise typer.Exit(RUNS_FAILED)
    if not all(result.has_contract for result in results):
        raise typer.Exit(CLAIM_FAILS)


def show(results: list[ContractResult]) -> None:
    """Print the contracts, and remarks on them."""
    table = Table("CCA", "contract", "exponent", "R²", "repeats", "buffer", box=None, header_style="bold")
    for result in results:
        power = result.power_exponent
        table.add_row(
            result.cca,
            result.text,
            f"{power.value:.2f} [{power.lo:.2f}, {power.hi:.2f}]" if power and result.has_contract else "-",
            f"{result.best.r_squared:.2f}" if result.best else "-",
            f"{result.repeat_ratio:.2f}" if result.repeat_ratio is not None else "-",
            result.buffer,
        )
    output.stdout.print(table)
    for result in results:
        for flag in result.flags:
            output.stdout.print(f"{result.cca}: {flag}", soft_wrap=True)
    output.stdout.print(
        "exponent: of a power law fitted to the same points; repeats: maximum ratio of a flow's shares in two runs "
        "that differ in their seed only, median over settings",
        style="dim",
        soft_wrap=True,
    )
