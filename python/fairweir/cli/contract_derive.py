"""``fairweir contract derive``: the contracts of CCAs from runs on dumbbells."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairweir.ccas.cca_spec import require
from fairweir.cli.contract_results import Out, Parameters, Plot, archive_of, report_results, with_parameters
from fairweir.cli.options import AsJson, ClusterAddress, Workers, where
from fairweir.cli.progress import meter
from fairweir.cli.values import count, read, read_list
from fairweir.play.batch import Archive
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    from fairweir.contracts.plan import Plan
    from fairweir.contracts.result import ContractResult
    from fairweir.play.pool import Where
    from fairweir.scenario.dumbbell import Cca


def derive(
    ccas: Annotated[
        list[str],
        typer.Argument(
            metavar="CCA...", help="cubic, cubic{beta=0.5}, mine.py:Class, mine.bpf.c, rule.toml, tree.json."
        ),
    ],
    *,
    settings: Parameters = None,
    capacities: Annotated[
        str | None, typer.Option(metavar="RATE,...", help="Link rates of the runs; default 24, 48 and 96 Mbps.")
    ] = None,
    flows: Annotated[
        str | None, typer.Option(metavar="N,...", help="Numbers of flows on each link; default 2, 3, 4, 6, 8.")
    ] = None,
    rtprops: Annotated[
        str | None,
        typer.Option(
            metavar="TIME,...", help="Rtprops of the flows; the fit uses the first one. Default 40, 20, 80 ms."
        ),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            help="Buffer size as in scenarios; default 4, 20 or 1 BDP, depending on how the CCA fills the buffer."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs per setting.")] = 2,
    first_seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the first run.")] = 1,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="Duration of a run; the first third is warm-up.")
    ] = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="The link marks packets when its queue exceeds 0.2 BDP.")] = False,
    oracle: Annotated[bool, typer.Option("--oracle", help="Flows know their rtprop.")] = False,
    plot: Plot = None,
    out: Out = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Derive contracts from runs (a flow's rate as a function of delay, loss or marks), or report that none exists.

    Exit 0: every CCA has a contract.
    Exit 1: a CCA has no contract.
    Exit 2: bad input, or runs failed.
    Exit 130: interrupted; the same command resumes.
    """
    from fairweir.contracts.plan import plan_for

    if plot is not None:
        from fairweir.show.plots import check_plot_path

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
    named = with_parameters(ccas, settings)
    for cca in named:
        require(cca)
    place = where(workers, cluster)
    results = [_derive(cca, replace(plan_for(cca), **changes), archive_of(cca, out), place) for cca in named]
    report_results(results, plot, as_json=as_json)


def _derive(cca: Cca, plan: Plan, archive: Archive, workers: Where) -> ContractResult:
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
