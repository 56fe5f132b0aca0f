"""Attack proofs of controllers: ``.venv/bin/python -m benches.controller_attacks --controllers 200 --steps 5000``."""

from __future__ import annotations

import argparse
import json
import sys

from benches.controller_attacks.campaign import CampaignResult, attack, attack_random, published


def main() -> int:
    """Attack random controllers and the published controller; return 1 if a verdict is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--controllers", type=int, default=50)
    parser.add_argument("--steps", type=int, default=5000, help="steps of each controller in closed loops")
    parser.add_argument("--windows", type=int, default=0, help="windows among which refutations are searched")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcome = CampaignResult()
    claims = ("decodable", "carries-message", "queue<=2", "loss<=2", "encode<=3/2")
    attack(outcome, json.loads(published()), claims, asked.seed, steps=20 * asked.steps, encoded=500)
    for seed in range(asked.seed, asked.seed + asked.controllers):
        known = len(outcome.broken) + len(outcome.excluded) + len(outcome.mistaken)
        document = attack_random(outcome, seed, steps=asked.steps, windows=asked.windows)
        if len(outcome.broken) + len(outcome.excluded) + len(outcome.mistaken) > known:
            sys.stdout.write(f"seed {seed}: {json.dumps(document)}\n")
    for one in (*outcome.broken, *outcome.excluded, *outcome.mistaken):
        sys.stdout.write(f"{one}\n")
    sys.stdout.write(f"{dict(outcome.counts)}; broken {len(outcome.broken)}, excluded {len(outcome.excluded)}, ")
    sys.stdout.write(f"refutations that do not replay {len(outcome.mistaken)}\n")
    return 0 if outcome.is_clean else 1


if __name__ == "__main__":
    raise SystemExit(main())
