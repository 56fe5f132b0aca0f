"""Tables with a NumPy array and a unit per column, which polars, pandas, Arrow libraries and Parquet files can use."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fairweir.documents.atomic_write import write_bytes
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError, MissingExtraError
from fairweir.play import parquet

if TYPE_CHECKING:
    import arro3.core as arrow
    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray

#: Maximum number of rows that a table's text shows.
SHOWN_ROWS = 10
#: The first and the last four bytes of a Parquet file.
MAGIC = b"PAR1"
#: Compression with level 1; higher levels make the files of records at most 3 % smaller.
COMPRESSION = "zstd(1)"


@dataclass(frozen=True)
class Labels:
    """A column of names, stored as indices.

    Attributes
    ----------
    codes : int32 array, n; indices into `names`
    names : tuple of str
    """

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    def text(self) -> NDArray[np.object_]:
        """Return the name in each row."""
        return np.array(self.names, dtype=object)[self.codes]


Values: TypeAlias = "NDArray[Any] | Labels"


class Table:
    """Columns of equal length.

    ``table["rtt_ms"]`` is a NumPy array. A column that may lack values is a masked array, whose mask marks the missing
    values (``numpy.ma.compressed`` removes them). A table implements the Arrow stream interface (PyCapsule), so that
    Arrow libraries accept it directly: ``pyarrow.table(table)`` or ``polars.DataFrame(table)``.

    Parameters
    ----------
    columns : dict from names to arrays of numbers, flags or text (type object), or to Labels
    units : dict from names to units such as "Mbit/s"; columns without a unit are not in it
    metadata : dict of str; stored in files with the schema

    Examples
    --------
    >>> import numpy as np
    >>> table = Table({"t_s": np.array([0.5, 1.0]), "rate_mbps": np.array([3.0, 4.0])}, {"rate_mbps": "Mbit/s"})
    >>> len(table), table.units["rate_mbps"], float(table["rate_mbps"].mean())
    (2, 'Mbit/s', 3.5)
    """

    def __init__(
        self,
        columns: Mapping[str, Values],
        units: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._columns = dict(columns)
        self.units = dict(units or {})
        self.metadata = dict(metadata or {})
        if len({_length(values) for values in self._columns.values()}) > 1:
            raise ValueError("columns of different lengths")

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Table:
        """Return a table of dicts with numbers, flags and text; None and absent keys are missing values.

        Raises
        ------
        ConfigError : a row is not a dict with text as keys, a column has values of several types or of another type, or
            an integer needs more than 64 bits
        """
        for row in rows:
            given: Any = row
            if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
                raise ConfigError(f"a row must be a dict with text as keys: `{row!r:.60}`")
        names = list(dict.fromkeys(name for row in rows for name in row))
        return cls({name: _column(name, [row.get(name) for row in rows]) for name in names})

    @classmethod
    def read(cls, path: str | Path) -> Table:
        """Read a Parquet file of numbers, flags and text.

        Raises
        ------
        ConfigError : the file is not such a file
        """
        found = parquet.read_arrow(Path(path))
        columns: dict[str, Values] = {}
        units: dict[str, str] = {}
        for name in found.column_names:
            columns[name] = _values(found[name], Path(path), name)
            if unit := found.schema.field(name).metadata_str.get("unit"):
                units[name] = unit
        return cls(columns, units, found.schema.metadata_str)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return next(map(_length, self._columns.values()), 0)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            raise KeyError(f"no column `{name}`: {did_you_mean(name, self._columns)}")
        values = self._columns[name]
        return values.text() if isinstance(values, Labels) else values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        mine, its = ((one.names, one.units, one.metadata) for one in (self, other))
        return mine == its and all(_are_equal(self[name], other[name]) for name in self)

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists; None marks a missing value."""
        return {name: self[name].tolist() for name in self}

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a dict per row; None marks a missing value."""
        columns = self.to_dict()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_arrow(self) -> arrow.Table:
        """Return an Arrow table; units are in the fields' metadata (``unit``).

        Raises
        ------
        ConfigError : a column has other values than numbers, flags or text
        """
        import arro3.core as arrow

        arrays = [_arrow_array(name, values) for name, values in self._columns.items()]
        fields = [
            arrow.Field(name, array.type, metadata={"unit": self.units[name]} if name in self.units else None)
            for name, array in zip(self, arrays, strict=True)
        ]
        return arrow.Table.from_arrays(arrays, schema=arrow.Schema(fields, metadata=self.metadata))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.to_arrow().__arrow_c_schema__()

    def to_polars(self) -> pl.DataFrame:
        """Return a polars DataFrame.

        Raises
        ------
        MissingExtraError : polars is not installed
        """
        frame: pl.DataFrame = _library("polars").DataFrame(self)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame; units are in its ``attrs["units"]``.

        Raises
        ------
        MissingExtraError : pandas is not installed
        """
        pandas = _library("pandas")
        frame: pd.DataFrame = pandas.DataFrame({name: _for_pandas(pandas, self._columns[name]) for name in self})
        frame.attrs["units"] = dict(self.units)
        return frame

    def write(self, path: str | Path) -> Path:
        """Write a Parquet file completely or not at all; the same table gives the same bytes.

        Units are in the fields' metadata. Integers are stored as differences (DELTA_BINARY_PACKED).
        """
        from arro3.io import write_parquet

        written = self.to_arrow()
        # Without this, Parquet would interpret names with dots as paths of nested columns.
        deltas = [(name,) for name, values in self._columns.items() if _is_integer(values)]
        # In memory first: arro3 panics if the file raises, as on a full disk or at Ctrl-C.
        content = BytesIO()
        write_parquet(
            written,
            content,
            compression=COMPRESSION,
            column_encoding=dict.fromkeys(deltas, "delta_binary_packed"),
            column_dictionary_enabled=dict.fromkeys(deltas, False),
        )
        return write_bytes(Path(path), content.getvalue())

    def __repr__(self) -> str:
        """Return one line: the number of rows and the columns with their units."""
        columns = ", ".join(f"{name} ({self.units[name]})" if name in self.units else name for name in self)
        return f"<Table of {len(self)} rows: {columns}>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self, max_rows: int = SHOWN_ROWS) -> str:
        """Return the first rows as an HTML table."""
        first = {name: self[name][:max_rows].tolist() for name in self}
        heads = "".join(
            f"<th>{html.escape(name)}<br><small>{html.escape(self.units.get(name, ''))}</small></th>" for name in self
        )
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(_cell(value))}</td>' for value in row)}</tr>"
            for row in zip(*first.values(), strict=True)
        )
        left = len(self) - max_rows
        more = f"<p>and {left} more rows</p>" if left > 0 else ""
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _length(values: Values) -> int:
    return len(values.codes if isinstance(values, Labels) else values)


