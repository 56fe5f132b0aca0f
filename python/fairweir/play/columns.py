"""Tables of a run: names and units of their columns, and conversion of raw numbers to tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairweir.play.table import Table

#: Raw columns by name: numbers of the machine's own byte order.
Columns = dict[str, bytes]


@dataclass(frozen=True)
class Column:
    """A column of numbers.

    Attributes
    ----------
    name : str; ends in the unit, if there is one
    kind : str; numpy's type of the raw numbers
    unit : str; "" if none
    null : int; stands for an event that did not happen
    is_flag : the numbers are 0 and 1
    """

    name: str
    kind: str
    unit: str = ""
    null: int | None = None
    is_flag: bool = False


#: Larger than all times and indices.
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
    """Make a table of raw columns.

    Parameters
    ----------
    raw : dict of bytes, one entry per column
    columns : the table's columns
    index : str; the column of indices after which a column of names, `label`, is inserted
    labels : list of str; the name of each index
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
