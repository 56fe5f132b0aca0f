"""Exceptions with a message, the value, its location and a hint."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import Any

#: Folders of code that the user did not write: this package, installed packages, and Python's standard library.
_OURS = str(Path(__file__).parent) + "/"
_INSTALLED = tuple(f"{path}/" for path in {*map(sysconfig.get_path, ("stdlib", "purelib", "platlib"))})


class FairweirError(Exception):
    """A failure. The message states what failed, the value, the location, and what was expected.

    Parameters
    ----------
    message : str, lower case, no final stop
    hint : str, what to write or do instead
    source : str, the file or other origin of the value
    key : str, the key in that file, such as ``link.bottleneck.rate``
    details : further facts, stored as attributes
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        source: str | None = None,
        key: str | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.source = source
        self.key = key
        self._details = details
        self.__dict__.update(details)

    def __str__(self) -> str:
        """Return the message and the location, without the hint."""
        where = ": ".join(part for part in (self.source, self.key) if part)
        return f"{self.message} ({where})" if where else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error with all details."""
        facts = {"hint": self.hint, "source": self.source, "key": self.key, **self._details}
        return _rebuild, (type(self), self.message, facts)

    def render(self) -> str:
        """Return the error as the command line prints it: ``error: ...``, a blank line, ``hint: ...``."""
        text = f"error: {self}"
        return f"{text}\n\nhint: {self.hint}" if self.hint else text


def _rebuild(kind: type[FairweirError], message: str, facts: dict[str, Any]) -> FairweirError:
    return kind(message, **facts)


class ConfigError(FairweirError):
    """A scenario, an option or a file that cannot be used.

    ``others`` holds further errors found in the same file, if any.
    """

    others: tuple[ConfigError, ...] = ()

    def render(self) -> str:
        """Return this error and the other errors that were found in the same file."""
        return "\n\n".join([super().render(), *(other.render() for other in self.others)])


class PolicyError(ConfigError):
    """A policy file or a model of the guard that cannot be used."""


class CcaError(ConfigError):
    """A congestion controller that does not exist, cannot be loaded, or rejects its parameters.

    ``flow`` is the flow's id; it is empty if the file of the controller could not be loaded.
    """

    cca: str = ""
    flow: str = ""


class ControllerError(FairweirError):
    """A congestion controller misbehaved during a run: raised, returned NaN, or set an excessive window.

    ``flow`` is the flow's id, ``at_s`` the simulated time in seconds, ``reason`` the misbehavior.
    """

    flow: str
    at_s: float
    reason: str


class InvariantError(FairweirError):
    """The simulator reached a state that violates an invariant: a bug in fairweir."""


class ProgramError(FairweirError):
    """A separately built program is missing or failed.

    Attributes
    ----------
    is_reported : bool; False if the program ended without an error message of its own
    """

    is_reported = True


class KernelError(ProgramError):
    """The kernel world cannot run: the helper program, root or BPF is missing, or the kernel rejected an operation."""


class SolverError(FairweirError):
    """A solver is missing, cannot process a query, or contradicts another solver."""


class ClusterError(FairweirError):
    """A Dask cluster cannot run jobs: no scheduler, no workers, another version of fairweir, or a lost connection."""


class MissingExtraError(FairweirError):
    """An optional dependency is not installed."""


def describe_exception(error: BaseException) -> str:
    """Return an exception in one line: its type, its text, and the innermost line of the user's code.

    If the traceback has no line of the user's code, the innermost line of other code is named.
    """
    text = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen ")]
    users = [frame for frame in frames if not frame.filename.startswith(_OURS)]
    own = [frame for frame in users if not frame.filename.startswith(_INSTALLED)]
    last = next((some[-1] for some in (own, users, frames) if some), None)
    return text if last is None else f"{text} ({Path(last.filename).name}, line {last.lineno}, in {last.name})"