def _is_integer(values: Values) -> bool:
    return not isinstance(values, Labels) and values.dtype.kind in "iu"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _are_equal(mine: NDArray[Any], its: NDArray[Any]) -> bool:
    """Return whether types, missing values and other values are equal; NaN equals NaN."""
    missing = np.ma.getmaskarray(mine)
    if mine.dtype != its.dtype or not np.array_equal(missing, np.ma.getmaskarray(its)):
        return False
    there = ~missing
    return np.array_equal(np.asarray(mine)[there], np.asarray(its)[there], equal_nan=mine.dtype.kind == "f")


#: Types of the values of a column, and their names in messages.
_KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "flags": (bool, np.bool_),
    "numbers": (int, float, np.integer, np.floating),
}


def _kind(name: str, value: Any) -> str:
    for kind, types in _KINDS.items():
        if isinstance(value, types):
            return kind
    raise ConfigError(f"neither a number, a flag nor text: `{value!r:.60}`", key=name, hint=_COLUMN_HINT)


_COLUMN_HINT = "use values of one type in a column: numbers, flags (True, False) or text"


def _column(name: str, values: list[Any]) -> NDArray[Any]:
    """Return an array of Python numbers, flags or texts; None becomes a missing value."""
    there = [value for value in values if value is not None]
    kinds = {_kind(name, value): value for value in there}
    if len(kinds) > 1:
        (one, value), (other, another) = list(kinds.items())[:2]
        reason = f"a column has {one} and {other}: `{value!r:.30}` and `{another!r:.30}`"
        raise ConfigError(reason, key=name, hint=_COLUMN_HINT)
    if "text" in kinds:
        return np.array(values, dtype=object)
    filler = type(there[0])() if there else 0.0
    found = np.array([filler if value is None else value for value in values])
    if found.dtype.kind in "Of" and there and all(isinstance(value, (int, np.integer)) for value in there):
        large = max(there, key=abs)
        raise ConfigError(f"an integer needs more than 64 bits: `{large}`", key=name, hint="use floats")
    return found if len(there) == len(values) else np.ma.MaskedArray(found, mask=[value is None for value in values])


