"""Rules for the options that a call uses: an option that the call would ignore is an error.

A command whose options depend on one another has rules here. They are applied before the command runs, to the options
that were given, even if given with their default values. A rule with `takes` rejects all other options; a new option of
the command is therefore rejected until it is added to the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperCommand

from fairweir.documents import shipped
from fairweir.errors import ConfigError

Params = Mapping[str, Any]
"""The values of a call's parameters, by name."""


@dataclass(frozen=True)
class Rule:
    """Parameters that calls of one kind use or ignore.

    Attributes
    ----------
    words : description of the kind, as in "--noise has no effect without --packets"
    applies : whether a call is of this kind
    takes : the parameters that such a call uses; None: all except `refuses`
    refuses : the parameters that such a call ignores
    """

    words: str
    applies: Callable[[Params], bool]
    takes: frozenset[str] | None = None
    refuses: frozenset[str] = frozenset()

    def ignores(self, name: str) -> bool:
        """Return whether such a call ignores a parameter."""
        return name in self.refuses or (self.takes is not None and name not in self.takes)


def _with(name: str, option: str, *takes: str) -> Rule:
    """Return the rule that a call with an option uses only this option, ``--json`` and `takes`."""
    return Rule(f"with {option}", lambda p: p[name] not in (None, False), frozenset({name, "as_json", *takes}))


def _without(name: str, option: str, *refuses: str) -> Rule:
    """Return the rule that a call without an option ignores `refuses`."""
    return Rule(f"without {option}", lambda p: p[name] in (None, False), refuses=frozenset(refuses))


def _where(name: str, values: tuple[Any, ...], words: str, *refuses: str) -> Rule:
    """Return the rule that a call in which a parameter has one of `values` ignores `refuses`."""
    return Rule(words, lambda p: p[name] in values, refuses=frozenset(refuses))


def is_controller(word: object) -> bool:
    """Return whether a word names a controller file, or a refutation of a controller, rather than a CCA.

    Such a word ends in .json, or is the name of a shipped controller.
    """
    return isinstance(word, str) and (word.endswith(".json") or word in shipped.by_name("controllers"))


def is_action(word: str) -> bool:
    """Return whether a word names a function of actions, which is evaluated without runs."""
    from fairweir.ccas.lookup import is_python
    from fairweir.contracts.action_map import load_action

    return is_python(word) and load_action(word) is not None


def is_search(only: Sequence[str] | None) -> bool:
    """Return whether ``audit --only`` selects only searches, which have no runs per point."""
    from fairweir.audit.exhibits.registry import SEARCHES, select

    return bool(only) and set(select(only)) <= set(SEARCHES)


def are_audits(sides: Sequence[str]) -> bool:
    """Return whether a word names the results of an audit, or their folder."""
    return any(Path(side).suffix == ".json" or (Path(side) / "results.json").is_file() for side in sides)


def is_stored_record(path: object) -> bool:
    """Return whether a path is the folder of a run's record."""
    from fairweir.play.record_folder import is_record

    return isinstance(path, Path) and is_record(path)


def is_game_query(path: object) -> bool:
    """Return whether a file is a query of the game; the command itself reports an unreadable file."""
    # Imported here, because every command reads these rules and few commands need the readers.
    from fairweir.documents.toml import read_document
    from fairweir.game.query import is_game

    try:
        return isinstance(path, Path) and is_game(read_document(path, noun="query"))
    except ConfigError:
        return False


#: A cluster has a number of cores of its own.
_ON_CLUSTER = Rule("with --cluster", lambda p: p["cluster"] is not None, refuses=frozenset({"workers"}))

#: Parameters of ``run`` that apply to stored records.
_OF_RECORDS = frozenset({"scenario", "plot", "qlog", "as_json"})
#: Options of ``verify`` that also apply to controllers.
_OF_CONTROLLERS = frozenset({"cca", "properties", "budget", "solver", "certificate", "out", "write", "as_json"})

