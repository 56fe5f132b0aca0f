"""Correctness of ``fairweir explain``: compare its results for captures of known links with the true values.

    sudo .venv/bin/python benches/explain_truth.py DIR --simulated 260 --kernel 64
    .venv/bin/python benches/explain_truth.py DIR --simulated 260 --kernel 0     (without root)

DIR stores scenarios and captures; existing files are reused. The table has a column for the half of the cases with
which thresholds were developed, and a column for the held-out half. `--design NAME` draws other cases, which are all
held out; an unused name gives a blind measurement. The exit status is 0 if all bounds are met in each column.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from explain_cases import MOVED_NS, Case, case, play
from rich.console import Console
from rich.progress import track
from rich.table import Table

from fairweir.cli.output import print_json
from fairweir.errors import FairweirError
from fairweir.explain.read import explain_file

#: Maximum fraction of captures with a reported change, shaper or policer that does not exist.
MAX_FALSE: Final = 0.01
#: Minimum fraction of existing changes, shapers and policers that are reported.
MIN_FOUND: Final = 0.9
#: Minimum fraction of captures whose reported rates are all correct.
MIN_RIGHT: Final = 0.98
#: Maximum difference, s, between the reported and the true time of a change; a queue may hide a change for this time.
NEAR_S: Final = 1.0
#: Relative tolerance of a rate, for rounding and headers.
SLACK: Final = 0.002
#: Tolerance for the rounding of rtprops in scenarios to 0.01 ms.
ROUNDED_MS: Final = 0.006
#: Maximum relative error of a reported rate of a shaper or policer.
BUCKET_NEAR: Final = 0.05


@dataclass(frozen=True)
class Said:
    """Claims of a document.

    Attributes
    ----------
    changes_s : list of float; reported times of rate changes, s since the start of the run
    buckets : list of (kind, Mbit/s)
    rates : list of (from, to, lo, hi); reported ranges of the link's rate, s and Mbit/s; `hi` may be infinite
    rtprop_ms : (lo, hi), if the capture has only one flow; None if not reported
    """

    changes_s: list[float]
    buckets: list[tuple[str, float]]
    rates: list[tuple[float, float, float, float]]
    rtprop_ms: tuple[float, float] | None


@dataclass
class Score:
    """A case's outcome."""

    case: Case
    false: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    is_stated: bool = False
    is_bounded: bool = True
    is_refused: bool = False


def said_of(document: dict[str, Any], start_ns: int) -> Said:
    """Return the claims of `explain_file`'s document; times are relative to `start_ns` of the capture's clock."""
    changes, buckets, rates = [], [], []
    for link in document["links"]:
        changes += [(c["time_ns"] - start_ns) * 1e-9 for c in link["changes"] if c["cause"] == "link"]
        if link["token_bucket"]:
            kind = {"delayed": "shaper", "lost": "policer"}[link["token_bucket"]["excess"]]
            buckets.append((kind, link["token_bucket"]["rate_bytes_per_s"] * 8e-6))
        for part in link["rates"]:
            hi = part["rate_bytes_per_s"]["hi"]
            times = [(part[key] - start_ns) * 1e-9 for key in ("from_ns", "to_ns")]
            rates.append((*times, part["rate_bytes_per_s"]["lo"] * 8e-6, float("inf") if hi is None else hi * 8e-6))
    alone = document["flows"][0]["rtprop_ns"] if len(document["flows"]) == 1 else None
    return Said(changes, buckets, rates, alone and (alone["lo"] * 1e-6, alone["hi"] * 1e-6))


def judge(one: Case, said: Said) -> Score:
    """Compare claims with the true values."""
    score = Score(one)
    open_changes = list(one.changes_s)
    for at in said.changes_s:
        near = [real for real in open_changes if abs(at - real) <= NEAR_S]
        if near:
            open_changes.remove(near[0])
            score.found["change"] += 1
        else:
            score.false.append(f"change at {at:.2f} s")
    score.asked["change"] = len(one.changes_s)
    for kind, truth in (("shaper", one.shaper_mbps), ("policer", one.policer_mbps)):
        mine = [mbps for name, mbps in said.buckets if name == kind]
        if truth is None:
            score.false += [f"{kind} of {mbps:.2f}" for mbps in mine]
            continue
        score.asked[kind] = 1
        score.found[kind] = int(any(abs(mbps / truth - 1) <= BUCKET_NEAR for mbps in mine))
        score.wrong += [
            f"{kind} of {mbps:.2f}, not {truth:.2f}" for mbps in mine if abs(mbps / truth - 1) > BUCKET_NEAR
        ]
    for start, end, lo, hi in said.rates:
        score.is_stated = True
        score.is_bounded &= hi < float("inf")
        truth = true_rate(one, start, end, is_minimum=hi == float("inf"))
        if not lo <= truth * (1 + SLACK) or not hi >= truth * (1 - SLACK):
            score.wrong.append(f"C {lo:.3f} to {hi:.3f} in {start:.1f} to {end:.1f} s, not {truth:.3f}")
    # A capture on the path does not show the propagation delay before it.
    rtprop_ms = one.rtprop_ms - (2e-6 * MOVED_NS if one.place == "path" else 0)
    if said.rtprop_ms and not said.rtprop_ms[0] <= rtprop_ms + ROUNDED_MS <= said.rtprop_ms[1] + 2 * ROUNDED_MS:
        score.wrong.append(f"rtprop {said.rtprop_ms[0]:.3f} to {said.rtprop_ms[1]:.3f}, not {rtprop_ms:.3f}")
    return score


