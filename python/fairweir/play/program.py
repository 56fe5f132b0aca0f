"""Programs that run a scenario in a process of their own: the request on stdin, one JSON document on stdout.

The program prints progress and errors as lines on stderr. This is the other side of ``crates/program``.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fairweir.errors import ConfigError, FairweirError, ProgramError
from fairweir.play.columns import Columns
from fairweir.play.process import die_with_parent
from fairweir.play.simulate import RawRun

INTERRUPTED = 130
#: Maximum time, s, in which a program must exit after a request, before it is killed.
TIMEOUT_S = 5.0
#: Number of the program's last lines that an error shows if the program did not print an error.
_LAST_LINES = 5


@dataclass(frozen=True)
class Program:
    """A separately built program.

    Attributes
    ----------
    name : str, name of the file
    variable : str, environment variable that overrides the path
    role : str, role of the program, for messages
    hint : str, how to build it
    error : the exception for failures of the program
    """

    name: str
    variable: str
    role: str
    hint: str
    error: type[ProgramError] = ProgramError

    def find(self) -> Path:
        """Return the program's path: from the environment, next to the interpreter, or on the PATH.

        Raises
        ------
        ProgramError : the program was not found
        """
        if named := os.environ.get(self.variable):
            if os.access(named, os.X_OK) and Path(named).is_file():
                return Path(named)
            raise self.error(f"not a program: `{named}`", hint=f"{self.variable} names {self.role}", key=self.variable)
        beside = Path(sys.executable).parent / self.name
        if beside.is_file():
            return beside
        if on_path := shutil.which(self.name):
            return Path(on_path)
        raise self.error(f"{self.role} `{self.name}` is not built", hint=self.hint)

    def run(
        self,
        words: Sequence[str],
        config: Mapping[str, Any],
        limit_s: float,
        on_progress: Callable[[float], object] | None,
    ) -> RawRun:
        """Run `config` with the command `words` and return the record.

        Raises
        ------
        ProgramError, ConfigError, KeyboardInterrupt : as for :meth:`call`
        """
        document = self.call(words, json.dumps(config), limit_s, on_progress)
        series = document.pop("series", None)
        return RawRun(document, (_decode(series["flows"]), _decode(series["links"])) if series else None)

    def call(
        self, words: Sequence[str], text: str, limit_s: float, on_progress: Callable[[float], object] | None
    ) -> Any:
        """Run the command `words` with `text` on stdin until it exits; return the document that it prints.

        Raises
        ------
        ProgramError : the program is missing or failed
        ConfigError : the program rejected the scenario; ``key`` names the key
        KeyboardInterrupt : Ctrl-C; the program has released everything when this is raised
        """
        words = [str(self.find()), *words]
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(  # noqa: S603
                words,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                process_group=0,  # so that Ctrl-C reaches the helper only once, through this process
                preexec_fn=die_with_parent(),  # noqa: PLW1509 - one system call, and its library is loaded already
            )
            timed_out = threading.Event()

            def expire() -> None:
                timed_out.set()
                process.kill()

            timer = threading.Timer(limit_s, expire)
            timer.start()
            try:
                lines = _talk(process, text, on_progress)
                code = process.wait()
            except BaseException:
                _stop(process)
                raise
            finally:
                timer.cancel()
                for pipe in (process.stdin, process.stderr):
                    if pipe is not None:
                        with suppress(OSError):
                            pipe.close()
            if timed_out.is_set():
                raise self._silent(f"`{Path(words[0]).name} {words[1]}` did not end within {limit_s:.0f} s")
            if code == INTERRUPTED:
                raise KeyboardInterrupt
            if code != 0:
                raise self._error(code, lines)
            out.seek(0)
            return self._document(out)

    def _error(self, code: int, lines: deque[str]) -> FairweirError:
        """Convert the helper's last line, ``{"error": {"message", "key", "hint"}}``, to an exception."""
        reported: dict[str, Any] = {}
        if lines:
            with suppress(ValueError, AttributeError):
                reported = json.loads(lines[-1]).get("error", {})
        if message := reported.get("message"):
            kind = ConfigError if reported.get("key") else self.error
            return kind(message, hint=reported.get("hint"), key=reported.get("key"))
        reason = f"signal {-code}" if code < 0 else f"exit code {code}"
        text = "; ".join(line for line in lines if line)
        return self._silent(f"`{self.name}` failed ({reason}){f': {text}' if text else ''}", "fairweir doctor")

    def _silent(self, reason: str, hint: str | None = None) -> ProgramError:
        """Return the error of a program that ended without a message of its own."""
        error = self.error(reason, hint=hint)
        error.is_reported = False
        return error

    def _document(self, out: IO[bytes]) -> Any:
        raw = out.read()
        try:
            return json.loads(raw)
        except ValueError:
            start = raw[:60].decode("utf-8", "replace").strip()
            raise self._silent(f"`{self.name}` printed invalid JSON: `{start}`", "build it again: make") from None


def _decode(columns: Mapping[str, str]) -> Columns:
    return {name: base64.b64decode(text) for name, text in columns.items()}


def _talk(process: subprocess.Popen[str], text: str, on_progress: Callable[[float], object] | None) -> deque[str]:
    """Send `text` to the helper and report its progress; return its last lines that are not progress."""
    assert process.stdin is not None and process.stderr is not None  # noqa: S101, PT018
    with suppress(BrokenPipeError):
        process.stdin.write(text)
        process.stdin.close()
    last: deque[str] = deque(maxlen=_LAST_LINES)
    for raw in process.stderr:
        line = raw.strip()
        fraction = _fraction(line)
        if fraction is None:
            last.append(line)
        elif on_progress is not None:
            on_progress(min(max(fraction, 0.0), 1.0))
    return last


def _fraction(line: str) -> float | None:
    """Return 0.25 for a line ``progress 0.25``; None for any other line."""
    word, _, number = line.partition(" ")
    if word != "progress":
        return None
    try:
        return float(number)
    except ValueError:
        return None


def _stop(process: subprocess.Popen[str]) -> None:
    """Stop the helper: first with a signal that lets it clean up and report, then by killing it."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
