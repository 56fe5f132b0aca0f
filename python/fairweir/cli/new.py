"""``fairweir new``: skeletons of controllers and models that run unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairweir.ccas.new import Skeleton, write_cca
from fairweir.ccas.new_plugin import Kind, Language, write_plugin
from fairweir.cli import output
from fairweir.cli.options import AsJson

new_app = typer.Typer(
    no_args_is_help=True, help="Write a skeleton of a controller or network model that runs unchanged."
)


@new_app.callback()
def _new() -> None:
    """Write a skeleton of a controller or network model that runs unchanged."""


@new_app.command("cca")
def cca(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name in lower case with underscores, such as my_cca.")],
    is_c: Annotated[bool, typer.Option("--c", help="Write kernel C (NAME.bpf.c) instead of a Python class.")] = False,
    directory: Annotated[Path, typer.Option("--dir", help="Output directory.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a congestion controller and a scenario that runs it."""
    _show(write_cca(name, directory, is_c=is_c), as_json)


@new_app.command("plugin")
def plugin(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower case with underscores, such as my_cc.")],
    language: Annotated[Language, typer.Option("--lang", help="Language of the plug-in.")] = Language.C,
    kind: Annotated[
        Kind, typer.Option(help="A congestion controller, or both ends of a whole transport (in C).")
    ] = Kind.CONTROLLER,
    directory: Annotated[Path, typer.Option("--dir", help="Output directory.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a folder with a plug-in, built as a shared library: a congestion controller in C, C++, Rust or Go, or with
    --kind endpoint a whole transport.
    """
    _show(write_plugin(name, directory, language, kind), as_json)


@new_app.command("model")
def model(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name in lower case with underscores, such as my_link.")],
    directory: Annotated[Path, typer.Option("--dir", help="Output directory.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a network model for `fairweir verify`: constraints for the solver, and an independent check of traces."""
    from fairweir.formal.models.new import write_model

    _show(write_model(name, directory), as_json)


def _show(skeleton: Skeleton, as_json: bool) -> None:
    if as_json:
        output.print_json({"files": list(map(str, skeleton.files)), "commands": skeleton.commands})
        return
    for path in skeleton.files:
        output.stdout.print(f"wrote {path}", soft_wrap=True)
    output.stdout.print("next:")
    for command in skeleton.commands:
        output.stdout.print(f"  {command}", soft_wrap=True)