def true_rate(one: Case, start: float, end: float, *, is_minimum: bool) -> float:
    """Return the value that a reported range of the link's rate in a period should contain, Mbit/s.

    A lower bound claims only that the link carried this rate at some time; a shaper forwards bursts at any rate.
    """
    if is_minimum and one.shaper_mbps is not None:
        return float("inf")
    times = [at for at, _ in one.rates[1:]] + [float("inf")]
    held = [mbps for (at, mbps), until in zip(one.rates, times, strict=True) if at < end and until > start]
    middle = (start + end) / 2
    return max(held) if is_minimum else [mbps for at, mbps in one.rates if at <= middle or at == 0][-1]


def measure(one: Case, directory: Path) -> Score:
    """Run a case, explain its capture, and judge the result."""
    path = play(one, directory)
    try:
        document = explain_file(path)
    except FairweirError:
        return Score(one, is_refused=True)
    # The scenario starts at the end of the first flow's handshake.
    start = min(flow["series"]["from_ns"] for flow in document["flows"])
    return judge(one, said_of(document, start))


def is_asked(score: Score) -> bool:
    """Return whether existing changes and buckets must be found: with a capture at the sender or before the queue."""
    return score.case.place in ("sender", "path")


def totals(scores: list[Score]) -> dict[str, tuple[int, int]]:
    """Return for each bound the number of cases that count for it, and the number of all cases."""
    asked = [score for score in scores if is_asked(score)]
    whole = {"captures": (len(scores), len(scores)), "refused": (sum(s.is_refused for s in scores), len(scores))}
    whole["false change, shaper, policer"] = (sum(bool(s.false) for s in scores), len(scores))
    for kind in ("change", "shaper", "policer"):
        whole[f"real {kind}s found"] = (sum(s.found[kind] for s in asked), sum(s.asked[kind] for s in asked))
    stated = [s for s in scores if s.is_stated]
    whole["stated ranges right"] = (sum(not s.wrong for s in stated), len(stated))
    whole["rates with both ends, sender and path"] = (sum(s.is_stated and s.is_bounded for s in asked), len(asked))
    return whole


def meets(whole: dict[str, tuple[int, int]]) -> bool:
    """Return whether all bounds are met."""

    def share(name: str) -> float:
        few, many = whole[name]
        return few / many if many else 1.0

    names = [f"real {kind}s found" for kind in ("change", "shaper", "policer")]
    found, asked = (sum(whole[name][i] for name in names) for i in (0, 1))
    return (
        share("false change, shaper, policer") <= MAX_FALSE
        and (not asked or found >= MIN_FOUND * asked)
        and share("stated ranges right") >= MIN_RIGHT
    )


def main() -> int:
    """Measure and print the results; return 0 if all bounds are met, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--simulated", type=int, default=260, help="number of cases in the simulator")
    parser.add_argument("--kernel", type=int, default=64, help="number of cases on the kernel's TCP; needs root")
    parser.add_argument("--design", default="", metavar="NAME", help="draw other cases, with this name as the seed")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    words = parser.parse_args()
    words.directory.mkdir(parents=True, exist_ok=True)
    cases = [case("sim", n, words.design) for n in range(words.simulated)]
    cases += [case("kernel", n, words.design) for n in range(words.kernel)]
    errors = Console(stderr=True)
    scores = []
    for one in track(cases, console=errors, description="captures"):
        scores.append(measure(one, words.directory))
        for fault in scores[-1].false + scores[-1].wrong:
            errors.print(f"{one.name}, {one.kind}, {one.place}: {fault}", soft_wrap=True)
    columns = {"held out": scores}
    if not words.design:
        columns = {
            name: [s for s in scores if s.case.number % 2 == i] for i, name in enumerate(("developed on", "held out"))
        }
    results = {name: totals(some) for name, some in columns.items()}
    if words.json:
        print_json(results)
    else:
        table = Table("", *results, box=None)
        for name in next(iter(results.values())):
            table.add_row(name, *(f"{few} of {many}" for few, many in (whole[name] for whole in results.values())))
        Console().print(table)
    return 0 if all(meets(whole) for whole in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