#: Rules by the command as typed.
RULES: dict[str, tuple[Rule, ...]] = {
    "agree": (
        _ON_CLUSTER,
        _where(
            "worlds",
            ("sim,quic",),
            "with --worlds sim,quic",
            *("runs", "kernel_runs", "other_kernel_runs", "stall", "cells", "design_seed"),
        ),
        Rule(
            "with --other-kernel-runs",
            lambda p: p["other_kernel_runs"] is not None,
            refuses=frozenset({"stall", "out", "workers", "cluster"}),
        ),
        Rule("with --cells", lambda p: p["cells"] is not None, refuses=frozenset({"ccas", "scenarios", "quick"})),
        _without("cells", "--cells", "design_seed"),
    ),
    "audit": (
        _ON_CLUSTER,
        Rule("for searches alone", lambda p: is_search(p["only"]), refuses=frozenset({"seeds"})),
        _where(
            "everyone",
            (True,),
            "with --all",
            *("world", "against", "baseline", "save_baseline", "save_known_values", "as_json"),
        ),
        _without("everyone", "--all", "page"),
    ),
    "compare": (Rule("of audits", lambda p: are_audits(p["sides"]), frozenset({"sides", "page", "as_json"})),),
    "conform": (_ON_CLUSTER,),
    "contract derive": (_ON_CLUSTER,),
    "contract open-loop": (
        _ON_CLUSTER,
        Rule(
            "of functions alone",
            lambda p: all(map(is_action, p["ccas"])),
            refuses=frozenset({"out", "workers", "cluster"}),
        ),
    ),
    "fluid": (
        _ON_CLUSTER,
        _without("packets", "--packets", "noise", "seeds", "runs", "out", "workers", "cluster"),
        _where("packets", ("sim",), "with --packets sim", "runs"),
        _where("packets", ("kernel",), "with --packets kernel", "noise", "seeds", "workers", "cluster"),
    ),
    "guard evaluate": (
        _ON_CLUSTER,
        _with("list_only", "--list"),
        _where("world", ("kernel",), "with --on kernel", "workers", "cluster"),
    ),
    "guard examine": (_ON_CLUSTER, _where("world", ("kernel",), "with --on kernel", "workers", "cluster")),
    "guard run": (
        Rule("without --policy cap", lambda p: p["policy"] != "cap", refuses=frozenset({"rate"})),
        Rule("with --config", lambda p: p["config"] is not None, refuses=frozenset({"policy"})),
    ),
    "guard train": (_ON_CLUSTER, _where("world", ("kernel",), "with --on kernel", "cluster")),
    "prove": (_ON_CLUSTER, _with("list_only", "--list")),
    "reproduce": (
        _ON_CLUSTER,
        _with("index", "--index", "page"),
        _with("list_only", "--list", "ids", "everything", "directory", "world"),
        _where("world", ("kernel",), "with --on kernel", "quick", "workers", "cluster"),
        _where("world", ("both",), "with --on both", "quick"),
    ),
    "rule": (_where("as_json", (True,), "with --json", "form"),),
    "run": (
        _where("world", ("sim", "quic"), "without --on kernel", "mode", "traffic", "record", "cost"),
        _where("world", ("kernel",), "with --on kernel", "packets", "qlog"),
        _where("world", ("quic",), "with --on quic", "packets", "pcap", "qlog"),
        _without("pcap", "--pcap", "pcap_at"),
        Rule(
            "without --out, --plot or --qlog",
            lambda p: p["out"] is None and p["qlog"] is None and not p["plot"],
            refuses=frozenset({"interval"}),
        ),
        Rule("with a stored record", lambda p: is_stored_record(p["scenario"]), _OF_RECORDS),
    ),
    "starve": (
        _ON_CLUSTER,
        _with("check", "--check", "replay"),
        _without("check", "--check", "replay"),
    ),
    "sweep": (_ON_CLUSTER,),
    "synth": (
        _ON_CLUSTER,
        Rule(
            "for a query of the game",
            lambda p: is_game_query(p["query"]),
            refuses=frozenset({"every_member"}),
        ),
    ),
    "verify": (
        _with("list_only", "--list"),
        Rule("of a controller", lambda p: is_controller(p["cca"]), _OF_CONTROLLERS),
        _where("model", ("ideal",), "with --model ideal", "jitter"),
        Rule("with one --solver", lambda p: len(p["solver"] or ()) == 1, refuses=frozenset({"both"})),
        Rule("without a controller", lambda p: not is_controller(p["cca"]), refuses=frozenset({"write"})),
    ),
}


#: What a command opens in its function and needs until its end, such as the connection to a cluster.
opened: Final = ExitStack()


class Command(TyperCommand):
    """A command that rejects options that the call would ignore."""

    def invoke(self, ctx: Any) -> Any:
        """Apply the command's rules, then run it.

        Raises
        ------
        ConfigError : an option that was given has no effect in this call
        """
        for rule in RULES.get(command_name(ctx), ()):
            if rule.applies(ctx.params):
                self._refuse(ctx, rule)
        with opened:
            return super().invoke(ctx)

    def _refuse(self, ctx: typer.Context, rule: Rule) -> None:
        for parameter in self.params:
            name = parameter.name or ""
            if rule.ignores(name) and is_given(ctx, name):
                is_option = parameter.param_type_name == "option"
                shown = max(parameter.opts, key=len) if is_option else name.upper()
                kind, _, needed = rule.words.partition(" ")
                hint = f"add {needed}, or leave out {shown}" if kind == "without" else f"leave out {shown}"
                raise ConfigError(f"{shown} has no effect {rule.words}", hint=hint)


def command_name(ctx: typer.Context) -> str:
    """Return the command as typed, without the program: ``guard evaluate``."""
    return ctx.command_path.partition(" ")[2]


def is_given(ctx: typer.Context, name: str) -> bool:
    """Return whether a parameter was given, not left at its default."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name in {"COMMANDLINE", "ENVIRONMENT"}
