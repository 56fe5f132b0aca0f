"""Run a scenario in a world and return its record."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

from fairweir import _core
from fairweir.ccas import lookup
from fairweir.documents.arguments import one_of, text_with_unit
from fairweir.documents.atomic_write import draft
from fairweir.documents.digits import plain
from fairweir.errors import CcaError, ConfigError, InvariantError
from fairweir.judging.metrics import jain
from fairweir.judging.summary import FlowSummary, LinkSummary, Named, Summary
from fairweir.play import sim
from fairweir.play.columns import ACK_COLUMNS, FLOW_COLUMNS, LINK_COLUMNS, PACKET_COLUMNS, Columns, table
from fairweir.play.simulate import Capture, RawRun, Recording
from fairweir.scenario.model import Flow, Scenario
from fairweir.scenario.resolve import flow_ids

if TYPE_CHECKING:
    from fairweir.play.kernel import Options
    from fairweir.play.run_plot import PlotKind
    from fairweir.play.table import Table
    from fairweir.show.notebook import EmbeddedPage, Image

#: Where a scenario runs: the simulator, the kernel's TCP, or the QUIC stacks that its flows name.
World = Literal["sim", "kernel", "quic"]
#: The worlds whose transport is TCP.
TcpWorld = Literal["sim", "kernel"]
#: The worlds with a virtual clock, in which runs are repeatable and may run at the same time.
VirtualWorld = Literal["sim", "quic"]

#: Files that :meth:`Run.save` may write.
RECORD_FILES = frozenset(
    {"scenario.toml", "summary.json", *(f"{name}.parquet" for name in ("flows", "links", "packets", "acks"))}
)
#: Maximum number of flows in a record's text.
SHOWN_FLOWS = 6
#: Default maximum of recorded data packets: 1 GB of memory during the run; one second at 60 Gbit/s.
MAX_PACKETS = 5_000_000


@dataclass(frozen=True)
class Run:
    """The record of a scenario run.

    Attributes
    ----------
    scenario : Scenario
    summary : Summary; ``summary.document`` is the output of ``fairweir run --json``

    Examples
    --------
    >>> import fairweir as fw
    >>> record = fw.run(fw.dumbbell(["reno", "reno"], rate="12Mbps", rtprop="20ms", duration="5s"), interval="1s")
    >>> round(record.flow["reno-1"].throughput.mbps + record.flow["reno-2"].throughput.mbps)
    12
    >>> record.link["bottleneck"].utilization > 0.9, len(record.flows)
    (True, 10)
    """

    scenario: Scenario = field(repr=False)
    summary: Summary = field(repr=False)
    _series: tuple[Columns, Columns] | None = field(default=None, repr=False)
    _packets: tuple[Columns, Columns] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """Return one line: the scenario, and the throughput of each flow, or of the first :data:`SHOWN_FLOWS` flows."""
        shown = [f"{flow.id} {plain(flow.throughput_mbps, 3)}" for flow in self.summary.flows[:SHOWN_FLOWS]]
        left = len(self.summary.flows) - len(shown)
        flows = ", ".join(shown) + (f", and {left} more" if left else "")
        recorded = ", ".join(name for name, has in (("series", self.has_series), ("packets", self.has_packets)) if has)
        return f"<Run {self.scenario.name!r} in {self.summary.world}: {flows} Mbit/s; recorded: {recorded or 'none'}>"

    def _repr_html_(self) -> str:
        """Return the results of flows and links as tables, for a notebook."""
        from fairweir.play.table import Table

        flows = [
            {
                "flow": flow.id,
                "cca": flow.cca,
                "Mbit/s": flow.throughput_mbps,
                "RTT ms": flow.rtt_ms.mean,
                "qdelay ms": flow.qdelay_ms.mean,
                "loss": flow.loss_rate,
            }
            for flow in self.summary.flows
        ]
        links = [
            {"link": link.name, "utilization": link.utilization, "queue ms": link.queue_ms.mean, "drops": link.drops}
            for link in self.summary.links
        ]
        title = f"<p>{escape(self.scenario.name or 'run')} in {self.summary.world}, seed {self.summary.seed}</p>"
        if not self.is_judged:
            title += f"<p><strong>Not judged</strong>: {escape(self.not_judged)}</p>"
        return title + "".join(Table.from_rows(rows)._repr_html_() for rows in (flows, links))

    @overload
    def plot(self, path: str | Path) -> Path: ...

    @overload
    def plot(self, path: None = None, *, kind: Literal["interactive"] = "interactive") -> EmbeddedPage: ...

    @overload
    def plot(self, path: None = None, *, kind: Literal["static"]) -> Image: ...

    def plot(self, path: str | Path | None = None, *, kind: PlotKind | None = None) -> Path | EmbeddedPage | Image:
        """Draw throughput, cwnd, RTT and queue over time: into a file, or in a notebook.

        Parameters
        ----------
        path : str or Path, ending in .html (interactive), .png, .svg or .pdf; without it, the figure is returned for a
            notebook
        kind : "interactive" (the default) or "static", the form in a notebook

        Returns
        -------
        Path, the file; without `path`, the page or the image, which a notebook shows as the value of a cell

        Raises
        ------
        ConfigError : the extension is unknown, the directory does not exist, the run has no time series, or both `path`
            and `kind` are given
        MissingExtraError : Matplotlib, which draws images, is not installed
        """
        from fairweir.play.run_plot import plot_run, shown_plot

        if path is None:
            return shown_plot(self, kind or "interactive")
        if kind is not None:
            raise ConfigError(
                f"kind has no effect on a file: `{kind}`", key="kind", hint="the file's extension determines its form"
            )
        return plot_run(self, path)

    @property
    def has_series(self) -> bool:
        """Whether the run recorded time series (with the argument `interval`)."""
        return self._series is not None

    @property
    def is_judged(self) -> bool:
        """Whether the run is judged. It is not if the kernel world's emulator exceeded its maximum lateness."""
        emulator = self.summary.emulator
        return emulator is None or emulator.judged

    @property
    def not_judged(self) -> str:
        """The reason why the run is not judged; empty if it is judged."""
        emulator = self.summary.emulator
        return "" if emulator is None or emulator.judged else emulator.reason

    @property
    def flow(self) -> Named[FlowSummary]:
        """Results of the flows by their ids: ``run.flow["bbr-1"].throughput.mbps``."""
        return Named({flow.id: flow for flow in self.summary.flows})

    @property
    def link(self) -> Named[LinkSummary]:
        """Results of the links by their names: ``run.link["bottleneck"].utilization``."""
        return Named({link.name: link for link in self.summary.links})

    @property
    def jain(self) -> float | None:
        """Jain's index of the throughputs, 1/n to 1; None if nothing was delivered."""
        return self.summary.jain

    @property
    def flows(self) -> Table:
        """Time series with one row per interval and flow.

        Columns: t_ns (end of the interval), flow (index), id, throughput_mbps, cwnd_bytes, inflight_bytes,
        pacing_rate_mbps (NaN if the controller does not pace), rtt_ms (NaN without a sample), lost_pkts.

        Raises
        ------
        ConfigError : the run recorded no series
        """
        return table(self._columns()[0], FLOW_COLUMNS, "flow", "id", self._ids())

    @property
    def links(self) -> Table:
        """Time series with one row per interval and link.

        Columns: t_ns (end of the interval), link (index), name, queue_bytes, arrival_rate_mbps, drops, marks.

        Raises
        ------
        ConfigError : the run recorded no series
        """
        names = [link.name for link in self.summary.links]
        return table(self._columns()[1], LINK_COLUMNS, "link", "name", names)

    @property
    def has_packets(self) -> bool:
        """Whether the run recorded packets (with the argument `record_packets`)."""
        return self._packets is not None

    @property
    def packets(self) -> Table:
        """One row per data packet sent, including retransmissions, in the order of sending.  Columns: flow (index), id,
        seq (number of the packet, from 0; all packets have the scenario's size), is_retransmission, sent_ns,
        dropped_ns, dropped_link (index; null if an element of the flow's path dropped the packet), arrived_ns (at the
        receiver), is_marked (ECN), acked_ns (arrival at the sender of the first ACK that the receiver sent after the
        packet's arrival; with SACK, this ACK reports the packet). Times are since the start of the run, and null if the
        event did not happen during the run. The times of a flow ascend in each column.

        Raises
        ------
        ConfigError : the run recorded no packets
        """
        return table(self._packet_columns()[0], PACKET_COLUMNS, "flow", "id", self._ids())

    @property
    def acks(self) -> Table:
        """One row per ACK, for each flow in the order of time; raises as :attr:`packets`.

        Columns: flow (index), id, cum (next packet expected), sent_ns, arrived_ns (null if the ACK was lost).
        """
        return table(self._packet_columns()[1], ACK_COLUMNS, "flow", "id", self._ids())

    def _ids(self) -> list[str]:
        return [flow.id for flow in self.summary.flows]

    def _packet_columns(self) -> tuple[Columns, Columns]:
        if self._packets is None:
            raise ConfigError("the run recorded no packets", hint="use `run(..., record_packets=MAX_PACKETS)`")
        return self._packets

    def _tables(self) -> dict[str, Table]:
        series = {"flows": self.flows, "links": self.links} if self.has_series else {}
        return series | ({"packets": self.packets, "acks": self.acks} if self.has_packets else {})

    def _columns(self) -> tuple[Columns, Columns]:
        if self._series is None:
            raise ConfigError("the run recorded no time series", hint='use `run(..., interval="100ms")`')
        return self._series

    def save(self, directory: str | Path) -> Path:
        """Write scenario.toml, summary.json and the recorded tables: {flows,links,packets,acks}.parquet.

        The directory is written completely or not at all. An older record with the same name is replaced. A symbolic
        link with that name is replaced, too; its target is not modified.

        Parameters
        ----------
        directory : str or Path; created with its parents

        Returns
        -------
        Path, the directory

        Raises
        ------
        ConfigError : the path is a file, or a directory that contains other files than those of a record
        """
        target = Path(directory)
        check_record_path(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            (staging / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")
            (staging / "summary.json").write_text(json.dumps(self.summary.document, indent=2) + "\n", encoding="utf-8")
            for name, recorded in self._tables().items():
                recorded.write(staging / f"{name}.parquet")
            staging.chmod(0o777 & ~_umask())
            if target.is_symlink():
                target.unlink()
            if target.is_dir():
                old = staging.with_name(staging.name + ".old")
                target.rename(old)
                staging.rename(target)
                shutil.rmtree(old)
            else:
                staging.rename(target)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise
        return target

    def save_qlog(self, directory: str | Path) -> list[Path]:
        """Write a qlog of each flow, for qvis or ``fairweir explain`` (docs/captures.md).

        Parameters
        ----------
        directory : str or Path; created with its parents. Files have the names of the flows.

        Returns
        -------
        list of Path, in the order of the flows

        Raises
        ------
        ConfigError : the run recorded no packets, or the path is a file
        """
        from fairweir.play.qlog import write

        return write(self, directory)

    def without_packets(self) -> Run:
        """Return the run without its record of packets."""
        return replace(self, _packets=None)


def check_record_path(directory: Path) -> None:
    """Raise an error, before a long run, if a record cannot replace what exists at `directory`.

    Raises
    ------
    ConfigError : the path is a file, or a directory that contains other files than those of a record
    """
    if directory.is_symlink() or not directory.exists():
        return
    if not directory.is_dir():
        raise ConfigError(
            f"not a directory: `{directory}`", hint="a record is a directory: choose another name", key="--out"
        )
    foreign = sorted(path.name for path in directory.iterdir() if path.name not in RECORD_FILES)
    if foreign:
        raise ConfigError(
            f"directory contains more than a record: `{directory / foreign[0]}`",
            hint="a record replaces its whole directory: choose a new or an empty one",
            key="--out",
        )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def run(
    scenario: Scenario | str | Path | Mapping[str, Any],
    *,
    seed: int | None = None,
    interval: str | None = None,
    on: World = "sim",
    options: Options | None = None,
    record_packets: int | None = None,
    capture: Capture | None = None,
    isolates_python: bool = False,
    on_progress: Callable[[float], object] | None = None,
) -> Run:
    """Run `scenario`.

    Parameters
    ----------
    scenario : Scenario, or an argument of :meth:`Scenario.of`: a path, a name, a document
    seed : int; replaces the scenario's seed
    interval : str, time with unit; sampling interval of the time series. Without it, no time series are recorded.
    on : "sim", "kernel" or "quic"; the world
    options : options of the kernel world
    record_packets : int; maximum number of data packets that the simulator records, with their ACKs. Each takes about
        200 bytes of memory (:data:`MAX_PACKETS` takes 1 GB). None records no packets.
    capture : a pcap file with the headers of all packets, written completely or not at all. For the simulator, it has
        handshakes and TCP sequence numbers.
    isolates_python : run Python classes in a child process, as for a user's C. A class that exits, prints or exhausts
        memory then causes only an error message, but a debugger cannot reach it.
    on_progress : called periodically with the completed fraction of the scenario's time, 0 to 1

    Returns
    -------
    Run

    Raises
    ------
    ConfigError : the scenario cannot be run in this world, or has more packets than the maximum to record
    KernelError : the kernel world is not available (helper, root, BPF)
    ProgramError : the program of the QUIC stacks is not built, or a stack failed
    CcaError : a controller does not exist or rejects its parameters
    ControllerError : a controller misbehaved; the error names the flow, the simulated time and the reason
    InvariantError : a bug in the simulator
    KeyboardInterrupt : Ctrl-C; it interrupts a run immediately
    """
    one_of(get_args(World), on, "on")
    scenario = Scenario.of(scenario)
    if seed is not None:
        scenario = scenario.override({"seed": seed})
    config = scenario.resolve()
    if interval is not None:
        config["interval"] = _core.parse_time(text_with_unit(interval, "interval", "100ms"))
        if config["interval"] == 0:
            raise ConfigError("interval must be positive: `0`", hint='write "100ms"', key="interval")
    if options is not None and on != "kernel":
        raise ConfigError("only the kernel world has such options", hint="write `--on kernel`", key="--on")
    if capture is not None and on == "quic":
        raise ConfigError("the world of QUIC stacks captures no packets", hint="leave out `--pcap`", key="--pcap")
    if record_packets is not None and on != "sim":
        raise ConfigError("only the simulator records packets", hint="omit `record_packets`", key="record_packets")
    started = time.perf_counter()
    try:
        with _whole(capture) as partial:
            if on == "sim":
                recording = Recording(record_packets, partial)
                raw = sim.play(config, scenario.base, on_progress, recording, isolates_python=isolates_python)
            elif on == "kernel":
                raw = _play_on_kernel(config, options, partial, on_progress)
            else:
                raw = _play_on_quic(config, on_progress)
    except ConfigError as error:
        error.source = error.source or scenario.source
        if isinstance(error, CcaError) and error.key is None:
            error.key = _key_of(scenario, error.flow)
        elif error.key is not None:
            error.key = _key_in_file(scenario, error.key)
        raise
    except InvariantError as error:
        error.source = scenario.source
        raise
    wall_s = time.perf_counter() - started
    return Run(scenario, Summary(_document(scenario, on, raw.summary, wall_s)), raw.series, raw.packets)


@contextmanager
def _whole(capture: Capture | None) -> Iterator[Capture | None]:
    """Yield a capture with a temporary file, which is renamed to the capture's file if the block succeeds.

    Raises
    ------
    ConfigError : the file's folder does not exist or is not writable
    """
    if capture is None:
        yield None
        return
    if not capture.path.parent.is_dir():
        reason = "cannot be written: no such file or directory"
        raise ConfigError(reason, hint="name a file in an existing directory", source=str(capture.path))
    with ExitStack() as stack:
        try:
            file = stack.enter_context(draft(capture.path))
        except OSError as error:
            reason = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise ConfigError(
                reason, hint="name a file in a directory that you may write to", source=str(capture.path)
            ) from None
        yield replace(capture, path=Path(file.name))


def _play_on_kernel(
    config: dict[str, Any],
    options: Options | None,
    capture: Capture | None,
    on_progress: Callable[[float], object] | None,
) -> RawRun:
    from fairweir.play import kernel

    for flow in config["flows"]:
        refusal = lookup.why_not_on_the_kernel(flow["cca"])
        if refusal is not None:
            what, hint = refusal
            reason = f"the kernel cannot run {what}: `{flow['cca']}`"
            raise CcaError(reason, hint=hint, cca=flow["cca"], flow=flow["id"])
    return kernel.play(config, options=options, capture=capture, on_progress=on_progress)


def _play_on_quic(config: dict[str, Any], on_progress: Callable[[float], object] | None) -> RawRun:
    from fairweir.play import quic

    for flow in config["flows"]:
        if lookup.is_python(flow["cca"]):
            raise CcaError(
                f"the world of QUIC stacks cannot run a Python class: `{flow['cca']}`",
                hint="write it as a plug-in (docs/plugins.md), or leave out `--on quic`",
                cca=flow["cca"],
                flow=flow["id"],
            )
    return quic.play(config, on_progress=on_progress)


#: Name in the simulator's configuration -> key in scenario files, for keys of a flow with different names.
_KEYS_IN_FILE = {
    "params": "cca",
    "receiver.ack_every": "delayed_ack",
    "receiver.ack_timer": "delayed_ack",
    "receiver.sack": "sack",
    "source.rate": "app_rate",
    "source.bytes": "bytes",
    "source.on": "on_off.on",
    "source.off": "on_off.off",
}


def _key_in_file(scenario: Scenario, key: str) -> str:
    """Convert a key of the simulator's configuration, such as ``flows.3.receiver.sack``, to the key in the file."""
    noun, _, rest = key.partition(".")
    number, _, name = rest.partition(".")
    name = _KEYS_IN_FILE.get(name, name).removeprefix("hop.").removeprefix("link.")
    if noun == "links" and number.isdigit() and int(number) < len(scenario.link):
        return f"link.{list(scenario.link)[int(number)]}.{name}".rstrip(".")
    tables = [i for i, flow in enumerate(scenario.flow) for _ in range(flow.count)]
    if noun == "flows" and number.isdigit() and int(number) < len(tables):
        table = tables[int(number)]
        return f"flow.{table}.{_element_in_file(scenario.flow[table], name)}".rstrip(".")
    return key


def _element_in_file(flow: Flow, name: str) -> str:
    """Convert the key of an element, such as ``reverse.1.max``, to the key in the file, such as ``ack_jitter.max``."""
    side, _, rest = name.partition(".")
    number, _, rest = rest.partition(".")
    jitter = [
        (f"jitter.{i}" if len(flow.jitter) > 1 else "jitter", element.side) for i, element in enumerate(flow.jitter)
    ]

    def numbered(key: str, elements: Sequence[object]) -> list[str]:
        return [f"{key}.{i}" if len(elements) > 1 else key for i in range(len(elements))]

    keys = {
        "ingress": [*numbered("loss", flow.loss), *(["policer"] if flow.policer else []), *["access"] * 2],
        "egress": [key for key, of in jitter if of == "data"],
        "reverse": [
            *(key for key, of in jitter if of == "acks"),
            *numbered("ack_jitter", flow.ack_jitter),
            *numbered("ack_loss", flow.ack_loss),
        ],
    }.get(side, [])
    return f"{keys[int(number)]}.{rest}" if number.isdigit() and int(number) < len(keys) else name


def _key_of(scenario: Scenario, flow_id: str) -> str | None:
    """Return the key of the controller of the flow `flow_id`."""
    found = (i for i, ids in enumerate(flow_ids(scenario.flow)) if flow_id in ids)
    return next((f"flow.{i}.cca" for i in found), None)


def _document(scenario: Scenario, world: World, result: dict[str, Any], wall_s: float) -> dict[str, Any]:
    names = [flow.cca.name for flow in scenario.flow for _ in range(flow.count)]
    flows = [{**flow, "cca": name} for flow, name in zip(result["flows"], names, strict=True)]
    return {
        "scenario": scenario.to_dict(),
        "world": world,
        "seed": scenario.seed,
        "version": _core.__version__,
        "flows": flows,
        "links": result.pop("links"),
        "fairness": fairness([flow["throughput_mbps"] for flow in flows]),
        **{key: value for key, value in result.items() if key != "flows"},
        "wall_s": wall_s,
    }


def fairness(throughputs_mbps: list[float]) -> dict[str, float | None]:
    """Return Jain's index and the ratio of the largest to the smallest throughput.

    Parameters
    ----------
    throughputs_mbps : list of float, Mbit/s, one per flow

    Returns
    -------
    dict; ``jain``, in [1/n, 1], None if nothing was delivered; ``max_min_ratio``, at least 1, None if a flow delivered
    nothing, because the ratio is then infinite
    """
    smallest = min(throughputs_mbps, default=0.0)
    return {
        "jain": jain(throughputs_mbps) if any(throughputs_mbps) else None,
        "max_min_ratio": max(throughputs_mbps) / smallest if smallest > 0 else None,
    }
