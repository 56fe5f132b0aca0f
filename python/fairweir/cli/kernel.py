"""``fairweir kernel``: load BPF controllers into this machine's kernel, for use by any program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from fairweir.ccas import lookup as ccas
from fairweir.cli import output
from fairweir.cli.options import AsJson
from fairweir.errors import CcaError
from fairweir.play import kernel
from fairweir.scenario.overrides import parse_setting

kernel_app = typer.Typer(
    no_args_is_help=True, help="Load BPF controllers into this machine's kernel, for use by any program."
)

LoadedName = Annotated[str, typer.Argument(metavar="NAME", help="A name printed by `fairweir kernel list`.")]
Params = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter, such as theta=5ms. Repeatable."),
]


@kernel_app.callback()
def _kernel() -> None:
    """Load BPF controllers into this machine's kernel, for use by any program."""


@kernel_app.command("load")
def load(
    name: Annotated[
        str, typer.Argument(metavar="CCA", help="A shipped BPF controller (frcc, copa, ...), mine.bpf.c, or rule.toml.")
    ],
    called: Annotated[
        str | None, typer.Option("--name", help="Name for TCP_CONGESTION; default: the controller's name.")
    ] = None,
    settings: Params = None,
    default: Annotated[
        bool, typer.Option("--default", help="Use the controller by default for new connections.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Load a controller, so that any program can select it by name until it is unloaded or the machine restarts."""
    if (refusal := ccas.why_not_on_the_kernel(name)) is not None:
        what, hint = refusal
        raise CcaError(f"the kernel cannot run {what}: `{name}`", hint=hint, cca=name)
    source = str(ccas.kernel_c(name)) if ccas.is_bpf_source(name) or ccas.is_rule(name) else name
    words = ["load", source, *(["--name", called] if called else []), *(["--default"] if default else [])]
    loaded = _ask("loading a controller", [*words, "--params", json.dumps(_params(settings))])
    if as_json:
        output.print_json(loaded)
        return
    use = loaded["name"]
    output.stdout.print(f"loaded {use}; select it by setsockopt TCP_CONGESTION, or iperf3 -C {use}", soft_wrap=True)
    if loaded["previous_default"]:
        output.stdout.print(
            f"new connections use it; the previous default was {loaded['previous_default']}", soft_wrap=True
        )
    output.stdout.print(f"undo: fairweir kernel unload {use}", soft_wrap=True)


@kernel_app.command("unload")
def unload(
    name: LoadedName,
    force: Annotated[
        bool, typer.Option("--force", help="Unload the controller even if it is the default of a network namespace.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Unload a controller; existing connections keep using it until they close."""
    undone = _ask("unloading a controller", ["unload", name, *(["--force"] if force else [])])
    if as_json:
        output.print_json(undone)
    else:
        show_undone(undone)


@kernel_app.command("list")
def list_loaded(as_json: AsJson = False) -> None:
    """List loaded controllers."""
    loaded = _ask("listing loaded controllers", ["list"])
    if as_json:
        output.print_json(loaded)
        return
    if not loaded:
        output.stdout.print("no controllers are loaded")
        return
    table = Table("name", "cca", "state", "default of", "parameters", box=None, header_style="bold")
    for row in loaded:
        state = "loaded" if row["is_loaded"] else "no longer loaded; clean up with: fairweir doctor --clean"
        table.add_row(row["name"], row["cca"], state, ", ".join(row["default_of"]), _shown(row["params"]))
    output.stdout.print(table)


@kernel_app.command("params")
def params(name: LoadedName, settings: Params = None, as_json: AsJson = False) -> None:
    """Show, or change with --set, the default parameters of new flows."""
    change = [json.dumps(_params(settings))] if settings else []
    found = _ask("a loaded controller's parameters", ["params", name, *change])
    if as_json:
        output.print_json(found)
    else:
        output.stdout.print(_shown(found), soft_wrap=True)


def show_undone(undone: dict[str, Any]) -> None:
    """Print the unloaded controllers, and the controller that new connections use now."""
    output.stdout.print(
        f"unloaded {', '.join(undone['unloaded'])}" if undone["unloaded"] else "no controllers were loaded"
    )
    if undone["default_restored"]:
        output.stdout.print(f"new connections use {undone['default_restored']} again", soft_wrap=True)
    for namespace in undone["left_without_default"]:
        output.stdout.print(f"{namespace} has no default any more: the kernel uses reno there", soft_wrap=True)


def _ask(what: str, words: Sequence[str]) -> Any:
    kernel.find_helper()
    kernel.need_root(what)
    return kernel.ask(words)


def _params(settings: Sequence[str] | None) -> dict[str, Any] | None:
    return dict(map(parse_setting, settings)) if settings else None


def _shown(params: dict[str, Any] | None) -> str:
    return ", ".join(f"{key}={json.dumps(value)}" for key, value in (params or {}).items())