def _arrow_array(name: str, values: Values) -> arrow.Array:
    import arro3.core as arrow

    if isinstance(values, Labels):
        dictionary = arrow.DataType.dictionary(arrow.DataType.int32(), arrow.DataType.string())
        names = arrow.Array(list(values.names), type=arrow.DataType.string()).cast(dictionary)
        return names.take(arrow.Array.from_numpy(values.codes))
    if not values.dtype.isnative:  # Arrow assumes the machine's byte order
        values = values.astype(values.dtype.newbyteorder("="))
    if values.dtype.kind == "O":
        if other := [value for value in values.tolist() if not isinstance(value, str | None)]:
            reason = f"a column of type object has other values than text: `{other[0]!r:.60}`"
            raise ConfigError(reason, key=name, hint=_COLUMN_HINT)
        return arrow.Array(values.tolist(), type=arrow.DataType.string())
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise ConfigError(f"neither numbers, flags nor text: `{values.dtype}`", key=name, hint=_COLUMN_HINT)
    if not isinstance(values, np.ma.MaskedArray):
        return arrow.Array.from_numpy(np.ascontiguousarray(values))
    # Missing values refer to an additional last row, which is null.
    given = arrow.Array.from_numpy(np.ascontiguousarray(values.data))
    with_null = arrow.ChunkedArray([given, arrow.Array([None], type=given.type)]).combine_chunks()
    rows = np.where(np.ma.getmaskarray(values), len(values), np.arange(len(values)))
    return with_null.take(arrow.Array.from_numpy(rows))


def _values(column: arrow.ChunkedArray, path: Path, name: str) -> Values:
    import arro3.core as arrow

    kind = column.type
    check: Any = arrow.DataType  # arro3's stubs are wrong: mypy considers the checks below constant
    if check.is_dictionary(kind) and len(column) == 0:
        return Labels(np.array([], dtype=np.int32), ())
    whole = column.combine_chunks() if len(column) else arrow.Array([], type=kind)
    if check.is_dictionary(kind):
        names = arrow.dictionary_dictionary(whole).to_pylist()
        return Labels(np.asarray(arrow.dictionary_indices(whole).to_numpy()), tuple(names))
    if check.is_numeric(kind) or check.is_boolean(kind):
        if whole.null_count == 0:
            return np.asarray(whole.to_numpy())
        # The numbers are not converted to floats, which cannot represent all 64-bit integers above 2**53.
        dtype = np.asarray(arrow.Array([], type=kind).to_numpy()).dtype
        listed = whole.to_pylist()
        numbers = np.array([0 if value is None else value for value in listed], dtype=dtype)
        return np.ma.MaskedArray(numbers, mask=[value is None for value in listed])
    if check.is_string(kind) or check.is_large_string(kind) or check.is_string_view(kind):
        return np.array(whole.to_pylist(), dtype=object)
    raise ConfigError(f"neither numbers nor text: `{str(kind).strip()}`", hint=parquet.HINT, source=str(path), key=name)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise MissingExtraError(
            f"`to_{name}` needs {name}, which is not installed", hint=f"pip install {name}"
        ) from None


def _for_pandas(pandas: Any, values: Values) -> Any:
    if isinstance(values, Labels):
        return pandas.Categorical.from_codes(values.codes, categories=list(values.names))
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if _is_integer(values):
        return pandas.arrays.IntegerArray(values.data.copy(), np.ma.getmaskarray(values).copy())
    return np.ma.filled(values.astype(object), None)
