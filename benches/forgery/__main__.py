"""The command line of the attack."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from benches import forgery
from benches.forgery.attack import ROUND, Tally, attack


def main() -> int:
    """Run the number of attempts that the command line requests."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m benches.forgery", description=forgery.__doc__, formatter_class=as_written
    )
    parser.add_argument("--attempts", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    begin, total = time.monotonic(), Tally()
    seeds = [f"{given.seed}/{i}" for i in range(-(-given.attempts // ROUND))]
    with ProcessPoolExecutor(given.workers) as pool:
        for tally in pool.map(attack, seeds):
            total.add(tally)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{total.attempts} attempts, {len(total.failures)} failures")
    for kind, count in sorted(total.kinds.items()):
        sys.stdout.write(f"{kind:24}{count:>10}\n")
    for failure in total.failures[:20]:
        sys.stdout.write(f"{failure}\n")
    seconds = time.monotonic() - begin
    reported = (
        f"{total.accepted} accepted, all of unsatisfiable questions"
        if not total.failures
        else f"{len(total.failures)} FAILURES"
    )
    sys.stdout.write(f"{total.attempts} attempts in {seconds:.0f} s: {reported}\n")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
