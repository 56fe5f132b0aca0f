"""``fairweir reproduce``: published results, with the published value next to ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairweir.cli import output
from fairweir.cli.options import AsJson, ClusterAddress, SimulationWorkers, where
from fairweir.cli.progress import meter, on_played
from fairweir.documents import shipped
from fairweir.documents.atomic_write import write_text
from fairweir.documents.results import results_folder
from fairweir.errors import ConfigError
from fairweir.papers.catalogue import computed_entries
from fairweir.play.batch import Archive
from fairweir.reproduce.computed import Computed
from fairweir.reproduce.experiment import Experiment, known_ids, load_all, named
from fairweir.reproduce.index import Index, items_of_experiments, load_index, tables, write_page
from fairweir.reproduce.page import outcomes_page
from fairweir.reproduce.runner import Reproduction
from fairweir.reproduce.runner import reproduce as play
from fairweir.reproduce.table import list_rows, show, show_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairweir.play.run import TcpWorld

CLAIM_FAILS = 1
WORLDS: dict[str, list[TcpWorld]] = {"sim": ["sim"], "kernel": ["kernel"], "both": ["sim", "kernel"]}


def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="IDs or ID prefixes of published results.")
    ] = None,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Run or compute all published results; the same as giving no ID.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds and shorter runs, in the simulator; stored in DIR/quick.")
    ] = False,
    world: Annotated[Literal["sim", "kernel", "both"], typer.Option("--on", help="World to run in.")] = "sim",
    list_only: Annotated[
        bool, typer.Option("--list", help="List the published results without running anything.")
    ] = False,
    index: Annotated[
        bool,
        typer.Option("--index", help="Print the status of every figure, table and theorem without running anything."),
    ] = False,
    directory: Annotated[
        Path | None,
        typer.Option("--experiments", metavar="DIR", help="Directory of experiment files; default: the shipped ones."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="DIR", help="Plot the first run of each setting (PNG).")] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write published values, our values and verdicts (with --index: the status tables) as Markdown.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Store results here; finished runs found here are reused.")
    ] = results_folder("reproduce"),
    workers: SimulationWorkers = None,
    cluster: ClusterAddress = None,
    as_json: AsJson = False,
) -> None:
    """Run or compute published results; print the published value, our value, and a verdict.

    Exit 0: no check fails without a known reason.
    Exit 1: a check fails for no known reason.
    Exit 2: the command could not run.
    Exit 130: interrupted; the same command resumes.
    """
    if index:
        papers = _index()
        if page is not None:
            write_page(papers, page)
            output.stderr.print(f"written to {page}", soft_wrap=True)
        if as_json:
            output.print_json(papers.model_dump())
        else:
            output.stdout.print(*tables(papers))
        return
    if everything and ids:
        raise ConfigError(f"--all and IDs exclude each other: {', '.join(ids)}", hint="leave out --all or the IDs")
    out = out / "quick" if quick else out
    experiments, computed = choose(directory, ids or [], has_sim=world != "kernel")
    if list_only:
        if as_json:
            output.print_json(list_rows(experiments, computed))
        else:
            show_list(experiments, computed, output.stdout)
        return
    if page is not None and not page.absolute().parent.is_dir():
        raise ConfigError(
            f"no such directory: `{page.parent}`", hint="create the directory, or choose another path for --page"
        )
    if plot is not None:
        plot.mkdir(parents=True, exist_ok=True)
    with meter("reproduce", kept_in=out) as report:
        result = play(
            experiments,
            WORLDS[world],
            quick=quick,
            computed=computed,
            archive=Archive(out),
            pictures=plot,
            workers=where(workers, cluster),
            on_done=on_played(report),
            on_compute=lambda entry: report(f"computing {entry.id}", 1.0),
        )
    keep(result, out)
    if page is not None:
        words = ["fairweir reproduce", *(ids or ["--all"]), *(["--quick"] if quick else [])]
        write_text(page, outcomes_page(result, " ".join(words)))
    if as_json:
        output.print_json(result.document())
    else:
        show(result, output.stdout)
    if result.unexplained:
        raise typer.Exit(CLAIM_FAILS)


def _index() -> Index:
    """Return the index, with the shipped experiments and the computed entries."""
    computed = {entry.id: entry.items for entry in computed_entries()}
    return load_index(items_of_experiments(shipped.folder("experiments")) | computed)


def choose(directory: Path | None, ids: Sequence[str], *, has_sim: bool) -> tuple[list[Experiment], list[Computed]]:
    """Return the experiments and the computed entries that `ids` select; computed entries exist only for the simulator.

    Raises
    ------
    ConfigError : an unknown ID, or an invalid experiment file
    """
    folder = directory or shipped.folder("experiments")
    computed = {} if directory is not None or not has_sim else {entry.id: entry for entry in computed_entries()}
    if not ids:
        return load_all(folder), list(computed.values())
    chosen = named([*known_ids(folder), *computed], ids, source=str(folder))
    played = [name for name in chosen if name not in computed]
    return load_all(folder, played) if played else [], [computed[name] for name in chosen if name in computed]


def keep(result: Reproduction, folder: Path) -> None:
    """Write ``reproduced.json`` to `folder`."""
    import json

    document = json.dumps(output.finite(result.document()), indent=2, allow_nan=False)
    write_text(folder / "reproduced.json", document + "\n")
