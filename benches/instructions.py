"""Instructions per packet of the simulator, counted by valgrind: unlike a time, a count does not depend on the load.

    python -m benches.instructions                     (builds the release profile as it is shipped; about five minutes)
    python -m benches.instructions --program BUILD     (another build of the example `throughput`, to compare with)
    python -m benches.instructions --only "default hosts"

The workloads of the speed comparison have ideal hosts. Those with default hosts are what `run` and `audit` simulate:
three flows with rtprops of 10, 20 and 30 ms at 1 Gbps.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benches.peers.building import build_ours

import fairweir
from fairweir.scenario.resolve import resolve

#: Name in the table -> arguments of the example `throughput`, with enough simulated time for a steady state.
WORKLOADS: Final[dict[str, tuple[str, ...]]] = {
    "W1-min, Reno": ("w1-min", "reno", "8", "60"),
    "W1-min, CUBIC": ("w1-min", "cubic", "8", "60"),
    "W1-min, BBR": ("w1-min", "bbr", "8", "60"),
    "W1-full, Reno": ("w1-full", "reno", "8", "60"),
    "W2-min, DCTCP": ("w2-min", "dctcp", "8", "0.1"),
    "W3, Reno": ("w3", "reno", "1024", "5"),
}
CCAS: Final = ("reno", "cubic", "bbr")
PACKETS: Final = re.compile(r"(\d+) packets,")
COUNTED: Final = re.compile(r"Collected : (\d+)")


def on_default_hosts(cca: str) -> fairweir.Scenario:
    """Return three flows of a CCA on the hosts that scenario files have by default."""
    flows = [{"cca": cca, "rtprop": f"{ms}ms", "start": f"{ms}ms"} for ms in (10, 20, 30)]
    link = {"rate": "1Gbps", "buffer": "2bdp"}
    return fairweir.Scenario.from_dict({"duration": "6s", "warmup": "1s", "link": {"bottleneck": link}, "flow": flows})


def count(program: Path, words: tuple[str, ...]) -> tuple[int, int]:
    """Return the packets of a run and its instructions."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    packets, counted = PACKETS.search(done.stdout), COUNTED.search(done.stderr)
    if packets is None or counted is None:
        raise RuntimeError(f"no count: {done.stdout}{done.stderr}")
    return int(packets[1]), int(counted[1])


def main(words: list[str] | None = None) -> int:
    """Count, and print a table."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benches.instructions", description=__doc__, formatter_class=as_written)
    parser.add_argument("--program", type=Path, help="a build of the example `throughput`; default: build it")
    parser.add_argument("--only", metavar="TEXT", default="", help="the rows whose name has this text")
    given = parser.parse_args(words)
    if shutil.which("valgrind") is None:
        print("error: valgrind is not installed\n\nhint: apt install valgrind", file=sys.stderr)
        return 2
    names = [*WORKLOADS, *(f"default hosts, {cca}" for cca in CCAS)]
    if not any(given.only in name for name in names):
        parser.error(f"no row has {given.only!r}: {'; '.join(names)}")
    program = given.program or build_ours()
    print("| run | packets | instructions per packet |\n| --- | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="fairweir-instructions-") as folder:
        runs = dict(WORKLOADS)
        for cca in CCAS:
            file = Path(folder, f"{cca}.json")
            file.write_text(json.dumps(resolve(on_default_hosts(cca))), encoding="utf-8")
            runs[f"default hosts, {cca}"] = (str(file),)
        for name, arguments in runs.items():
            if given.only in name:
                packets, instructions = count(program, arguments)
                print(f"| {name} | {packets:,} | {instructions / packets:.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
