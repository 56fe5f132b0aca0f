"""``fairweir contract open-loop``: the rates that CCAs and action maps choose for fixed observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, get_args

import typer

from fairweir.ccas.lookup import is_python
from fairweir.cli.contract_results import Out, Parameters, Plot, archive_of, report_results, with_parameters
from fairweir.cli.options import AsJson, ClusterAddress, Workers, where
from fairweir.cli.progress import meter
from fairweir.cli.values import read_range
from fairweir.contracts.action_map import Held, HeldStatistic, crossings, load_action
from fairweir.documents.quantities import parse_fraction
from fairweir.errors import ConfigError
from fairweir.play.batch import Archive
from fairweir.scenario.dumbbell import cca_name
from fairweir.units import Duration

if TYPE_CHECKING:
    from fairweir.contracts.result import ContractResult
    from fairweir.play.pool import Where
    from fairweir.scenario.dumbbell import Cca

EXAMPLE = "write qdelay=2ms..50ms or loss=0.01%..1%"
PARTS_PER_WHOLE = float(parse_fraction("100%"))
NAMES: dict[str, HeldStatistic] = dict(zip(("qdelay", "loss"), get_args(HeldStatistic), strict=True))


def open_loop(
    ccas: Annotated[
        list[str],
        typer.Argument(
            metavar="CCA...", help="As for derive, or FILE.py:FUNCTION, a function that returns changes of the rate."
        ),
    ],
    *,
    settings: Parameters = None,
    held: Annotated[str, typer.Option(metavar="NAME=LOW..HIGH", help=f"{EXAMPLE[:1].upper()}{EXAMPLE[1:]}.")] = (
        "qdelay=2ms..50ms"
    ),
    plot: Plot = None,
    out: Out = None,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Hold the delay or loss rate that one flow observes constant, and find the flow's equilibrium rate.

    Exit 0: every CCA has a contract.
    Exit 1: a CCA has no contract.
    Exit 2: bad input, or runs failed.
    Exit 130: interrupted; the same command resumes.
    """
    if plot is not None:
        from fairweir.show.plots import check_plot_path

        check_plot_path(plot)
    observed = read_held(held)
    place = where(workers, cluster)
    results = [derive_held(cca, observed, archive_of(cca, out), place) for cca in with_parameters(ccas, settings)]
    report_results(results, plot, as_json=as_json)


def read_held(text: str) -> Held:
    """Parse the range of a fixed observation: ``qdelay=LOW..HIGH`` with times, or ``loss=LOW..HIGH`` with fractions.

    Raises
    ------
    ConfigError : the text has neither form
    """
    name, _, span = text.partition("=")
    if name not in NAMES:
        raise ConfigError(f"not an observation: `{text}`", key="--held", hint=EXAMPLE)
    if name == "loss":
        return Held(NAMES[name], *read_range(span, "--held", _fraction, hint=EXAMPLE))
    least, most = read_range(span, "--held", Duration.parse, hint=EXAMPLE)
    return Held(NAMES[name], least.ms, most.ms)


def _fraction(text: str) -> float:
    return parse_fraction(text) / PARTS_PER_WHOLE


def derive_held(cca: Cca, held: Held, archive: Archive, workers: Where) -> ContractResult:
    """Derive a contract for fixed observations: from a function's zero crossings, or from a CCA's equilibrium rates."""
    from fairweir.contracts.open_loop import held_contract, of_map

    name = cca_name(cca)
    action = load_action(name) if is_python(name) else None
    if action is not None:
        if not isinstance(cca, str):
            raise ConfigError("--set has no effect on a function of actions", hint="leave out --set, or name a CCA")
        return of_map(name, held, crossings(action, held))
    what = f"{name}: {'loss' if held.statistic == 'loss_rate' else 'qdelay'} held"
    with meter(what, kept_in=archive.directory, counts=True) as report:
        return held_contract(cca, held, archive, workers=workers, on_run=report.count)
