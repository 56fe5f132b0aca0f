"""Tables as other libraries and other readers receive them."""

from __future__ import annotations

import math
import random
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairweir.errors import ConfigError, MissingExtraError
from fairweir.play.table import Labels, Table

COLUMNS: dict[str, Any] = {
    "t_ns": np.array([1, 5, 2**63 + 1], dtype="uint64"),
    "flow": np.array([0, 1, 0], dtype="uint32"),
    "id": Labels(np.array([0, 1, 0], dtype="int32"), ("bbr-1", "é 2", "never")),
    "acked_ns": np.ma.MaskedArray(np.array([3, 0, 7], dtype="uint64"), mask=[False, True, False]),
    "rtt_ms": np.array([1.5, np.nan, -0.0]),
    "is_marked": np.array([True, False, True]),
    "flow.0.cca": np.array(["bbr", None, "a\nb"], dtype=object),
}
UNITS = {"t_ns": "ns", "acked_ns": "ns", "rtt_ms": "ms"}
ROWS = [
    {"t_ns": 1, "flow": 0, "id": "bbr-1", "acked_ns": 3, "rtt_ms": 1.5, "is_marked": True, "flow.0.cca": "bbr"},
    {"t_ns": 5, "flow": 1, "id": "é 2", "acked_ns": None, "rtt_ms": None, "is_marked": False, "flow.0.cca": None},
    {"t_ns": 2**63 + 1, "flow": 0, "id": "bbr-1", "acked_ns": 7, "rtt_ms": 0, "is_marked": True, "flow.0.cca": "a\nb"},
]


