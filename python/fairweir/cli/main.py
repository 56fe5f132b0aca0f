"""The program: commands, exit codes, and error handling.

Results go to stdout, messages and progress to stderr. Exit 0: no claim fails; 1: a claim fails; 2: bad input, or the
command could not run; 130: interrupted.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import TyperException

from fairweir import __version__, extras
from fairweir.cli import terminal
from fairweir.cli.commands import COMMANDS, summary
from fairweir.cli.modes import Command
from fairweir.errors import FairweirError

BAD_INPUT = 2
_STORAGE_HINT = "choose another folder, such as with --out, or free some space; finished work remains stored"
INTERRUPTED = 130
#: Environment variable that is set when a shell requests completions (click).
COMPLETE = "_FAIRWEIR_COMPLETE"
#: The exit code of a process that a signal ended is this plus the signal's number, by convention of shells.
SIGNALLED = 128
#: Exit code after an error that the code does not expect (sysexits.h, EX_SOFTWARE). Python's own would be 1, which is
#: the verdict that a claim fails.
BUG = 70
#: Exit code of a process that SIGPIPE ended, by convention of shells.
READER_LEFT = 141


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairweir {__version__}")
        raise typer.Exit


def _options(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Evidence for congestion control: from an algorithm to a verdict that can be replayed."""


def app(words: Sequence[str]) -> typer.Typer:
    """Return the program with the command that `words` begin with; without such a command, with all summaries."""
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    if not words or words[0] not in COMMANDS:
        for name in COMMANDS:
            app.command(name, help=summary(name))(_nothing)
        return app
    name = words[0]
    module, _, attribute = COMMANDS[name].partition(":")
    command = getattr(importlib.import_module(module), attribute)
    if isinstance(command, typer.Typer):
        for one in command.registered_commands:
            one.cls = Command
        app.add_typer(command, name=name)
    else:
        app.command(name, cls=Command)(command)
    return app


def _nothing() -> None:
    """Do nothing; a command of which only the name and the summary are needed has this function."""


def _completed() -> list[str]:
    """Return the words of the line that a shell completes. Bash passes the words in a variable of its own."""
    return (os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")).split()[1:]


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    args : list of str, without the program's name; default those of the process

    Returns
    -------
    int, the exit code
    """
    is_completion = COMPLETE in os.environ
    words = _completed() if is_completion else list(sys.argv[1:] if args is None else args)
    if words[:1] == ["--"]:
        words = words[1:]
    _ended_by.clear()
    try:
        result = app(words)(args=words, prog_name="fairweir", standalone_mode=False)
    except (FairweirError, OSError) as error:
        return fail(_render(error))
    except ModuleNotFoundError as error:
        if is_completion:
            return BAD_INPUT  # prints nothing: output would become part of the line that the user types
        lacking = extras.missing(error.name, f"`fairweir {words[0]}`", preferred=words[0]) if words else None
        if lacking is None:
            raise
        return fail(lacking.render())
    except KeyboardInterrupt:
        result = INTERRUPTED
    except TyperException as error:
        message = error.format_message()
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(message)
            return BAD_INPUT
        command = getattr(getattr(error, "ctx", None), "command_path", "fairweir")
        return fail(f"error: {message[:1].lower()}{message[1:].rstrip('.')}\n\nhint: {command} --help")
    except SystemExit:
        # Only typer raises this here, when the reader of our output has exited, as in `fairweir list | head -1`.
        return READER_LEFT
    if result == INTERRUPTED:
        typer.echo("terminated" if _ended_by else "interrupted", err=True)
        return SIGNALLED + _ended_by[0] if _ended_by else INTERRUPTED
    return result if isinstance(result, int) else 0


def _render(error: FairweirError | OSError) -> str:
    """Return the message of an error: also of a full disk, a read-only folder or a file in the place of a folder."""
    if isinstance(error, FairweirError):
        return error.render()
    if isinstance(error, BrokenPipeError):
        raise error
    where = f": `{error.filename}`" if error.filename else ""
    return f"error: {(error.strerror or str(error)).lower()}{where}\n\nhint: {_STORAGE_HINT}"


def fail(text: str) -> int:
    """Print an error to stderr and return the exit code for bad input."""
    # Errors quote files, names and messages from other sources.
    typer.echo(terminal.escape(text, keep="\n\t"), err=True)
    return BAD_INPUT


#: The signal that ended this process, if any.
_ended_by: list[int] = []


def _end(signum: int, frame: object) -> None:
    """End this process as Ctrl-C does: children are stopped, and finished work is stored."""
    _ended_by.append(signum)
    # `timeout` and service managers send signals to whole process groups, sometimes twice.
    signal.signal(signum, signal.SIG_IGN)
    raise KeyboardInterrupt


def run_and_exit() -> None:
    """Run the command line and end the process: the entry point of the installed program."""
    for signum in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is signal.SIG_DFL:
            signal.signal(signum, _end)
    try:
        code = main()
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001 - any other is a bug
        traceback.print_exc()
        code = BUG
        typer.echo("\nerror: a bug of fairweir; please report the lines above", err=True)
    sys.exit(code)
