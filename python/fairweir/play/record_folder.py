"""Read the record of a run that `Run.save` or ``fairweir run --out`` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairweir.documents.toml import MAX_FILE_BYTES
from fairweir.errors import ConfigError
from fairweir.judging.summary import Summary
from fairweir.play.columns import ACK_COLUMNS, FLOW_COLUMNS, LINK_COLUMNS, PACKET_COLUMNS, Column, Columns
from fairweir.play.run import Run
from fairweir.scenario.model import Scenario

_SUMMARY = "summary.json"
_HINT = "a record is the folder that `fairweir run SCENARIO --out FOLDER` wrote"


def is_record(path: Path) -> bool:
    """Return whether a folder has the summary of a run."""
    return path.is_dir() and (path / _SUMMARY).is_file()


def load_record(folder: Path) -> Run:
    """Return the run whose record is in `folder`.

    Raises
    ------
    ConfigError : the folder has no record, or a file in it cannot be read or contradicts the others
    """
    if not is_record(folder):
        raise ConfigError(f"no record of a run: `{folder}`", hint=_HINT)
    scenario = Scenario.load(folder / "scenario.toml")
    summary = _summary(folder / _SUMMARY)
    tables = {
        name: _columns(folder / f"{name}.parquet", columns)
        for name, columns in (
            ("flows", FLOW_COLUMNS),
            ("links", LINK_COLUMNS),
            ("packets", PACKET_COLUMNS),
            ("acks", ACK_COLUMNS),
        )
    }
    series, packets = (
        (first, second) if first is not None and second is not None else None
        for first, second in ((tables["flows"], tables["links"]), (tables["packets"], tables["acks"]))
    )
    _check_sizes(folder, summary, series)
    return Run(scenario, summary, series, packets)


def _summary(path: Path) -> Summary:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise ConfigError(f"larger than {MAX_FILE_BYTES >> 20} MiB, the limit", source=str(path), hint=_HINT)
        document: Any = json.loads(raw)
        summary = Summary(document)
        # Reads all fields that results have.
        _ = summary.flows, summary.links, summary.seed, summary.world, summary.jain, summary.emulator
    except OSError as error:
        raise ConfigError(f"cannot be read: {(error.strerror or str(error)).lower()}", source=str(path)) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ConfigError("not the summary of a run", source=str(path), hint=_HINT) from None
    return summary


def _columns(path: Path, columns: tuple[Column, ...]) -> Columns | None:
    """Return the raw numbers of a table; None if there is no file."""
    if not path.is_file():
        return None
    import numpy as np

    from fairweir.play.table import Table

    found = Table.read(path)
    raw: Columns = {}
    for column in columns:
        if column.name not in found:
            raise ConfigError(f"the table has no column `{column.name}`", source=str(path), hint=_HINT)
        values = found[column.name]
        if values.dtype.kind not in "buif":
            raise ConfigError(f"the column `{column.name}` has no numbers", source=str(path), hint=_HINT)
        whole = values.filled(column.null or 0) if isinstance(values, np.ma.MaskedArray) else values
        raw[column.name] = np.ascontiguousarray(whole, dtype=column.kind).tobytes()
    return raw


def _check_sizes(folder: Path, summary: Summary, series: tuple[Columns, Columns] | None) -> None:
    """Raise an error unless each interval has one row per flow and per link of the summary."""
    if series is None:
        return
    import numpy as np

    counts = []
    for raw, number, index in zip(series, (len(summary.flows), len(summary.links)), ("flow", "link"), strict=True):
        rows = np.frombuffer(raw[index], dtype=np.uint32)
        if (
            number == 0
            or rows.size % number
            or not np.array_equal(rows, np.arange(rows.size, dtype=np.uint32) % number)
        ):
            reason = f"{index}s.parquet and summary.json are not of the same run"
            raise ConfigError(reason, source=str(folder), hint=_HINT)
        counts.append(rows.size // number)
    if counts[0] != counts[1]:
        raise ConfigError("flows.parquet and links.parquet differ in length", source=str(folder), hint=_HINT)
