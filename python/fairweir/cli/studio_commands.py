"""The commands that have a page in the studio, with the arguments and options that their forms show.

Names, help texts and defaults are those of the commands' functions.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from fairweir.studio.commands import CommandPage, Field, Kind, Output, Pages


@dataclass(frozen=True)
class Form:
    """The form of a command's page.

    Attributes
    ----------
    function : module and name of the command's function
    shown : the parameters in their order; a tuple of flags that exclude each other is shown as one choice
    output : Output
    resumes : whether the same command continues interrupted work
    suggests : for a parameter, what the page suggests
    """

    function: str
    shown: tuple[str | tuple[str, ...], ...]
    output: Output
    resumes: bool = False
    suggests: Mapping[str, str] = field(default_factory=dict)


FORMS: Final = {
    "audit": Form(
        "fairweir.cli.audit:audit",
        ("ccas", ("quick", "deep"), "against", "only", "seeds", "world"),
        Output("--out", subject="ccas"),
        resumes=True,
        suggests={"ccas": "ccas", "against": "ccas"},
    ),
    "starve": Form(
        "fairweir.cli.starve:starve",
        ("cca", "ratio", "jitter", "rate_range", "rtprop"),
        Output("--out", subject="cca"),
        resumes=True,
        suggests={"cca": "ccas"},
    ),
    "verify": Form(
        "fairweir.cli.verify:verify",
        ("cca", "model", "properties", "points", "jitter", "buffer", "given", "budget", "certificate"),
        Output("--out", subject="cca"),
        suggests={"cca": "rules"},
    ),
    "explain": Form(
        "fairweir.cli.explain:explain",
        ("capture", "flow"),
        Output("--report", subject="capture", suffix=".explain.html"),
        suggests={"capture": "captures"},
    ),
    "guard evaluate": Form(
        "fairweir.cli.guard_evaluate:evaluate_command",
        ("challenges", "configurations", "policy", "world", "duration", "seed"),
        Output("--out"),
        resumes=True,
        suggests={"policy": "policies"},
    ),
}


def pages() -> Pages:
    """Return the pages by the commands' names; each is made, and its command imported, when it is called."""
    return {name: partial(page, name) for name in FORMS}


@cache
def page(name: str) -> CommandPage:
    """Return the page of a command."""
    form = FORMS[name]
    module, _, attribute = form.function.partition(":")
    function = getattr(importlib.import_module(module), attribute)
    text = inspect.cleandoc(function.__doc__ or "")
    return CommandPage(
        name=name,
        summary=text.split("\n\n")[0].replace("\n", " "),
        fields=tuple(_field(function, one, form) for one in form.shown),
        output=form.output,
        resumes=form.resumes,
        exits=_exits(text),
    )


def _exits(text: str) -> dict[int, str]:
    """Return the meanings of exit codes, from the lines ``Exit 1: ...`` of a command's help."""
    found = re.findall(r"^Exit (\d+): (.*?)(?=\n\n|\nExit |\Z)", text, re.MULTILINE | re.DOTALL)
    return {int(code): " ".join(meaning.split()).rstrip(".") for code, meaning in found}


def _field(function: Callable[..., Any], shown: str | tuple[str, ...], form: Form) -> Field:
    if isinstance(shown, tuple):
        flags = {name: _field(function, name, form) for name in shown}
        choices = {"default": (), **{name: (flag.option,) for name, flag in flags.items()}}
        text = " ".join(f"{name}: {flag.help}" for name, flag in flags.items())
        return Field(
            "-".join(shown), "depth" if "deep" in shown else " or ".join(shown), Kind.CHOICE, text, choices=choices
        )
    annotation = get_type_hints(function, include_extras=True)[shown]
    kind, info = get_args(annotation) if get_origin(annotation) is Annotated else (annotation, None)
    if not isinstance(info, ArgumentInfo | OptionInfo):
        raise TypeError(f"`{shown}` of {function.__name__} has no typer.Argument or typer.Option")
    option = _option(shown, info) if isinstance(info, OptionInfo) else ""
    default = inspect.signature(function).parameters[shown].default
    made = partial(
        Field,
        shown,
        option.removeprefix("--").replace("-", " ") or str(info.metavar or shown).strip(".[]").lower(),
        help=info.help or "",
        option=option,
        suggests=form.suggests.get(shown, ""),
    )
    literals = next((one for one in (kind, *get_args(kind)) if get_origin(one) is Literal), None)
    if kind is bool:
        return made(kind=Kind.FLAG)
    if literals is not None and get_origin(kind) is Literal:
        others = [one for one in get_args(literals) if one != default]
        return made(kind=Kind.CHOICE, choices={default: (), **{one: (option, one) for one in others}})
    is_list = any(get_origin(one) is list for one in (kind, *get_args(kind)))
    return made(
        kind=Kind.TEXT if not is_list else Kind.LINES if option else Kind.WORDS,
        default="" if default in (None, inspect.Parameter.empty) else str(default),
        is_required=not option
        and default in (inspect.Parameter.empty, "", None)
        and not str(info.metavar).startswith("["),
    )


def _option(name: str, info: OptionInfo) -> str:
    # In an annotation, typer has the first name in the place of the default.
    names = (info.default, *(info.param_decls or ()))
    declared = [one for one in names if isinstance(one, str) and one.startswith("--")]
    return declared[0].partition("/")[0] if declared else f"--{name.replace('_', '-')}"
