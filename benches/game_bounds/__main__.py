"""The command line of the comparison."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from typing import Final

from benches import game_bounds
from benches.game_bounds.compare import Case, by_grid, by_solver
from benches.game_bounds.link import Model, random_case

#: Name -> model.
MODELS: Final = {
    "fluid": Model(),
    "slack": Model(slack=Fraction(1)),
    "jitter": Model(jitter=2),
    "changing": Model(steady=False),
    "small": Model(c=(Fraction(1), Fraction(12)), b=(Fraction(1), Fraction(9))),
}


def cases(given: argparse.Namespace) -> list[Case]:
    """Return the random windows, each with its model."""
    rng = random.Random(f"{given.seed}/{given.how}/{given.model}")  # noqa: S311 (no secret)
    model = MODELS[given.model]
    return [Case(model, *random_case(rng, model)) for _ in range(given.windows)]


def main() -> int:
    """Compare the number of windows that the command line requests; return 1 if one differs."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m benches.game_bounds", description=game_bounds.__doc__, formatter_class=as_written
    )
    parser.add_argument("how", choices=("z3", "grid"))
    parser.add_argument("--windows", type=int, default=500)
    parser.add_argument("--model", choices=MODELS, default="fluid")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    begin, tally, unexplained = time.monotonic(), Counter[str](), 0
    compare = by_solver if given.how == "z3" else by_grid
    with ProcessPoolExecutor(given.workers) as pool:
        for case, wrong in pool.map(compare, cases(given)):
            tally.update(["windows", *wrong])
            unexplained += case.bounds() is None
            if wrong:
                sys.stdout.write(
                    json.dumps({"wrong": wrong, "window": case.window.document(), "bounds": case.bounds()}) + "\n"
                )
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{tally['windows']} of {given.windows}")
    took = time.monotonic() - begin
    sys.stdout.write(f"{given.how}, model {given.model}: {dict(tally)}, {unexplained} have no bounds, {took:.0f} s\n")
    return int(len(tally) > 1)


if __name__ == "__main__":
    sys.exit(main())
