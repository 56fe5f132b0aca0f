"""``fairweir synth`` of a query of the game: a decision tree, its shield, and the proofs of each leaf."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from fairweir.cli import output
from fairweir.cli.progress import meter
from fairweir.cli.verify_controller import details, keep
from fairweir.documents.results import results_folder
from fairweir.formal.solving.solvers import Budget, SolverName

if TYPE_CHECKING:
    from fairweir.game.synthesis import Synthesis
    from fairweir.play.cluster import Cluster

CLAIM_FAILS = 1
NOT_DECIDED = 2
#: Folder in the output directory with a file for each refutation.
REFUTATIONS = "refutations"


def synth_game(
    path: Path,
    document: Mapping[str, Any],
    *,
    out: Path | None,
    workers: int | Cluster,
    budget: Budget,
    solvers: Sequence[SolverName],
    as_json: bool,
) -> None:
    """Synthesize a controller, prove the claims about its leaves, and print the results.

    Parameters
    ----------
    path : Path of the query
    document : content of the query, with overrides

    Raises
    ------
    typer.Exit : 1 if a claim about a leaf is refuted, 2 if a claim is neither refuted nor proved
    ConfigError : the file is not a query of the game, or the directory has labels of another query
    """
    from fairweir.documents.atomic_write import write_text
    from fairweir.game.page import write_page
    from fairweir.game.query import GameQuery
    from fairweir.game.synthesis import Workshop, documented, summary

    query = GameQuery.load(path, dict(document))
    directory = out if out is not None else results_folder("synth", query.name)
    begin = time.monotonic()
    with meter(query.name, kept_in=directory, kept="finished labels", counts=True) as bar:

        def report(stage: str, done: int, total: int) -> None:
            bar(f"{query.name}: {stage}")
            bar.count(done, total)

        found = Workshop(query, directory, workers, report, budget, solvers).synthesise()
    refuted = keep(found.verdicts, directory / REFUTATIONS)
    write_text(directory / "results.json", documented(found))
    report_path = write_page(found, directory / "report.html")
    output.stderr.print(f"written to {report_path}", soft_wrap=True)
    if as_json:
        output.print_json({**summary(found), "directory": str(directory)})
    else:
        _show(found, refuted, directory, time.monotonic() - begin)
    outcomes = {verdict.outcome.value for verdict in found.verdicts}
    if "refuted" in outcomes:
        raise typer.Exit(CLAIM_FAILS)
    if not found.is_proved:
        raise typer.Exit(NOT_DECIDED)


def _show(found: Synthesis, refuted: dict[tuple[int, str], Path], directory: Path, elapsed_s: float) -> None:
    output.stdout.print(_candidates(found))
    output.stdout.print()
    output.stdout.print(_judged(found))
    output.stdout.print()
    for verdict in found.verdicts:
        if verdict.outcome.value != "proved":
            path = " and ".join(map(str, found.paths[verdict.leaf]))
            for line in details(verdict, path, refuted):
                output.stdout.print(line, soft_wrap=True)
    labelled = ", ".join(f"{count:,} {source}" for source, count in found.labelled.items())
    output.stdout.print(f"labeled situations: {labelled}", soft_wrap=True)
    proofs = ", ".join(f"{count} {outcome}" for outcome, count in found.outcomes.items())
    leaves = found.chosen.tree.leaves
    output.stdout.print(f"{found.query.name}: {leaves} leaves, claims: {proofs}; {elapsed_s:.1f} s", soft_wrap=True)
    output.stdout.print(f"{directory / 'controller.json'}", soft_wrap=True)


def _candidates(found: Synthesis) -> Table:
    """Return a table of the candidate trees, with their results on the links by which a tree was chosen."""
    is_video = found.query.kind == "video"
    table = Table("tree", box=None, header_style="bold")
    frames = ["frames"] if is_video else []
    for heading in ("leaves", "zero regret", "goodput", *frames, "queue, steps"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for one in found.candidates:
        ratios = [one.closed.goodput, *([one.closed.frames] if is_video else [])]
        chosen = "chosen" if one is found.chosen else ""
        cells = [str(one.tree.leaves), f"{one.free:.1%}", *(f"{ratio:.1%}" for ratio in ratios)]
        table.add_row(one.name, *cells, f"{one.closed.queue:+.3f}", chosen)
    return table


def _judged(found: Synthesis) -> Table:
    """Return a table that compares the chosen tree with the search, on links that were not used for the choice."""
    from fairweir.game.synthesis import QUANTITIES

    table = Table("on links not used for the choice", box=None, header_style="bold")
    tree, search = found.judged.document(), found.search.document()
    for heading in ("tree", "95 % interval", "search", "tree / search"):
        table.add_column(heading, justify="right")
    for key, words in QUANTITIES.items():
        if key == "frames" and found.query.kind != "video":
            continue
        ratio = {"goodput": found.closed.goodput, "frames": found.closed.frames}.get(key)
        one = tree[key]
        ends = f"{one['lo']:.3f} to {one['hi']:.3f}"
        shown = "" if ratio is None else f"{ratio:.1%}"
        table.add_row(words, f"{one['mean']:.3f}", ends, f"{search[key]['mean']:.3f}", shown)
    return table
