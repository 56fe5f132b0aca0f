"""Runs that do not end: they do not delay others, and their processes end when they are no longer wanted."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.studio.serving import SCENARIO, is_alive

from fairweir.errors import ConfigError
from fairweir.studio.app import Studio
from fairweir.studio.folder import Folder
from fairweir.studio.windows import SupersededError
from fairweir.studio.workers import DEFAULT_NUMBER, DEFAULT_WAITING, LONG_NICENESS, Workers

#: Maximum time of a condition on a loaded machine, s.
LIMIT_S = 60
#: A simulation of eleven days.
DAYS = SCENARIO.replace('"4s"', '"1000000s"').replace('"12Mbps"', '"1Gbps"')


def own_pid(pid_file: Path, _: Callable[[float], object]) -> None:
    """Write the number of this process, and do not end."""
    pid_file.with_suffix(".new").write_text(str(os.getpid()), encoding="utf-8")
    pid_file.with_suffix(".new").rename(pid_file)
    while True:
        pass


def answer(request: int, _: Callable[[float], object]) -> tuple[int, int]:
    return request, os.getpid()


def slow_answer(niceness: int, _: Callable[[float], object]) -> tuple[int, int]:
    """Answer when this process has the niceness."""
    while os.getpriority(os.PRIO_PROCESS, 0) != niceness:
        time.sleep(0.01)
    return niceness, os.getpid()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not condition():
            await asyncio.sleep(0.01)


def with_workers(test: Callable[[Workers], Awaitable[None]]) -> None:
    async def run() -> None:
        workers = Workers(DEFAULT_NUMBER, DEFAULT_WAITING)
        await workers.start()
        try:
            await asyncio.wait_for(test(workers), LIMIT_S)
        finally:
            workers.close()

    asyncio.run(run())


def test_jobs_that_do_not_end_leave_room_for_others_and_end_when_cancelled(tmp_path: Path) -> None:
    async def test(workers: Workers) -> None:
        files = [tmp_path / str(i) for i in range(2 * (os.cpu_count() or 1))]
        jobs = [asyncio.ensure_future(workers.run(own_pid, file, print)) for file in files]
        await until(lambda: all(file.is_file() for file in files))
        pids = [int(file.read_text()) for file in files]
        # As many answers as processes wait, and threads of the loop itself.
        assert [(await workers.run(answer, i, print))[0] for i in range(8)] == list(range(8))
        assert await asyncio.to_thread(lambda: 7) == 7
        for job in jobs:
            job.cancel()
        await until(lambda: not any(map(is_alive, pids)))

    with_workers(test)


def test_a_long_job_has_a_lower_priority_and_its_process_is_not_used_again() -> None:
    async def test(workers: Workers) -> None:
        _, slow = await workers.run(slow_answer, LONG_NICENESS, print)
        others = [(await workers.run(answer, i, print))[1] for i in range(DEFAULT_WAITING + 1)]
        assert slow not in others
        await until(lambda: not is_alive(slow))

    with_workers(test)


def test_a_job_in_real_time_keeps_its_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairweir.studio.workers.LONG_S", 0.0)

    async def test(workers: Workers) -> None:
        assert (await workers.run(slow_answer, os.getpriority(os.PRIO_PROCESS, 0), print, is_timed=True))[
            0
        ] < LONG_NICENESS

    with_workers(test)


def test_a_run_ends_when_its_browser_no_longer_waits(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO, encoding="utf-8")
    studio = Studio(Folder(tmp_path), "one.toml", {})
    body = json.dumps({"window": "w", "name": "one.toml", "text": DAYS}).encode()

    async def run() -> None:
        is_gone = asyncio.Event()
        left = [{"type": "http.request", "body": body}]
        answered: list[Any] = []

        async def receive() -> Any:
            if left:
                return left.pop()
            await is_gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            answered.append(message)

        scope = {"type": "http", "method": "POST", "path": "/api/play", "headers": [], "query_string": b""}
        await studio.workers.start()
        try:
            call = asyncio.ensure_future(studio.application()(scope, receive, send))
            await until(lambda: studio.windows.get("w").current is not None)
            task = studio.windows.get("w").current
            is_gone.set()
            await until(lambda: task is not None and task.cancelled())
            await call
            assert answered[0]["status"] == 409
        finally:
            studio.workers.close()

    asyncio.run(run())


@pytest.mark.parametrize("text", [SCENARIO, "["])
def test_a_run_ends_when_its_window_wants_another_text(text: str, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO, encoding="utf-8")
    studio = Studio(Folder(tmp_path), "one.toml", {})

    async def run() -> None:
        from fairweir.studio.app import _play

        def played(text: str) -> Any:
            return _play(studio, {"window": "w", "name": "one.toml", "text": text})

        await studio.workers.start()
        try:
            first = asyncio.ensure_future(played(DAYS))
            await until(lambda: studio.windows.get("w").current is not None)
            if text == "[":
                with pytest.raises(ConfigError):
                    await played(text)
            else:
                await played(text)
            done, _ = await asyncio.wait([first], timeout=LIMIT_S)
            assert isinstance(next(iter(done)).exception(), SupersededError)
        finally:
            studio.workers.close()

    asyncio.run(run())
