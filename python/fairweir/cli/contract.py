"""``fairweir contract``: contracts, which determine how flows of a CCA share a link; a module per subcommand."""

from __future__ import annotations

import shlex
from typing import Any

import typer
from typer.core import TyperGroup

from fairweir.cli.contract_derive import derive
from fairweir.cli.contract_design import design
from fairweir.cli.contract_open_loop import open_loop
from fairweir.cli.contract_table import table
from fairweir.errors import ConfigError

#: Flags of `contract` before it had subcommands, each with the subcommand that replaced it.
FORMER_FLAGS = {"--table": "table", "--design": "design", "--open-loop": "open-loop"}


class ContractGroup(TyperGroup):
    """The subcommands; the error for a call without a subcommand has the correct call as its hint."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words that follow ``contract``.

        Raises
        ------
        ConfigError : the first word is not a subcommand; the hint is the call with a subcommand
        """
        is_help = any(word in ctx.help_option_names for word in args)
        if args and not is_help and not ctx.resilient_parsing and args[0] not in self.commands:
            meant = next((FORMER_FLAGS[word] for word in args if word in FORMER_FLAGS), "derive")
            rest = [word for word in args if word not in FORMER_FLAGS]
            raise ConfigError(
                f"not a subcommand of contract: `{args[0]}`; expected {', '.join(self.commands)}",
                hint=f"write `fairweir contract {shlex.join([meant, *rest])}`",
            )
        return super().parse_args(ctx, args)


contract_app = typer.Typer(
    cls=ContractGroup,
    no_args_is_help=True,
    help="Derive or design contracts: a flow's rate as a function of delay, loss or marks.",
)


@contract_app.callback()
def _contract() -> None:
    """Derive or design contracts: a flow's rate as a function of delay, loss or marks."""


contract_app.command("derive")(derive)
contract_app.command("open-loop")(open_loop)
contract_app.command("design")(design)
contract_app.command("table")(table)
