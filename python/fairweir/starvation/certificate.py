"""The certificate of starvation: records of two flows, and the jitter with which both records are possible on one link.

Starvation means that bounded jitter makes the throughput ratio of two flows of one CCA exceed a required ratio. The
trajectory of a flow is the send and arrival times of the flow's packets when the flow is alone on an ideal link. D is
the maximum jitter. "The proof" is the proof of theorem 1 in the starvation paper.

A certificate is a Parquet file with one row per packet: first the slow flow's, then the fast flow's, each in the order
of sending.

| column | meaning |
| --- | --- |
| ``flow`` | 0: slow, 1: fast |
| ``sent_ns`` | time at which the packet was sent; the flow has converged at time 0 (T_i in the proof for flow i) |
| ``arrived_ns`` | time at which the packet reached the receiver |
| ``hold_ns`` | the jitter: the part of the packet's delay that the shared link does not cause |

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
    """The run of one flow alone on an ideal link."""

    link_bytes_per_s: int = Field(gt=0)
    """Rate of the ideal link; C_i in the proof."""
    origin_ns: int = Field(ge=0)
    """Time in the run that is time 0 of the file; T_i in the proof."""
    scenario: dict[str, Any]
    """The scenario of the run, as a TOML document; running it reproduces the trajectory."""


class Header(_Model):
    """The claim: with jitter of at most D for each packet, both trajectories are possible together on one FIFO link."""

    format: Literal["fairweir starvation certificate, version 1"] = "fairweir starvation certificate, version 1"
    version: str
    """Version of fairweir."""
    cca: str
    ratio: float = Field(ge=1.0)
    """Minimum ratio of the fast flow's throughput to the slow one's."""
    d_ns: int = Field(gt=0)
    """D, the maximum jitter of a packet."""
    span_ns: int = Field(gt=0)
    """Length of the trajectories; the file has all packets sent in this time."""
    one_way_ns: int = Field(ge=0)
    """Propagation delay from sender to receiver."""
    packet_bytes: int = Field(gt=0)
    link_bytes_per_s: int = Field(gt=0)
    """Rate of the shared link."""
    backlog_bytes: int = Field(ge=0)
    """Bytes in the queue of the shared link at time 0."""
    slow: Alone
    fast: Alone


@dataclass(frozen=True)
class Certificate:
    """The header and the columns of a certificate file.

    Attributes
    ----------
    header : Header
    flow, sent_ns, arrived_ns, hold_ns : int64 arrays with one element per packet, as in the table above
    """

    header: Header
    flow: npt.NDArray[np.int64]
    sent_ns: npt.NDArray[np.int64]
    arrived_ns: npt.NDArray[np.int64]
    hold_ns: npt.NDArray[np.int64]


def write(certificate: Certificate, path: Path) -> Path:
    """Write a certificate to a file, completely or not at all; return the path."""
    columns = {name: getattr(certificate, name) for name in COLUMNS}
    return Table(columns, metadata={METADATA_KEY: certificate.header.model_dump_json()}).write(path)


def read(path: Path) -> Certificate:
    """Read a certificate from a file.

    Raises
    ------
    ConfigError : the file is not a certificate, or its header or columns are invalid
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
