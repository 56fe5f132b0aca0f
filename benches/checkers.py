"""Speed of the checker in Rust relative to the checker in Python, on certificates of ``--certificate``.

    python benches/checkers.py FOLDER...     (each with question.smt2 and certificate.txt)

Prints CPU times in one process: the medians over pairs of runs, and the median of the pairs' ratios.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

from fairweir.formal.certificates.certificate import CHECKERS

PAIRS = 7
#: Checker -> number of runs per measurement; more for the faster checker.
REPEATS = {"checker.py": 1, "fairweir-checker": 10}


def main() -> int:
    """Measure each folder's certificate."""
    sys.stdout.write(f"{'certificate':40}{'steps':>8}{'bytes':>11}{'Python, ms':>12}{'Rust, ms':>10}{'ratio':>8}\n")
    for folder in map(Path, sys.argv[1:]):
        question, certificate = ((folder / name).read_text() for name in ("question.smt2", "certificate.txt"))
        taken: dict[str, list[float]] = {name: [] for name in CHECKERS}
        steps = 0
        for _ in range(PAIRS):
            for name, check in CHECKERS.items():
                begin = time.process_time()
                for _ in range(REPEATS[name]):
                    steps = check(question, certificate)
                taken[name].append((time.process_time() - begin) / REPEATS[name] * 1e3)
        slow, fast = taken.values()
        ratio = median(one / other for one, other in zip(slow, fast, strict=True))
        numbers = f"{steps:>8}{len(certificate):>11}{median(slow):>12.1f}{median(fast):>10.2f}{ratio:>8.1f}"
        sys.stdout.write(f"{folder.name:40}{numbers}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