def a_table() -> Table:
    return Table(COLUMNS, UNITS, {"certificate": '{"é": 1}'})


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace NaN by None, which equals itself."""

    def known(value: Any) -> Any:
        return None if isinstance(value, float) and math.isnan(value) else value

    return [{key: known(value) for key, value in row.items()} for row in rows]


def test_a_file_has_types_units_metadata_and_values_for_another_reader(tmp_path: Path) -> None:
    found = pq.read_table(a_table().write(tmp_path / "a.parquet"))
    assert plain(found.to_pylist()) == ROWS
    assert [str(field.type) for field in found.schema] == [
        "uint64",
        "uint32",
        "dictionary<values=string, indices=int32, ordered=0>",
        "uint64",
        "double",
        "bool",
        "string",
    ]
    units = {field.name: (field.metadata or {}).get(b"unit") for field in found.schema}
    assert units == dict.fromkeys(COLUMNS) | {name: unit.encode() for name, unit in UNITS.items()}
    assert found.schema.metadata[b"certificate"].decode() == '{"é": 1}'
    assert found["acked_ns"].null_count == 1
    assert found["rtt_ms"].null_count == 0
    assert plain(pl.read_parquet(tmp_path / "a.parquet").to_dicts()) == ROWS
    group = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0)
    encodings = {group.column(i).path_in_schema: group.column(i).encodings for i in range(len(COLUMNS))}
    assert all("DELTA_BINARY_PACKED" in encodings[name] for name in ("t_ns", "flow", "acked_ns"))


def test_a_file_is_read_as_it_was_written_and_written_alike(tmp_path: Path) -> None:
    first, again = (a_table().write(tmp_path / name) for name in ("a", "b"))
    assert Table.read(first) == a_table()
    assert first.read_bytes() == again.read_bytes()
    # in another process, too
    code = f"from fairweir.play.table import Table; Table.read({str(first)!r}).write({str(tmp_path / 'c')!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "c").read_bytes() == first.read_bytes()
    empty = Table({"a": np.array([], dtype="uint64"), "b": Labels(np.array([], dtype="int32"), ("x",))})
    assert Table.read(empty.write(tmp_path / "empty"))["a"].dtype == "uint64"
    assert len(Table.read(Table({}).write(tmp_path / "none"))) == 0


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int8", "float32", "float64", "bool"])
def test_limits_of_a_type_survive_next_to_missing_values(dtype: str, tmp_path: Path) -> None:
    ends: list[Any] = [np.nan, -np.inf, 0.1] if dtype.startswith("float") else [True, False, True]
    if "int" in dtype:
        ends = [np.iinfo(dtype).min, np.iinfo(dtype).max, np.iinfo(dtype).max - 1]
    table = Table({"a": np.ma.MaskedArray(np.array([*ends, 0], dtype=dtype), mask=[False, False, False, True])})
    found = Table.read(table.write(tmp_path / "a"))
    assert found == table
    assert plain(pq.read_table(tmp_path / "a").to_pylist()) == plain(found.to_rows())
    nothing = Table({"a": np.ma.MaskedArray(np.array([1, 1], dtype=dtype), mask=True)})
    assert Table.read(nothing.write(tmp_path / "b")) == nothing


def test_numbers_of_another_byte_order_are_the_same_numbers(tmp_path: Path) -> None:
    some = np.ma.MaskedArray(np.array([1, 2, 3], ">f8"), mask=[False, True, False])
    table = Table({"a": np.array([0, 1, -2], dtype=">i4"), "b": some})
    rows = [{"a": 0, "b": 1.0}, {"a": 1, "b": None}, {"a": -2, "b": 3.0}]
    assert pq.read_table(table.write(tmp_path / "a")).to_pylist() == rows
    assert Table.read(tmp_path / "a").to_rows() == rows


@pytest.mark.parametrize("options", [{}, {"compression": "zstd", "use_dictionary": False}, {"row_group_size": 2}])
def test_files_that_others_wrote_are_read(options: dict[str, Any], tmp_path: Path) -> None:
    pq.write_table(pa.table(a_table()), tmp_path / "theirs.parquet", **options)
    assert Table.read(tmp_path / "theirs.parquet").to_arrow() == a_table().to_arrow()


def test_tables_differ_by_values_types_masks_units_and_names() -> None:
    same = Table({"a": np.array([1, 2])})
    assert same == Table({"a": np.array([1, 2])})
    for other in (
        Table({"a": np.array([1, 3])}),
        Table({"a": np.array([1, 2], dtype="uint8")}),
        Table({"a": np.ma.MaskedArray([1, 2], mask=[False, True])}),
        Table({"a": np.array([1, 2])}, {"a": "ms"}),
        Table({"b": np.array([1, 2])}),
        Table({"a": np.array([1])}),
    ):
        assert same != other
    with pytest.raises(ValueError, match="different lengths"):
        Table({"a": np.array([1]), "b": np.array([1, 2])})


def test_other_libraries_take_a_table() -> None:
    table = a_table()
    assert plain(table.to_polars().to_dicts()) == plain(pa.table(table).to_pylist()) == plain(table.to_rows()) == ROWS
    assert table.to_polars().schema["id"] == pl.Categorical
    frame = table.to_pandas()
    assert frame["acked_ns"].isna().tolist() == [False, True, False]
    assert frame["t_ns"].tolist() == [1, 5, 2**63 + 1]
    assert frame["acked_ns"].dtype == "UInt64"
    assert frame["id"].tolist() == ["bbr-1", "é 2", "bbr-1"]
    assert frame.attrs["units"] == UNITS


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match="`to_polars` needs polars, which is not installed") as caught:
        a_table().to_polars()
    assert caught.value.hint == "pip install polars"


def test_rows_become_columns() -> None:
    table = Table.from_rows([{"a": 1, "b": "x"}, {"a": None, "c": 0.5}, {"a": 3, "b": "y", "c": None}])
    assert table.to_dict() == {"a": [1, None, 3], "b": ["x", None, "y"], "c": [None, 0.5, None]}
    assert table["a"].dtype == "int64"
    assert Table.from_rows([{"a": 1}, {"a": 0.5}])["a"].tolist() == [1.0, 0.5]
    assert Table.from_rows([{"a": True}, {"a": False}])["a"].dtype == bool


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"a": 1}, {"a": "x"}], "a column has numbers and text: `1` and `'x'`"),
        ([{"a": True}, {"a": None}, {"a": 2}], "a column has flags and numbers: `True` and `2`"),
        ([{"a": "x"}, {"a": 0.5}], "a column has text and numbers"),
        ([{"a": [1]}], "neither a number, a flag nor text: `[1]`"),
        ([{"a": b"x"}], "neither a number, a flag nor text"),
        ([{"a": 2**70}], f"an integer needs more than 64 bits: `{2**70}`"),
        ([{"a": 2**63}, {"a": -1}], "an integer needs more than 64 bits"),
        ([{1: 2}], "a row must be a dict with text as keys: `{1: 2}`"),
        ([3], "a row must be a dict"),
    ],
)
def test_rows_that_are_no_table(rows: list[Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        Table.from_rows(rows)


@pytest.mark.parametrize("values", [np.array([1, "x"], dtype=object), np.array([1j]), np.array([[1], [2]])])
def test_columns_that_no_file_can_have(values: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"neither numbers, flags nor text|other values than text") as caught:
        Table({"a": values}).write(tmp_path / "a.parquet")
    assert caught.value.key == "a"
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_ends_no_process_and_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """arro3 panics at some of these bytes, prints that, and aborts the process at others."""
    whole = a_table().write(tmp_path / "whole").read_bytes()
    dice = random.Random(1)  # noqa: S311
    outcomes = set()
    for _ in range(30):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[dice.randrange(4, len(damaged) - 4)] = dice.randrange(256)
        path = tmp_path / "damaged"
        path.write_bytes(damaged)
        try:
            Table.read(path)
            outcomes.add("read")
        except ConfigError as error:
            outcomes.add(str(error).partition(" (")[0])
    assert "cannot be read as Parquet: it is damaged" in outcomes
    assert capfd.readouterr() == ("", "")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = a_table().write(tmp_path / "a.parquet")
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
        with pytest.raises(OSError, match="File too large"):
            Table({"a": np.arange(1000)}).write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_shows_itself() -> None:
    table = a_table()
    assert repr(table).startswith("<Table of 3 rows: t_ns (ns), flow, id, acked_ns (ns)")
    assert "<th>rtt_ms<br><small>ms</small></th>" in table._repr_html_()
    many = Table({"a<b>": np.arange(1000)})
    assert "a&lt;b&gt;" in many._repr_html_()
    assert "and 990 more rows" in many._repr_html_()
    with pytest.raises(KeyError, match=re.escape("no column `rtt_mss`: did you mean `rtt_ms`?")):
        _ = table["rtt_mss"]


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    text, cut, nested = (tmp_path / name for name in ("text", "cut", "nested"))
    text.write_text("seed = 1")
    whole = a_table().write(tmp_path / "whole").read_bytes()
    damaged = bytearray(whole)
    damaged[-300:-20] = bytes(280)
    cut.write_bytes(damaged)
    pq.write_table(pa.table({"a": [[1], [2]]}), nested)
    for path, problem in (
        (text, "Parquet"),
        (cut, "Parquet"),
        (nested, "neither numbers nor text"),
        (tmp_path, "is a directory"),
        (tmp_path / "missing", "no such file"),
    ):
        with pytest.raises(ConfigError, match=problem) as caught:
            Table.read(path)
        assert caught.value.source == str(path)
        assert caught.value.hint
