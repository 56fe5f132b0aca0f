"""``fairweir video evaluate``: senders compared with the bars of docs/video.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from fairweir.cli import output
from fairweir.cli.options import AsJson, file_of
from fairweir.cli.progress import meter
from fairweir.cli.video_run import Length, number, prepare
from fairweir.documents.atomic_write import write_text
from fairweir.documents.results import results_folder
from fairweir.video.evaluate import FOUR, Bar, Evaluation, Kept, mean_sessions
from fairweir.video.evaluate import evaluate as run_all
from fairweir.video.scenario import VideoScenario
from fairweir.video.senders import Sender

#: File in the output directory with the document that ``--json`` prints.
RESULTS = "results.json"


def evaluate(
    scenarios: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[SCENARIO]...", parser=file_of("video"), help=f"Default {', '.join(FOUR)}."),
    ] = None,
    *,
    trace: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Also evaluate on a mahimahi trace. Repeatable.")
    ] = None,
    sender: Annotated[
        list[str] | None,
        typer.Option(help="Sender to evaluate, as for `video run`; default: rules. Repeatable."),
    ] = None,
    encoder: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Encoder table; default: the scenario's. Repeatable.")
    ] = None,
    duration: Length = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 3,
    out: Annotated[
        Path, typer.Option(help="Write report.html and results.json here; finished sessions found here are reused.")
    ] = results_folder("video evaluate"),
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; default one per core.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare senders with the bars (thresholds) of docs/video.md, the baselines, and a sender that knows the link.

    Exit 0: all bars hold.
    Exit 1: a bar fails.
    Exit 2: bad input, or a session could not run.
    Exit 130: interrupted; the same command resumes.
    """
    candidates = [Sender.parse(word) for word in sender or ["rules"]]
    links: list[VideoScenario] = []
    tables: list[str | None] = [*encoder] if encoder else [None]
    for table in tables:
        links += [prepare(path, None, table, duration) for path in scenarios or map(Path, FOUR)]
        links += [prepare("fixed", path, table, duration) for path in trace or ()]
    kept = Kept(out)
    with meter("video", kept_in=out, kept="finished sessions", counts=True) as report:

        def on_done(problem: str, done: int, total: int) -> None:
            report.count(done, total)
            if problem:
                output.stderr.print(problem, markup=False, soft_wrap=True)

        found = run_all(links, candidates, seeds=seeds, kept=kept, workers=workers, on_done=on_done)
    from fairweir.video.page import write_evaluation

    write_evaluation(found, out / "report.html")
    output.stderr.print(f"written to {out / 'report.html'}", soft_wrap=True)
    document = {
        "seeds": seeds,
        "sessions": [one.to_dict() for one in found.sessions],
        "bars": [bar.to_dict() for bar in found.bars],
        "failures": found.failures,
    }
    write_text(out / RESULTS, json.dumps(output.finite(document), indent=2, allow_nan=False) + "\n")
    if as_json:
        output.print_json(document)
    else:
        _show(found)
    if found.failures:
        raise typer.Exit(2)
    if not all(bar.holds for bar in found.bars):
        raise typer.Exit(1)


def _show(found: Evaluation) -> None:
    table = Table("link", "encoder", "sender", box=None, header_style="bold")
    for heading in ("delay p50 ms", "p95", "SSIM p25 dB", "p50", "mean", "fps"):
        table.add_column(heading, justify="right")
    for one, means in mean_sessions(found.sessions):
        cells = [
            number(means[key].value if key in means else None, places)
            for key, places in (
                ("delay_p50_ms", 0),
                ("delay_p95_ms", 0),
                ("ssim_p25_db", 2),
                ("ssim_p50_db", 2),
                ("ssim_mean_db", 2),
                ("fps", 2),
            )
        ]
        table.add_row(one.scenario, one.encoder, one.sender, *cells)
    output.stdout.print(table)
    output.stdout.print()
    output.stdout.print(_bars(found.bars))


def _bars(bars: list[Bar]) -> Table:
    table = Table("link", "encoder", "sender", "bar", box=None, header_style="bold")
    for heading in ("", "bound", "measured", "95 % interval"):
        table.add_column(heading, justify="right")
    for bar in bars:
        verdict = Text("holds", "green") if bar.holds else Text("fails", "bold red")
        bound = f"{'<=' if bar.is_upper else '>='} {bar.bound:g}"
        ends = f"{bar.measured.lo:.2f} to {bar.measured.hi:.2f}"
        table.add_row(
            bar.scenario, bar.encoder, bar.sender, bar.quantity, verdict, bound, f"{bar.measured.value:.2f}", ends
        )
    return table
