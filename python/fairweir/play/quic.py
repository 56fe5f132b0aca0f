"""The world of QUIC stacks: run ``fairweir-quic`` or ``fairweir-quiche``, whole stacks in virtual time.

A program reads ``fairweir_scenario::Config`` as JSON from stdin and prints the record of the simulator, and ``quic``:
the number of datagrams, a digest of their times and sizes, and the versions of the stacks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from fairweir.ccas.lookup import is_plugin
from fairweir.errors import ProgramError
from fairweir.play.program import Program
from fairweir.play.simulate import RawRun
from fairweir.units import Duration

PROGRAM: Final = Program("fairweir-quic", "FAIRWEIR_QUIC", "the program of the QUIC stacks", "run make build")
#: Has quiche, too, whose clock it replaces by a virtual one.
QUICHE_PROGRAM: Final = Program(
    "fairweir-quiche",
    "FAIRWEIR_QUICHE",
    "the program of the QUIC stack quiche",
    "run make quiche, which builds BoringSSL (docs/quic-world.md)",
)
#: Maximum time of a run, s, in addition to :data:`LIMIT_PER_S` for each simulated second.
LIMIT_S: Final = 60.0
#: 100 million datagrams take about 150 s; a link of 10 Gbit/s carries one million per second.
LIMIT_PER_S: Final = 30.0


def program_of(ccas: Iterable[str]) -> Program:
    """Return the program that runs flows of `ccas`: the one with quiche only if a flow needs it."""
    return QUICHE_PROGRAM if any(name.startswith("quiche/") for name in ccas) else PROGRAM


def build(ccas: Iterable[str]) -> str:
    """Return an identifier of the program that runs flows of `ccas`: results of another build are not reused.

    Raises
    ------
    ProgramError : the program is not built
    """
    program = program_of(ccas)
    _builds[program.name] = _digest(program.find())
    return _builds[program.name]


#: Name of a program -> its build.
_builds: dict[str, str] = {}


def known_builds() -> dict[str, str]:
    """Return the builds of the programs for which this process called :func:`build`, by their names."""
    return dict(_builds)


def other_programs(builds: Mapping[str, str]) -> list[str]:
    """Return the names of the programs that have other builds here; missing programs do not count."""
    found = []
    for program in (PROGRAM, QUICHE_PROGRAM):
        with suppress(ProgramError):
            if program.name in builds and _digest(program.find()) != builds[program.name]:
                found.append(program.name)
    return found


@cache
def _digest(program: Path) -> str:
    return hashlib.sha256(program.read_bytes()).hexdigest()[:12]


def versions(ccas: Iterable[str]) -> dict[str, str]:
    """Return the version of each stack in the program that runs flows of `ccas`.

    Raises
    ------
    ProgramError : the program is not built
    """
    found: dict[str, str] = program_of(ccas).call(["stacks"], "", LIMIT_S, None)["versions"]
    return found


def play(config: Mapping[str, Any], *, on_progress: Callable[[float], object] | None = None) -> RawRun:
    """Run a resolved scenario with the QUIC stacks that its flows name.

    Parameters
    ----------
    config : dict, ``fairweir_scenario::Config``
    on_progress : called with the fraction of the duration that has passed, 0 to 1

    Returns
    -------
    RawRun

    Raises
    ------
    ProgramError : the program is not built, or a stack failed
    ConfigError : the scenario requires a feature that QUIC or the stack does not have; ``key`` names the key
    KeyboardInterrupt : Ctrl-C
    """
    limit_s = LIMIT_S + LIMIT_PER_S * Duration.from_ns(config["duration"]).s
    ccas = [flow["cca"] for flow in config["flows"]]
    try:
        return program_of(ccas).run(["run"], config, limit_s, on_progress)
    except ProgramError as error:
        libraries = sorted({cca for cca in ccas if is_plugin(cca)})
        if not libraries or error.is_reported:
            raise
        hint = "the code of a plug-in runs in this program: it may crash, exit or loop (docs/plugins.md)"
        raise ProgramError(f"{error}, with {', '.join(libraries)}", hint=hint) from error
