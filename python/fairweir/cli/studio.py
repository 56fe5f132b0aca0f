"""``fairweir studio``: a local web page on which a scenario is edited and its results are drawn at once."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fairweir import extras
from fairweir.cli import output
from fairweir.errors import ConfigError

if TYPE_CHECKING:
    from fairweir.studio.serve import Address

#: Same as :data:`fairweir.studio.serve.LOOPBACK`, which needs the extra.
_LOOPBACK: Final = "127.0.0.1"


def studio(
    scenario: Annotated[
        str, typer.Argument(help="Scenario file in this folder, or the name of a shipped scenario.")
    ] = "three-rtprops",
    *,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="TCP port; default: a free one from 8642.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to serve at; others than 127.0.0.1 need --allow-remote.")
    ] = _LOOPBACK,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote",
            help="Serve other machines, too: anyone who knows the address can run controllers, which are programs, "
            "with your rights, and read and write scenarios in this folder. The connection is not encrypted.",
        ),
    ] = False,
    opens_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:
    """Edit a scenario on a local web page and see its results at once.

    The page is served to this machine only, and its address contains a random token. It reads and writes scenarios in
    the current folder. Press Ctrl-C to end it.

    Exit 0: ended by Ctrl-C.
    Exit 2: the port is in use, or the scenario cannot be read.
    """
    extras.require("starlette", "the studio")
    extras.require("uvicorn", "the studio")
    from fairweir.cli.studio_commands import pages
    from fairweir.studio.folder import Folder
    from fairweir.studio.serve import serve

    if host != _LOOPBACK and not allow_remote:
        raise ConfigError(
            f"`{host}` can be reached from other machines",
            hint="add --allow-remote: anyone who knows the address can then run programs with your rights",
            key="--host",
        )
    folder = Folder(Path.cwd())
    first = _name_of(scenario)
    folder.open(first)

    def announce(address: Address) -> None:
        output.stderr.print(f"studio: {address.url}", soft_wrap=True, highlight=False)
        output.stderr.print("press Ctrl-C to end it", soft_wrap=True)
        if opens_browser:
            webbrowser.open(address.url)

    # Ctrl-C is how a server is meant to end.
    with suppress(KeyboardInterrupt):
        serve(folder, first, pages=pages(), host=host, port=port, on_ready=announce)


def _name_of(scenario: str) -> str:
    path = Path(scenario)
    is_inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd())) if is_inside else scenario
