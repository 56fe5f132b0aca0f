"""Errors as exceptions with message, value, location and hint."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import Any

#: Folders of code that is not the user's: this package, installed packages, and Python's own modules.
_OURS = str(Path(__file__).parent) + "/"
_INSTALLED = tuple(f"{path}/" for path in {*map(sysconfig.get_path, ("stdlib", "purelib", "platlib"))})


class FairweirError(Exception):
    """A failure; the text contains what failed, the value, where, and what was expected.

    Parameters
    ----------
    message : str, lower case, no final stop
    hint : str, what to write or do instead
    source : str, the file (or other origin) of the value
    key : str, the key in it, as ``link.bottleneck.rate``
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
        """Return the message and where it applies, without the hint."""
        where = ": ".join(part for part in (self.source, self.key) if part)
        return f"{self.message} ({where})" if where else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with all details."""
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
        """Return this error and the others found with it."""
        return "\n\n".join([super().render(), *(other.render() for other in self.others)])


class PolicyError(ConfigError):
    """A file of the guard's policies, or its model, that cannot be used."""


class CcaError(ConfigError):
    """A congestion controller that does not exist, cannot be loaded, or refuses its parameters."""

    cca: str
    flow: str


class ControllerError(FairweirError):
    """A congestion controller misbehaved during a run: raised, returned NaN, or set an excessive window.

    ``flow`` is the flow's id, ``at_s`` the simulated time in seconds, ``reason`` the misbehaviour.
    """

    flow: str
    at_s: float
    reason: str


class InvariantError(FairweirError):
    """The simulator found itself in a state that cannot be: a bug of ours."""


class KernelError(FairweirError):
    """The kernel world cannot do this here: no helper, no root, no BPF, or the kernel refused."""


class SolverError(FairweirError):
    """A solver is missing, does not understand a question, or contradicts another one."""


class MissingExtraError(FairweirError):
    """An optional dependency is not installed."""


def describe_exception(error: BaseException) -> str:
    """Return an exception in one line: its type, its text, and the user's innermost line of code, if there is one.

    A line of fairweir, of an installed package or of Python itself is named only if there is no line of the user's.
    """
    text = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen ")]
    users = [frame for frame in frames if not frame.filename.startswith(_OURS)]
    own = [frame for frame in users if not frame.filename.startswith(_INSTALLED)]
    last = next((some[-1] for some in (own, users, frames) if some), None)
    return text if last is None else f"{text} ({Path(last.filename).name}, line {last.lineno}, in {last.name})"
