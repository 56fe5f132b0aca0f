"""``fairweir run``: one scenario."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from fairweir.cli import output
from fairweir.cli.flow_tables import abridged, delay, flow_table
from fairweir.cli.options import AsJson, ScenarioFile, Seed, Settings, load
from fairweir.cli.progress import meter
from fairweir.errors import ConfigError
from fairweir.judging.summary import Emulator, Summary
from fairweir.play.kernel import Options
from fairweir.play.qlog import check_folder
from fairweir.play.record_folder import is_record, load_record
from fairweir.play.run import MAX_PACKETS, World, check_record_path
from fairweir.play.run import run as play
from fairweir.play.simulate import Capture, Side
from fairweir.units import Duration

if TYPE_CHECKING:
    from fairweir.play.run import Run

#: Exit code if a recorded controller makes different decisions in the native replay.
CLAIM_FAILS = 1
#: Default number of intervals of the time series: enough for a figure, few enough for a file.
DEFAULT_INTERVALS = 600
#: Maximum number of rows of a default time series, flows times intervals: about 400 MB of memory.
DEFAULT_ROWS = 6_000_000


def run(
    scenario: ScenarioFile,
    *,
    world: Annotated[World, typer.Option("--on", help="World to run in.")] = "sim",
    seed: Seed = None,
    settings: Settings = None,
    interval: Annotated[
        str | None,
        typer.Option(
            help="Sampling interval of the time series, such as 100ms; default: duration / 600, longer for more than "
            "10,000 flows."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the record here: scenario.toml, summary.json, flows.parquet, links.parquet."),
    ] = None,
    packets: Annotated[
        bool,
        typer.Option(
            "--packets", help="Simulator, with --out: also write every packet and ACK to {packets,acks}.parquet."
        ),
    ] = False,
    pcap: Annotated[
        Path | None,
        typer.Option(help="Write a capture of all packet headers, for Wireshark or `fairweir explain`."),
    ] = None,
    qlog: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Simulator: write a qlog of each flow here, for qvis or `fairweir explain`."),
    ] = None,
    pcap_at: Annotated[Side, typer.Option(help="Side at which the capture is taken.")] = "sender",
    plot: Annotated[
        list[Path] | None,
        typer.Option(help="Plot throughput, cwnd, RTT and queue over time (png, svg, pdf; html: interactive)."),
    ] = None,
    mode: Annotated[
        Literal["mtu", "tso"],
        typer.Option(help="Kernel world: forward single packets, or TSO super-packets (for rates up to 1 Gbps)."),
    ] = "mtu",
    traffic: Annotated[
        Literal["own", "iperf3"], typer.Option(help="Kernel world: program that generates the traffic.")
    ] = "own",
    record: Annotated[
        Path | None,
        typer.Option(help="Kernel world: record every call of BPF controllers here, and replay them in user space."),
    ] = None,
    cost: Annotated[
        bool, typer.Option("--cost", help="Kernel world: measure the CPU cost of BPF controllers.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run one scenario and print the throughput, delay and losses of each flow; or print a stored record.

    The name of a folder that `run --out` wrote, in the place of a scenario, prints and plots this record. With --qlog,
    it must have packets.

    Exit 0: the run finished.
    Exit 1: with --record, a controller compiled for user space decides differently from the kernel.
    Exit 2: bad input, or the run failed.
    Exit 130: interrupted.
    """
    options = Options(mode, traffic, record, cost)
    if packets and out is None:
        raise ConfigError(
            "--packets requires --out, because packets are stored with the record",
            hint="write `--packets --out DIRECTORY`",
            key="--packets",
        )
    if plot:
        from fairweir.play.run_plot import check_run_plot_path

        for path in plot:
            check_run_plot_path(path)
    if is_record(scenario):
        _show_stored(load_record(scenario), qlog, plot or [], as_json=as_json)
        return
    if out is not None:
        check_record_path(out)
    if qlog is not None:
        check_folder(qlog)
    loaded = load(scenario, settings, seed)
    if interval is None and (out is not None or plot or qlog is not None):
        interval = default_interval(Duration.parse(loaded.duration), flows=sum(flow.count for flow in loaded.flow))
    with meter(loaded.name) as report:
        played = play(
            loaded,
            interval=interval,
            on=world,
            options=options if options != Options() or world == "kernel" else None,
            record_packets=MAX_PACKETS if packets or qlog is not None else None,
            capture=Capture(pcap, pcap_at) if pcap is not None else None,
            isolates_python=True,
            on_progress=lambda fraction: report.count(fraction, 1.0),
        )
    _write(played, out, pcap, qlog, plot or [], has_packets=packets)
    if as_json:
        output.print_json(played.summary.document)
    else:
        show(played)
    if not played.is_judged:
        reason = played.not_judged
        output.stderr.print(Text.assemble(("NOT JUDGED", "bold red"), f": {reason}"), soft_wrap=True)
        output.stderr.print(
            "do not draw conclusions from this run; rerun it when the machine is less loaded", soft_wrap=True
        )
    if not replays_alike(played.summary):
        raise typer.Exit(CLAIM_FAILS)


