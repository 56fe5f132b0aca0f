"""Tables of a run: names and units of the columns, and conversion of raw numbers to tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairweir.play.table import Table

#: Name of a column -> its raw numbers in the machine's byte order.
Columns = dict[str, bytes]


@dataclass(frozen=True)
class Column:
    """A column of numbers.

    Attributes
    ----------
    name : str; ends in the unit, if the column has one
    kind : str; NumPy type of the raw numbers
    unit : str; empty if there is none
    null : int; the number that stands for an event that did not happen
    is_flag : whether the numbers are flags, 0 or 1
    """

    name: str
    kind: str
    unit: str = ""
    null: int | None = None
    is_flag: bool = False


#: Raw numbers for a missing time and a missing index.
_NEVER, _NOWHERE = 2**64 - 1, 2**32 - 1

FLOW_COLUMNS = (
    Column("t_ns", "uint64", "ns"),
    Column("flow", "uint32"),
    Column("throughput_mbps", "float64", "Mbit/s"),
    Column("cwnd_bytes", "uint64", "bytes"),
    Column("inflight_bytes", "uint64", "bytes"),
    Column("pacing_rate_mbps", "float64", "Mbit/s"),
    Column("rtt_ms", "float64", "ms"),
    Column("lost_pkts", "uint64", "packets"),
)
LINK_COLUMNS = (
    Column("t_ns", "uint64", "ns"),
    Column("link", "uint32"),
    Column("queue_bytes", "uint64", "bytes"),
    Column("arrival_rate_mbps", "float64", "Mbit/s"),
    Column("drops", "uint64", "packets"),
    Column("marks", "uint64", "packets"),
)
PACKET_COLUMNS = (
    Column("flow", "uint32"),
    Column("seq", "uint64", "packets"),
    Column("is_retransmission", "uint8", is_flag=True),
    Column("sent_ns", "uint64", "ns"),
    Column("dropped_ns", "uint64", "ns", null=_NEVER),
    Column("dropped_link", "uint32", null=_NOWHERE),
    Column("arrived_ns", "uint64", "ns", null=_NEVER),
    Column("is_marked", "uint8", is_flag=True),
    Column("acked_ns", "uint64", "ns", null=_NEVER),
)
ACK_COLUMNS = (
    Column("flow", "uint32"),
    Column("cum", "uint64", "packets"),
    Column("sent_ns", "uint64", "ns"),
    Column("arrived_ns", "uint64", "ns", null=_NEVER),
)


def table(raw: Columns, columns: tuple[Column, ...], index: str, label: str, labels: list[str]) -> Table:
    """Return a table of raw columns.

    Parameters
    ----------
    raw : dict of bytes, one entry per column
    columns : the table's columns
    index : str; the column of indices. A column `label` with the names of the indices is inserted after it.
    labels : list of str; names, by index
    """
    import numpy as np

    from fairweir.play.table import Labels, Table, Values

    found: dict[str, Values] = {}
    for column in columns:
        numbers = np.frombuffer(raw[column.name], dtype=column.kind)
        values = numbers.astype(bool) if column.is_flag else numbers
        found[column.name] = values if column.null is None else np.ma.MaskedArray(values, mask=numbers == column.null)
        if column.name == index:
            found[label] = Labels(numbers.astype("int32"), tuple(labels))
    return Table(found, {column.name: column.unit for column in columns if column.unit})
