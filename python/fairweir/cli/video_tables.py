"""``fairweir video tables``: measure encoders on generated content."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as Columns

from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.cli.progress import meter
from fairweir.documents.atomic_write import write_text
from fairweir.documents.results import results_folder
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError

#: Folder of finished measurements, in the folder of the tables.
PIECES = ".pieces"


def tables(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Names of tables, such as talking-head-x264; default: all tables."),
    ] = None,
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Output directory for the tables (JSON), a figure, and finished measurements."
        ),
    ] = results_folder("video tables"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated content.")] = 1,
    frames: Annotated[int, typer.Option(min=2, max=3000, help="Frames per table, at 30 per second.")] = 90,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; default one per core.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure an encoder on generated content: size and SSIM for each quantizer and age of the reference frame.

    Finished measurements are stored in DIR; after an interruption, the same command resumes.
    """
    from fairweir.video.measuring import measure
    from fairweir.video.rates import rates_figure

    pairs = list(map(_pair, names)) if names else list(_pairs().values())
    with meter("encoder tables", kept_in=out, kept="finished measurements", counts=True) as report:

        def on_progress(what: str, done: int, total: int) -> None:
            report(what)
            report.count(done, total)

        measured = measure(pairs, out / PIECES, seed=seed, frames=frames, workers=workers, on_progress=on_progress)
    for table in measured:
        write_text(out / f"{table.name}.json", table.text)
    figure = rates_figure(measured, out / "rates.png")
    rows: list[dict[str, Any]] = [
        {
            "name": table.name,
            "file": str(out / f"{table.name}.json"),
            "bytes": len(table.text),
            "mbps_min": round(float(table.mbps[-1]), 3),
            "mbps_max": round(float(table.mbps[0]), 3),
            "ssim_db_min": round(float(table.ssim_db[-1]), 2),
            "ssim_db_max": round(float(table.ssim_db[0]), 2),
        }
        for table in measured
    ]
    if as_json:
        output.print_json({"tables": rows, "figure": str(figure)})
        return
    columns = Columns(box=None, header_style="bold")
    for heading in ("table", "Mbit/s", "SSIM (dB)", "file"):
        columns.add_column(heading)
    for row in rows:
        mbps, db = (f"{row[f'{key}_min']:g} to {row[f'{key}_max']:g}" for key in ("mbps", "ssim_db"))
        columns.add_row(row["name"], mbps, db, row["file"])
    output.stdout.print(columns)
    output.stdout.print(f"figure: {figure}", soft_wrap=True, markup=False)


def _pairs() -> dict[str, tuple[str, str]]:
    from fairweir.video.codec import CODECS
    from fairweir.video.content import KINDS

    return {f"{content}-{codec}": (content, codec) for content in KINDS for codec in CODECS}


def _pair(name: str) -> tuple[str, str]:
    known = _pairs()
    if name not in known:
        raise ConfigError(f"unknown encoder table: `{name}`", hint=did_you_mean(name, list(known)), key="NAME")
    return known[name]
