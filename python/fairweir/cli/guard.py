"""``fairweir guard``: limit incoming TCP flows by a policy of the receiver."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.table import Table
from rich.text import Text

from fairweir.cli import output
from fairweir.cli.guard_evaluate import evaluate_command
from fairweir.cli.guard_examine import examine_command
from fairweir.cli.guard_replay import replay_command
from fairweir.cli.guard_train import train
from fairweir.cli.options import AsJson, PolicyFile, ScenarioFile, Seed, Settings, file_of, load
from fairweir.guard.daemon import find_daemon
from fairweir.play import kernel

guard_app = typer.Typer(no_args_is_help=True, help="Limit incoming TCP flows by a policy of the receiver.")

Interface = Annotated[
    str,
    typer.Option("--interface", "-i", metavar="IF", help="The network device that receives the data, such as eth0."),
]


@guard_app.callback()
def _guard() -> None:
    """Limit incoming TCP flows by a policy of the receiver."""


@guard_app.command("run")
def run(
    interface: Interface,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", metavar="NAME", help="A policy with default settings: service, rledbat, or cap with --rate."
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option("--rate", metavar="RATE", help="With --policy cap: rate allowed to each sender, such as 20Mbps."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            parser=file_of("policies"),
            help="A TOML file of policies, or a name (see `fairweir list policies`). SIGHUP reloads the file.",
        ),
    ] = None,
    hosts: Annotated[
        Path | None,
        typer.Option(
            "--hosts", metavar="FILE", help='Names of senders, in the format of /etc/hosts, for `group = "name"`.'
        ),
    ] = None,
    dns: Annotated[bool, typer.Option("--dns", help="Learn names of senders from DNS answers on the device.")] = False,
    clamp: Annotated[
        bool,
        typer.Option("--clamp", help="Also clamp the windows of this host's sockets; do not limit forwarded flows."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Do not change windows; report how flows would be limited.")
    ] = False,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Append each decision as a JSON object.")
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            "--metrics", metavar="FILE", help="Write metrics to FILE every 5 s, for node_exporter's textfile collector."
        ),
    ] = None,
    metrics_listen: Annotated[
        str | None,
        typer.Option(
            "--metrics-listen",
            metavar="ADDRESS:PORT",
            help="Serve metrics over HTTP at /metrics, such as 127.0.0.1:9465.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Limit the flows of a network device until interrupted. After it ends, even if killed, no window is rewritten."""
    words = ["run", "--interface", interface]
    for option, value in (
        ("--policy", policy),
        ("--rate", rate),
        ("--config", config),
        ("--hosts", hosts),
        ("--log", log),
        ("--metrics", metrics),
        ("--metrics-listen", metrics_listen),
    ):
        words += [option, str(value)] if value is not None else []
    for option, is_set in (("--dns", dns), ("--clamp", clamp), ("--dry-run", dry_run), ("--json", as_json)):
        words += [option] if is_set else []
    kernel.need_root(
        "guarding", "it loads BPF programs and attaches them to the device (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN)"
    )
    _become(words)


@guard_app.command("status")
def status(interface: Interface, as_json: AsJson = False) -> None:
    """Show the flows, windows and counters of the guard on a network device."""
    _become(["status", "--interface", interface, *(["--json"] if as_json else [])])


@guard_app.command("explain")
def explain(
    flow: Annotated[
        str, typer.Argument(metavar="FLOW", help="Part of `REMOTE:PORT > LOCAL:PORT` as printed by status.")
    ],
    interface: Interface,
    as_json: AsJson = False,
) -> None:
    """Explain the current limit of each matching flow, and its changes."""
    _become(["explain", flow, "--interface", interface, *(["--json"] if as_json else [])])


def _become(words: list[str]) -> NoReturn:
    """Replace this process with the daemon, which then owns the terminal, the signals and the exit code."""
    program = str(find_daemon())
    os.execv(program, [program, *words])  # noqa: S606


@guard_app.command("compare")
def compare(
    scenario: ScenarioFile,
    policies: PolicyFile,
    seed: Seed = None,
    settings: Settings = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Append each decision of the guard as a JSON object.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot throughput over time with and without the guard (png, svg or pdf).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario on real TCP without and with a guard at the receivers, and compare throughputs."""
    from fairweir.guard.compare import compare as play_both

    if plot is not None:
        from fairweir.show.plots import check_plot_path

        check_plot_path(plot)
    loaded = load(scenario, settings, seed)
    with output.progress_bar(counts=False) as bar:
        task = bar.add_task(loaded.name, total=1.0)
        both = play_both(loaded, policies, log=log, on_progress=lambda done: bar.update(task, completed=done))
    if plot is not None:
        from fairweir.guard.plot import save

        save(both, plot)
        output.stderr.print(f"plot written to {plot}", soft_wrap=True)
    reported = both.table()
    if as_json:
        output.print_json(reported)
    else:
        _show(reported)
    for name in ("without", "guarded"):
        if not reported[name]["judged"]:
            output.stderr.print(
                Text.assemble(("NOT JUDGED", "bold red"), f": the run {name}: packets were released too late"),
                soft_wrap=True,
            )


def _show(reported: dict[str, Any]) -> None:
    table = Table("", "without guard", "with guard", box=None, header_style="bold")
    without, guarded = reported["without"], reported["guarded"]
    for name, mbps in without["services_mbps"].items():
        table.add_row(f"{name}, Mbit/s", f"{mbps:.1f}", f"{guarded['services_mbps'][name]:.1f}")
    for title, key, form in (
        ("Jain, services", "jain_services", ".3f"),
        ("Jain, flows", "jain_flows", ".3f"),
        ("utilization", "utilization", ".1%"),
        ("mean queueing delay, ms", "queue_ms", ".1f"),
        ("retransmissions", "retransmits", ",d"),
    ):
        table.add_row(title, *("-" if side[key] is None else format(side[key], form) for side in (without, guarded)))
    output.stdout.print(table)
    guard = reported["guard"]
    share = guard["cpu_s"] / max(guard["uptime_s"], 1e-9)
    output.stdout.print(
        f"guard: {guard['summarised']:,} packets, {guard['rewritten']:,} windows reduced, "
        f"{guard['lost']} packet summaries lost, {share:.1%} of a core",
        soft_wrap=True,
    )


guard_app.command("replay")(replay_command)
guard_app.command("evaluate")(evaluate_command)
guard_app.command("train")(train)
guard_app.command("examine")(examine_command)
