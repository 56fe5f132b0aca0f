"""The guard under churn: many short flows over loopback in a separate network namespace; needs root.

    python benches/guard_churn.py --minutes 5

Prints the daemon's memory, flows and losses over time, then kills the daemon and checks that no filters and flows
remain. Fails if memory grows by more than a tenth after the first quarter of the time, or if filters or flows remain.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairweir.guard.daemon import find_daemon

FLOWS_PER_MINUTE = 10_000
BYTES_PER_FLOW = 30_000
PORT = 5001
LOOK_S = 5.0


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(1 << 16):
        pass
    writer.close()


async def flow() -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", PORT)
    writer.write(bytes(BYTES_PER_FLOW))
    writer.close()
    await writer.wait_closed()


def status() -> dict[str, Any]:
    done = subprocess.run(
        [str(find_daemon()), "status", "--interface", "lo", "--json"], capture_output=True, text=True, check=True
    )
    reported: dict[str, Any] = json.loads(done.stdout)
    return reported


async def churn(minutes: float) -> list[dict[str, Any]]:
    """Open flows at `FLOWS_PER_MINUTE` for `minutes`; return the daemon's status over time."""
    server = await asyncio.start_server(serve, "127.0.0.1", PORT, backlog=1024)
    rows: list[dict[str, Any]] = []
    tasks: set[asyncio.Task[None]] = set()
    started = looked = time.monotonic()
    made = 0
    while (elapsed := time.monotonic() - started) < 60 * minutes:
        while made < elapsed * FLOWS_PER_MINUTE / 60:
            task = asyncio.create_task(flow())
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            made += 1
        await asyncio.sleep(0.005)
        if time.monotonic() - looked >= LOOK_S:
            looked = time.monotonic()
            try:
                now = await asyncio.to_thread(status)
            except subprocess.CalledProcessError as error:
                print(error.stderr.strip(), file=sys.stderr, flush=True)
                continue
            rows.append(
                {
                    "t_s": round(elapsed, 1),
                    "made": made,
                    "resident_kib": now["resident_kib"],
                    "cpu_s": round(now["cpu_s"], 2),
                    **now["table"],
                    "packets": now["kernel"]["summarised"],
                    "summaries_lost": now["kernel"]["lost"],
                }
            )
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    await asyncio.gather(*tasks)
    server.close()
    return rows


@contextmanager
def guarding() -> Iterator[None]:
    """Run a daemon on the loopback device; kill it at the end in any case."""
    words = [str(find_daemon()), "run", "--interface", "lo", "--policy", "service"]
    child = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        line = child.stderr.readline() if child.stderr else ""
        if not line.startswith("guard of "):
            raise SystemExit(f"the daemon does not start: {line}")
        yield
    finally:
        child.kill()
        child.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    minutes = parser.parse_args().minutes
    if os.environ.get("FAIRWEIR_CHURN") != "inside":
        os.environ["FAIRWEIR_CHURN"] = "inside"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with guarding():
        rows = asyncio.run(churn(minutes))
    filters = subprocess.run(
        ["tc", "filter", "show", "dev", "lo", "egress"], capture_output=True, text=True, check=False
    ).stdout
    with guarding():
        left = {"filters": filters.strip(), "flows_of_the_next": status()["table"]["open"]}
    resident = [row["resident_kib"] for row in rows]
    early, late = max(resident[: max(len(resident) // 4, 1)]), max(resident)
    print(json.dumps({"minutes": minutes, "rows": rows, "left": left, "resident_kib": {"early": early, "late": late}}))
    return int(late > 1.1 * early or bool(left["filters"]) or left["flows_of_the_next"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
