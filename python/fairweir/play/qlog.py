"""Write the packets of a run as qlogs: one file per flow, as its sender would log them.

The format is qlog 0.3 in one JSON document (draft-ietf-quic-qlog-main-schema, -quic-events), which qvis opens and
``fairweir explain`` reads. The simulator's transport is TCP's, so that three kinds of events are translations:

- QUIC never sends a packet number twice: packets are numbered in the order of sending; a retransmission has a number
  of its own and the stream offset of the original.
- An ACK has the packets that were delivered since the previous ACK, each once.
- A packet is logged as lost when it is sent again, because the record has no other time for this. A packet that is lost
  and not sent again before the end of the run is not logged as lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from fairweir.documents.atomic_write import draft
from fairweir.errors import ConfigError
from fairweir.scenario.model import Scenario
from fairweir.units import Duration, Rate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairweir.play.run import Run
    from fairweir.play.table import Table

VERSION: Final = "0.3"
#: Headers of IPv4 and UDP, bytes: qlog counts the size of a QUIC packet without them.
IP_UDP_BYTES: Final = 28
#: Events of equal time are in this order: an ACK, the losses that it reveals, and the packets that it permits.
_ACKED, _LOST, _METRICS, _SENT = range(4)
#: Number of events that are written at once.
_CHUNK: Final = 10_000


def check_folder(folder: Path) -> None:
    """Raise an error, before a long run, if qlogs cannot be written to `folder`.

    Raises
    ------
    ConfigError : the path exists and is not a directory
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(
            f"not a directory: `{folder}`", hint="each flow has a file of its own: name a directory", key="--qlog"
        )


def write(run: Run, folder: str | Path) -> list[Path]:
    """Write a qlog of each flow of a run whose packets were recorded.

    Parameters
    ----------
    run : Run; with time series, the qlogs have events `metrics_updated`, one per interval
    folder : str or Path; created with its parents. Files have the names of the flows. Existing files are replaced.

    Returns
    -------
    list of Path, in the order of the flows

    Raises
    ------
    ConfigError : the run recorded no packets, or `folder` is a file
    """
    folder = Path(folder)
    check_folder(folder)
    packets = run.packets
    series = run.flows if run.has_series else None
    paths = []
    for index, name in enumerate(_file_names([flow.id for flow in run.summary.flows])):
        trace = _Trace(run.scenario, _rows(packets, index), {} if series is None else _rows(series, index))
        path = folder / f"{name}.qlog"
        with draft(path) as file:
            _write(file, run, index, trace.events())
        paths.append(path)
    return paths


def _file_names(ids: list[str]) -> list[str]:
    """Return a file name for each id, without characters that separate folders; equal names get the flow's number."""
    names = [re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "flow" for name in ids]
    return [name if names.count(name) == 1 else f"{name}-{number}" for number, name in enumerate(names, 1)]


def _rows(table: Table, flow: int) -> dict[str, NDArray[Any]]:
    """Return the columns of a flow."""
    is_its = table["flow"] == flow
    return {name: table[name][is_its] for name in table.names if name not in {"flow", "id"}}


def _write(file: BinaryIO, run: Run, index: int, events: Iterator[str]) -> None:
    flow = run.summary.flows[index]
    title = f"{run.scenario.name or 'run'}: {flow.id} ({flow.cca}), seed {run.summary.seed}"
    head = {
        "title": title,
        "vantage_point": {"name": "sender", "type": "client"},
        "common_fields": {"time_format": "relative", "reference_time": 0, "ODCID": f"{index:016x}"},
    }
    document = {"qlog_version": VERSION, "qlog_format": "JSON", "title": title}
    opening = json.dumps(document)[:-1] + ', "traces": [' + json.dumps(head)[:-1] + ', "events": [\n'
    file.write(opening.encode())
    chunk: list[str] = []
    is_first = True
    for event in events:
        chunk.append(event)
        if len(chunk) == _CHUNK:
            file.write((("" if is_first else ",\n") + ",\n".join(chunk)).encode())
            is_first = False
            chunk.clear()
    if chunk:
        file.write((("" if is_first else ",\n") + ",\n".join(chunk)).encode())
    file.write(b"\n]}]}\n")


