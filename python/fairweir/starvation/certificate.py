"""The certificate of starvation: two recorded trajectories, and the jitter that makes both possible on one link.

A Parquet file. One row a packet, the slow flow's first, each flow's in the order of sending:

| column | meaning |
| --- | --- |
| ``flow`` | 0: slow, 1: fast |
| ``sent_ns`` | when it left its sender; 0 is the time from which on the flow had converged (the proof's T_i) |
| ``arrived_ns`` | when it reached its receiver |
| ``hold_ns`` | the jitter: how much of that the shared link does not account for |

The schema's metadata has the :class:`Header` as JSON under ``certificate``. `fairweir.starvation.check` defines when a
file is valid.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairweir.documents.validation_errors import explain
from fairweir.errors import ConfigError
from fairweir.play.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

METADATA_KEY = "certificate"
COLUMNS = ("flow", "sent_ns", "arrived_ns", "hold_ns")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Alone(_Model):
    """One of the two single-flow runs."""

    link_bytes_per_s: int = Field(gt=0)
    """The proof's C_i."""
    origin_ns: int = Field(ge=0)
    """The proof's T_i: when the file's clock starts, on the run's."""
    scenario: dict[str, Any]
    """Of the run, as TOML has it; a run of it shows the trajectory again."""


class Header(_Model):
    """The claim: on one FIFO link, jitter of at most D per packet makes both trajectories possible at once."""

    format: Literal["fairweir starvation certificate, version 1"] = "fairweir starvation certificate, version 1"
    version: str
    """Version of fairweir."""
    cca: str
    ratio: float = Field(ge=1.0)
    """Minimum ratio of the fast flow's throughput to the slow one's."""
    d_ns: int = Field(gt=0)
    """Maximum delay of a packet by jitter."""
    span_ns: int = Field(gt=0)
    """Length of the trajectories: all packets that were sent in it are in the file."""
    one_way_ns: int = Field(ge=0)
    """Propagation from sender to receiver."""
    packet_bytes: int = Field(gt=0)
    link_bytes_per_s: int = Field(gt=0)
    """Rate of the shared link."""
    backlog_bytes: int = Field(ge=0)
    """Backlog of the shared link at time 0; the proof's initial queue."""
    slow: Alone
    fast: Alone


@dataclass(frozen=True)
class Certificate:
    """A header and the columns of a file.

    Attributes
    ----------
    flow, sent_ns, arrived_ns, hold_ns : int64 arrays, n packets
    """

    header: Header
    flow: npt.NDArray[np.int64]
    sent_ns: npt.NDArray[np.int64]
    arrived_ns: npt.NDArray[np.int64]
    hold_ns: npt.NDArray[np.int64]


def write(certificate: Certificate, path: Path) -> Path:
    """Write the file, completely or not at all."""
    columns = {name: getattr(certificate, name) for name in COLUMNS}
    return Table(columns, metadata={METADATA_KEY: certificate.header.model_dump_json()}).write(path)


def read(path: Path) -> Certificate:
    """Read a file.

    Raises
    ------
    ConfigError : not such a file, or its header or columns are invalid
    """
    try:
        table = Table.read(path)
    except ConfigError as error:
        error.hint = _HINT
        raise
    text = table.metadata.get(METADATA_KEY)
    if text is None:
        raise ConfigError("has no certificate in its metadata", hint=_HINT, source=str(path))
    return Certificate(_header(text, path), **{name: _column(table, name, path) for name in COLUMNS})


_HINT = "use a file written by `fairweir starve CCA`"


def _header(text: str, path: Path) -> Header:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ConfigError(
            f"the certificate in its metadata is not JSON: {error}", hint=_HINT, source=str(path)
        ) from None
    if not isinstance(document, dict):
        raise ConfigError("the certificate in its metadata is not a JSON object", hint=_HINT, source=str(path))
    try:
        return Header.model_validate(document)
    except ValidationError as error:
        raise explain(error, Header, document, str(path)) from None


def _column(table: Table, name: str, path: Path) -> npt.NDArray[np.int64]:
    if name not in table or table[name].dtype != "int64" or isinstance(table[name], np.ma.MaskedArray):
        raise ConfigError("a column of int64 without nulls is missing", hint=_HINT, source=str(path), key=name)
    return table[name]
