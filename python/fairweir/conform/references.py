"""The references of the table of all controllers."""

from __future__ import annotations

from typing import Final

from fairweir.ccas import lookup
from fairweir.errors import ProgramError
from fairweir.play import quic
from fairweir.play.program import Program

#: The references of the controllers that are compared with the kernel's.
KERNEL_REFERENCES: Final = {"reno": "kernel:reno", "cubic": "kernel:cubic", "bbr": "kernel:bbr"}


def references() -> dict[str, str]:
    """Return the reference of each available controller of a stack: in the simulator, and in its whole stack."""
    simulated = lookup.algorithms()
    found = {name: ours for name, ours in lookup.COUNTERPARTS.items() if name in simulated}
    stacks = {name: ours for name, ours in lookup.COUNTERPARTS.items() if lookup.is_stack(name)}
    return found | {f"quic:{name}": ours for name, ours in stacks.items() if _missing(quic.program_of([name])) is None}


def missing_programs() -> list[str]:
    """Return how to build the programs of the stacks that are not available, as sentences."""
    programs = dict.fromkeys(quic.program_of([name]) for name in lookup.COUNTERPARTS if lookup.is_stack(name))
    errors = filter(None, map(_missing, programs))
    return [f"left out: {error.message}; {error.hint}" for error in errors]


def _missing(program: Program) -> ProgramError | None:
    try:
        program.find()
    except ProgramError as error:
        return error
    return None