class _Trace:
    """The events of one flow, from the columns of its packets and time series."""

    def __init__(
        self,
        scenario: Scenario,
        packets: dict[str, NDArray[Any]],
        series: dict[str, NDArray[Any]],
    ) -> None:
        import numpy as np

        config = scenario.resolve()
        self._bytes = int(config["packet"]) - IP_UDP_BYTES
        self._ack_bytes = max(int(config["ack"]) - IP_UDP_BYTES, 1)
        self._seq = packets["seq"]
        self._sent_ns = packets["sent_ns"]
        acked_ns = packets["acked_ns"]
        is_acked = ~np.ma.getmaskarray(acked_ns)
        self._acked_numbers = np.flatnonzero(is_acked)
        self._acked_ns = np.ma.getdata(acked_ns)[is_acked]
        self._lost, self._lost_ns = self._losses(np.flatnonzero(packets["is_retransmission"]))
        self._series = series

    def _losses(self, again: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return the numbers of the packets that were sent again, and the times."""
        import numpy as np

        last: dict[int, int] = {}
        lost = []
        resent = set(again.tolist())
        for number, seq in enumerate(self._seq.tolist()):
            if number in resent and seq in last:
                lost.append((last[seq], number))
            last[seq] = number
        pairs = np.array(lost, dtype=np.intp).reshape(-1, 2)
        return pairs[:, 0], self._sent_ns[pairs[:, 1]]

    def events(self) -> Iterator[str]:
        """Yield the events as JSON, in the order of time."""
        import numpy as np

        # A stable sort by time groups the packets that one ACK delivers.
        order = np.argsort(self._acked_ns, kind="stable")
        acked_ns, acked = self._acked_ns[order], self._acked_numbers[order]
        firsts = np.flatnonzero(np.r_[True, acked_ns[1:] != acked_ns[:-1]]) if len(acked_ns) else np.array([], np.intp)
        ends = np.r_[firsts[1:], len(acked)] if len(firsts) else firsts
        times_of = {
            _ACKED: acked_ns[firsts],
            _LOST: self._lost_ns,
            _METRICS: self._series.get("t_ns", np.array([], np.uint64)),
            _SENT: self._sent_ns,
        }
        times = np.concatenate([times_of[kind].astype(np.uint64) for kind in times_of])
        kinds = np.concatenate([np.full(len(times_of[kind]), kind) for kind in times_of])
        indices = np.concatenate([np.arange(len(times_of[kind])) for kind in times_of])
        for at in np.lexsort((indices, kinds, times)):
            ms, kind, index = f"{Duration.from_ns(int(times[at])).ms:.6f}", kinds[at], int(indices[at])
            if kind == _SENT:
                yield self._sent(ms, index)
            elif kind == _ACKED:
                yield self._received(ms, index, np.sort(acked[firsts[index] : ends[index]]))
            elif kind == _LOST:
                yield _event(ms, "recovery:packet_lost", f'"header":{_header(int(self._lost[index]))}')
            else:
                yield self._metrics(ms, index)

    def _sent(self, ms: str, number: int) -> str:
        offset = int(self._seq[number]) * self._bytes
        frame = f'{{"frame_type":"stream","stream_id":0,"offset":{offset},"length":{self._bytes}}}'
        data = f'"header":{_header(number)},"raw":{{"length":{self._bytes}}},"frames":[{frame}]'
        return _event(ms, "transport:packet_sent", data)

    def _received(self, ms: str, number: int, delivered: NDArray[np.intp]) -> str:
        import numpy as np

        breaks = np.flatnonzero(np.diff(delivered) > 1)
        firsts, lasts = np.r_[delivered[0], delivered[breaks + 1]], np.r_[delivered[breaks], delivered[-1]]
        ranges = ",".join(f"[{first},{last}]" for first, last in zip(firsts, lasts, strict=True))
        frame = f'{{"frame_type":"ack","ack_delay":0,"acked_ranges":[{ranges}]}}'
        data = f'"header":{_header(number)},"raw":{{"length":{self._ack_bytes}}},"frames":[{frame}]'
        return _event(ms, "transport:packet_received", data)

    def _metrics(self, ms: str, row: int) -> str:
        series = self._series
        cwnd, inflight = int(series["cwnd_bytes"][row]), int(series["inflight_bytes"][row])
        data = f'"congestion_window":{cwnd},"bytes_in_flight":{inflight}'
        rtt, rate = float(series["rtt_ms"][row]), float(series["pacing_rate_mbps"][row])
        data += f',"latest_rtt":{rtt:.6f}' if not isnan(rtt) else ""
        data += f',"pacing_rate":{round(Rate.from_mbps(rate).bps)}' if not isnan(rate) else ""
        return _event(ms, "recovery:metrics_updated", data)


def _header(number: int) -> str:
    return f'{{"packet_type":"1RTT","packet_number":{number}}}'


def _event(ms: str, name: str, data: str) -> str:
    return f'{{"time":{ms},"name":"{name}","data":{{{data}}}}}'
