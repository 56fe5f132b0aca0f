"""``fairweir contract``: the function of its observations by which a CCA's flows share a link."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fairweir.ccas.cca_spec import require, table_of
from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.cli.progress import meter
from fairweir.cli.values import count, read, read_list
from fairweir.errors import ConfigError
from fairweir.play.batch import Archive
from fairweir.scenario.overrides import parse_setting
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from fairweir.contracts.plan import Plan
    from fairweir.contracts.result import ContractResult
    from fairweir.scenario.dumbbell import Cca

CLAIM_FAILS = 1


def contract(
    ccas: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CCA...",
            help="cubic, cubic{beta=0.5}, mine.py:Class, mine.bpf.c, rule.toml, tree.json; with --design: "
            "requirements.",
        ),
    ] = None,
    *,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter of the CCAs, such as exponent=2; may repeat."),
    ] = None,
    capacities: Annotated[
        str | None, typer.Option(metavar="RATE,...", help="Link rates of the fit; default 24, 48 and 96 Mbps.")
    ] = None,
    flows: Annotated[
        str | None, typer.Option(metavar="N,...", help="Numbers of flows on each link; default 2, 3, 4, 6, 8.")
    ] = None,
    rtprops: Annotated[
        str | None,
        typer.Option(metavar="TIME,...", help="Rtprops; the first is used for the fit. Default 40, 20, 80 ms."),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(help="Buffer size as in scenarios; default 4, 20 or 1 BDP, chosen by how the CCA fills it."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs per setting.")] = 2,
    first_seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the first run.")] = 1,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="Duration of a run; the first third is warm-up.")
    ] = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="The link marks packets when its queue exceeds 0.2 BDP.")] = False,
    oracle: Annotated[bool, typer.Option("--oracle", help="Flows know their rtprop.")] = False,
    open_loop: Annotated[
        bool,
        typer.Option(
            "--open-loop",
            help="Hold one flow's observations constant and find its equilibrium rate; file.py:function adds actions.",
        ),
    ] = False,
    held: Annotated[
        str, typer.Option(metavar="NAME=LOW..HIGH", help="With --open-loop: qdelay=2ms..50ms, loss=0.01%..1%.")
    ] = "qdelay=2ms..50ms",
    table: Annotated[
        bool, typer.Option("--table", help="Print analytical contracts and their costs, without runs.")
    ] = False,
    design: Annotated[
        bool,
        typer.Option(
            "--design", help="Find a contract for requirements: noise=1ms slowest=1Mbps fastest=100Mbps error=1.5."
        ),
    ] = False,
    scenario: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --design: write a scenario whose flows follow the contract."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Plot points and fits (png, svg or pdf).")] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Store runs here; finished runs found here are reused.")
    ] = Path("contracts"),
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; default one per core.")] = None,
    as_json: AsJson = False,
) -> None:
    """Derive contracts from runs: rate as a function of delay, loss or marks, or report that none exists.

    Exit 0: every CCA has a contract, or the wishes do; 1: one has none; 2: bad input, or runs failed; 130: interrupted,
    and the same command resumes.
    """
    if table:
        show_costs(as_json)
        return
    if design:
        from fairweir.cli.contract_design import design_contract

        if not design_contract(ccas or [], scenario, as_json=as_json):
            raise typer.Exit(CLAIM_FAILS)
        return
    if not ccas:
        raise ConfigError("which CCA?", hint="fairweir contract vegas copa, or --table for analytical contracts")
    from fairweir.contracts.draw import contract_panels
    from fairweir.contracts.plan import plan_for
    from fairweir.show.plots import check_plot_path, save_figure

    if plot is not None:
        check_plot_path(plot)
    changes: dict[str, Any] = {
        key: value
        for key, value in {
            "capacities": read_list(capacities, "--capacities", Rate.parse) if capacities is not None else None,
            "flows": read_list(flows, "--flows", count, hint="write --flows 2,4,8") if flows is not None else None,
            "rtprops": read_list(rtprops, "--rtprops", Duration.parse) if rtprops is not None else None,
        }.items()
        if value is not None
    }
    changes |= {"seeds": tuple(range(first_seed, first_seed + seeds)), "ecn": ecn, "oracle": oracle}
    if buffer is not None:
        changes |= {"deep_buffer": buffer, "ample_buffer": buffer, "shallow_buffer": buffer}
    if duration is not None:
        changes["duration"] = read(duration, "--duration", Duration.parse)
        changes["warmup"] = changes["duration"] / 3
    parameters = dict(map(parse_setting, settings or ()))
    archive = Archive(out)

    def derive(cca: Cca) -> ContractResult:
        if open_loop:
            from fairweir.cli.contract_open_loop import derive_held, read_held

            return derive_held(cca, read_held(held), archive, workers)
        return _derive(cca, replace(plan_for(cca), **changes), archive, workers)

    named: list[Cca] = [{**table_of(cca), **parameters} if parameters else cca for cca in dict.fromkeys(ccas)]
    if not open_loop:  # which is also used without --json
        for cca in named:
            require(cca)
    results = [derive(cca) for cca in named]
    if plot is not None:
        save_figure(contract_panels(results), plot)
    if as_json:
        output.print_json({"contracts": [result.model_dump(mode="json") for result in results]})
    else:
        show(results)
    if any(result.outcome == "failed" for result in results):
        raise typer.Exit(2)
    if not all(result.has_contract for result in results):
        raise typer.Exit(CLAIM_FAILS)


def _derive(cca: Cca, plan: Plan, archive: Archive, workers: int | None) -> ContractResult:
    from fairweir.contracts.cached_runs import cached
    from fairweir.contracts.empirical import derive
    from fairweir.scenario.dumbbell import cca_name

    with meter(cca_name(cca), kept_in=archive.directory, counts=True) as report:
        return derive(
            cca,
            plan=plan,
            measure=cached(archive, workers=workers, on_run=report.count),
            on_progress=lambda what: report(f"{cca_name(cca)}: {what}"),
        )


def show(results: list[ContractResult]) -> None:
    """Print the contracts, and their unusual properties."""
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


def show_costs(as_json: bool) -> None:
    """Print the contracts that follow from conditions of rest, and their costs (thesis Table 6.2)."""
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
        "ledbat: no row: its action depends on the delay alone, not on the rate (fairweir contract --open-loop ledbat)",
        soft_wrap=True,
    )
    output.stdout.print(
        f"qdelay in [{setting.s_min:g}, {setting.s_max:g}] ms, noise {setting.noise:g} ms, rtprop {setting.rtprop:g}"
        f" ms; a loss or mark rate of {setting.per_ms:g} is equivalent to 1 ms; {setting.hops} hops, "
        f"{setting.flows} flows;"
        " lower is better, except for generality; corner: the steepest contract for its robustness to noise, or "
        "over hops",
        style="dim",
        soft_wrap=True,
    )
