"""A studio that serves a folder, and the processes that it starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_MS = 100_000
SCENARIO = """\
duration = "4s" # short
warmup = "1s"

[link.bottleneck]
rate = "12Mbps"

[[flow]]
cca = "cubic"
rtprop = "20ms"
"""


@dataclass
class Served:
    """A studio in a folder."""

    process: subprocess.Popen[str]
    url: str
    folder: Path


def serve(folder: Path, *words: str) -> Served:
    log = folder / "log"
    with log.open("w", encoding="utf-8") as file:
        words = (sys.executable, "-m", "fairweir", "studio", "one.toml", "--no-open", *words)
        process = subprocess.Popen(words, cwd=folder, stderr=file, text=True)
    deadline = time.monotonic() + TIMEOUT_MS / 1_000
    while time.monotonic() < deadline:
        if found := re.search(r"http\S+(?=\n)", log.read_text(encoding="utf-8")):
            return Served(process, found[0], folder)
        time.sleep(0.05)
    process.kill()
    raise AssertionError(log.read_text(encoding="utf-8"))


def descendants(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == pid:
                    found += [int(entry.name), *descendants(int(entry.name))]
    return found


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
