"""Names and summaries of the commands. Their modules are not imported, because imports take seconds."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

#: For each command, in the order of the help text: its module, and the function or group of commands in the module.
COMMANDS = {
    "audit": "fairweir.cli.audit:audit",
    "starve": "fairweir.cli.starve:starve",
    "explain": "fairweir.cli.explain:explain",
    "run": "fairweir.cli.run:run",
    "studio": "fairweir.cli.studio:studio",
    "sweep": "fairweir.cli.sweep:sweep",
    "compare": "fairweir.cli.compare:compare",
    "agree": "fairweir.cli.agree:agree",
    "conform": "fairweir.cli.conform:conform",
    "verify": "fairweir.cli.verify:verify",
    "prove": "fairweir.cli.prove:prove",
    "synth": "fairweir.cli.synth:synth",
    "reproduce": "fairweir.cli.reproduce:reproduce",
    "rule": "fairweir.cli.rule:rule",
    "tradeoff": "fairweir.cli.tradeoff:tradeoff",
    "fluid": "fairweir.cli.fluid:fluid",
    "contract": "fairweir.cli.contract:contract_app",
    "list": "fairweir.cli.list:list_all",
    "kernel": "fairweir.cli.kernel:kernel_app",
    "guard": "fairweir.cli.guard:guard_app",
    "video": "fairweir.cli.video:video_app",
    "new": "fairweir.cli.new:new_app",
    "doctor": "fairweir.cli.doctor:doctor",
}


def summary(name: str) -> str:
    """Return the first paragraph of a command's help, read from its source file without running it."""
    module, _, attribute = COMMANDS[name].partition(":")
    source = Path(__file__).parent / f"{module.rpartition('.')[2]}.py"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=found) if found == attribute:
                return inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")[0]
            case ast.Assign(targets=[ast.Name(id=found)], value=ast.Call(keywords=keywords)) if found == attribute:
                return next(str(ast.literal_eval(word.value)) for word in keywords if word.arg == "help")
            case _:
                pass
    raise AssertionError(f"{module} has no {attribute}")
