"""Commands of the studio whose user's code leaves processes behind, or writes to the pipe for progress."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.studio.serving import SCENARIO

from fairweir.play.process import PROGRESS_VARIABLE
from fairweir.studio.commands import Call, CommandPage, Output
from fairweir.studio.work import State, Work

#: Maximum time of a command that runs one short scenario, on a loaded machine, s.
LIMIT_S = 60
#: Life of a child that a controller leaves, s.
CHILD_S = 300
PAGE = CommandPage(name="run", summary="", fields=(), output=Output("--out"), resumes=False, exits={0: "it ran"})
CONTROLLER = """
import os, subprocess
import fairweir as fw

{code}

class Mine(fw.Cca):
    def on_ack(self, ack):
        pass
"""


def ended(folder: Path, code: str) -> Work:
    """Run a scenario with a controller whose module executes `code`."""
    (folder / "mine.py").write_text(CONTROLLER.format(code=code), encoding="utf-8")
    (folder / "one.toml").write_text(SCENARIO, encoding="utf-8")
    words = ("run", "one.toml", "--set", "flow.0.cca=mine.py:Mine", "--set", "duration=1s", "--set", "warmup=0s")
    work = Work(Call(PAGE, words, folder / "out"), is_tied=False)

    async def run() -> None:
        await asyncio.wait_for(work.run(folder), LIMIT_S)

    asyncio.run(run())
    return work


async def _all(work: Work) -> list[str]:
    return [event async for event in work.stream(0)]


def events(work: Work) -> list[dict[str, object]]:
    lines = [line for text in asyncio.run(_all(work)) for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: "), parse_constant=pytest.fail) for line in lines]


@pytest.mark.parametrize("session", ["False", "True"])
def test_a_command_ends_although_a_child_keeps_its_output_open(tmp_path: Path, session: str) -> None:
    started = time.monotonic()
    child = f"subprocess.Popen(['sleep', '{CHILD_S}'], start_new_session={session})"
    work = ended(tmp_path, f"print({child}.pid, file=open('pids', 'a'))")
    for pid in map(int, (tmp_path / "pids").read_text(encoding="utf-8").split()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert work.state is State.ENDED
    assert work.exit_code == 0, events(work)
    assert time.monotonic() - started < LIMIT_S
    assert events(work)[-1]["outcome"] == "it ran"


#: Lines that a program which is not fairweir's could write to the pipe.
LINES = [
    b"{}",
    b"[]",
    b"7",
    b"not json",
    b"\xff",
    b"",
    b"[" * 60_000,
    b'{"what": "x", "part": NaN}',
    b'{"what": "x", "part": 1e400}',
    b'{"what": "x", "part": -1}',
    b'{"what": "x", "part": true}',
    b'{"what": "x", "part": "<b>"}',
    b'{"what": 1, "part": 0.5}',
]


@pytest.mark.parametrize("line", LINES)
def test_bad_lines_of_progress_are_skipped(tmp_path: Path, line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    writes = f"os.write(int(os.environ['{PROGRESS_VARIABLE}']), {line!r} + b'\\n')"
    program.write_text(f"#!{sys.executable}\nimport os\n{writes}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    work = Work(Call(PAGE, (), tmp_path / "out"), is_tied=False)
    asyncio.run(asyncio.wait_for(work.run(tmp_path), LIMIT_S))
    assert [event["kind"] for event in events(work)] == ["state"], events(work)
    assert work.exit_code == 0