def _write(
    played: Run, out: Path | None, pcap: Path | None, qlog: Path | None, plots: list[Path], *, has_packets: bool
) -> None:
    """Write the files of a run, and print their names; `pcap` was written during the run."""
    if out is not None:
        (played if has_packets else played.without_packets()).save(out)
        output.stderr.print(f"stored in {out}/", soft_wrap=True)
    if pcap is not None:
        output.stderr.print(f"captured to {pcap}", soft_wrap=True)
    if qlog is not None:
        written = played.save_qlog(qlog)
        output.stderr.print(f"{len(written)} qlogs written to {qlog}/", soft_wrap=True)
    for path in plots:
        played.plot(path)
        output.stderr.print(f"plot written to {path}", soft_wrap=True)


def _show_stored(record: Run, qlog: Path | None, plots: list[Path], *, as_json: bool) -> None:
    """Print and plot a stored record, and write its qlogs."""
    _write(record, None, None, qlog, plots, has_packets=True)
    if as_json:
        output.print_json(record.summary.document)
    else:
        show(record)


def default_interval(duration: Duration, *, flows: int = 1) -> str:
    """Return the interval, whole ms as text, that divides a run into :data:`DEFAULT_INTERVALS` parts.

    With many flows the parts are fewer and longer, so that the series have at most :data:`DEFAULT_ROWS` rows.
    """
    ms = Duration.from_ms(1)
    intervals = DEFAULT_ROWS // flows
    if intervals < DEFAULT_INTERVALS:
        return str(math.ceil(duration / intervals / ms) * ms)
    return str(max(int(duration / DEFAULT_INTERVALS / ms), 1) * ms)


def show(record: Run) -> None:
    """Print a run's tables of flows and links, and its fairness."""
    summary = record.summary
    links = Table("link", box=None, header_style="bold")
    for heading in ("utilization", "queue ms", "p95", "drops", "marks"):
        links.add_column(heading, justify="right")
    for link in summary.links:
        queue = link.queue_ms
        cells = f"{link.utilization:.1%}", delay(queue.mean), delay(queue.p95)
        links.add_row(link.name, *cells, str(link.drops), str(link.marks))
    output.stdout.print(flow_table(summary.flows))
    if (note := abridged(summary.flows)) is not None:
        output.stdout.print(note, soft_wrap=True)
    output.stdout.print()
    output.stdout.print(links)
    output.stdout.print()
    output.stdout.print(_closing(summary), soft_wrap=True)
    for line in kernel_lines(summary):
        output.stdout.print(line, markup=False, soft_wrap=True)


def kernel_lines(summary: Summary) -> list[str]:
    """Return the additional lines of a kernel run: lateness, the cost of controllers, and their replay."""
    lines = [lateness(summary.emulator)] if summary.emulator is not None else []
    for cca, hooks in summary.document.get("cost", {}).items():
        means = [f"{hook} {row['ns'] / row['calls']:.0f} ns" for hook, row in hooks.items() if row["calls"]]
        lines.append(f"{cca}, mean cost of a call: {', '.join(means)}")
    for cca, replay in summary.document.get("replay", {}).items():
        difference = replay["first_difference"]
        outcome = "the same decisions" if difference is None else f"DIFFERENT DECISIONS: {difference}"
        lines.append(f"{cca}, {replay['acks']:,} ACKs of {replay['flows']} flows replayed natively: {outcome}")
    return lines


def replays_alike(summary: Summary) -> bool:
    """Return whether the native build made the same decisions as the kernel's build, if a replay was requested."""
    return all(replay["first_difference"] is None for replay in summary.document.get("replay", {}).values())


def lateness(emulator: Emulator) -> str:
    """Return a line that states how late the emulator released packets, and whether the run is judged."""
    error = emulator.release_error_us
    verdict = "judged" if emulator.judged else "NOT JUDGED"
    return (
        f"real TCP, {emulator.mode} mode; release error of the emulator: p50 {error.p50:.0f} us, "
        f"p99 {error.p99:.0f} us (budget {emulator.budget_us:.0f} us: {verdict}), max {error.max:.0f} us"
    )


def _closing(summary: Summary) -> str:
    jain, ratio = summary.jain, summary.max_min_ratio
    parts = [f"{summary.document['scenario']['name']}, seed {summary.seed}"]
    if len(summary.flows) > 1:
        parts.append(f"Jain {jain:.3f}" if jain is not None else "nothing delivered")
        parts.append(f"max/min {ratio:.2f}" if ratio is not None else "max/min infinite (a flow delivered nothing)")
    packets, wall_s = summary.packets, summary.wall.s
    speed = f" ({packets / max(wall_s, 1e-9) / 1e6:.1f} M/s)" if summary.world == "sim" else ""
    parts.append(f"{packets:,} packets in {wall_s:.2f} s{speed}")
    return "; ".join(parts)
