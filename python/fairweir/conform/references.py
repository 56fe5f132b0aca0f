"""The references of the table of all controllers."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from fairweir.ccas import lookup
from fairweir.errors import ProgramError
from fairweir.play import quic

#: The references of the controllers that are compared with the kernel's.
KERNEL_REFERENCES: Final = {"reno": "kernel:reno", "cubic": "kernel:cubic", "bbr": "kernel:bbr"}


def references() -> dict[str, str]:
    """Return the reference of each available controller of a stack: in the simulator, and in its whole stack."""
    simulated = lookup.algorithms()
    found = {name: ours for name, ours in lookup.COUNTERPARTS.items() if name in simulated}
    return found | {f"quic:{name}": ours for name, ours in lookup.COUNTERPARTS.items() if _is_built(name)}


def missing_programs() -> list[str]:
    """Return how to build the programs of the stacks that are not available, as sentences."""
    programs = dict.fromkeys(quic.program_of([name]) for name in lookup.COUNTERPARTS if lookup.is_stack(name))
    lines = []
    for program in programs:
        try:
            program.find()
        except ProgramError as error:
            lines.append(f"left out: {error.message}; {error.hint}")
    return lines


def _is_built(cca: str) -> bool:
    if not lookup.is_stack(cca):
        return False
    with suppress(ProgramError):
        quic.program_of([cca]).find()
        return True
    return False
