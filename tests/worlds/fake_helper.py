"""A substitute for ``fairweir-kernel`` that fails on request: the first parameter of flow 0 selects its behavior."""

from __future__ import annotations

import base64
import json
import signal
import struct
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any


def delay(ms: float) -> dict[str, float]:
    return {"samples": 9, **dict.fromkeys(("mean", "min", "p50", "p95", "p99", "max"), ms)}


def flow(spec: dict[str, Any]) -> dict[str, Any]:
    counts = dict.fromkeys(("retransmits", "timeouts", "sent_pkts", "delivered_pkts", "lost_pkts", "violations"), 0)
    rates = {"throughput_mbps": 6.0, "goodput_mbps": 5.8, "loss_rate": 0.0, "mark_rate": 0.0, "completion_s": None}
    return {"id": spec["id"], "cca": spec["cca"], "rtt_ms": delay(12.0), "qdelay_ms": delay(2.0), **counts, **rates}


def column(kind: str, *numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}{kind}", *numbers)).decode()


def series() -> dict[str, Any]:
    whole = {name: column("Q", 7) for name in ("t_ns", "cwnd_bytes", "inflight_bytes", "lost_pkts")}
    real = {name: column("d", 2.5) for name in ("throughput_mbps", "pacing_rate_mbps", "rtt_ms")}
    links = {name: column("Q", 7) for name in ("t_ns", "queue_bytes", "drops", "marks")}
    rate = {"arrival_rate_mbps": column("d", 2.5)}
    return {"flows": {**whole, **real, "flow": column("I", 0)}, "links": {**links, **rate, "link": column("I", 0)}}


def document(config: dict[str, Any], judged: bool) -> dict[str, Any]:
    link = {"name": "bottleneck", "utilization": 1.0, "queue_ms": delay(1.0), "drops": 0, "marks": 0, "arrivals": 9}
    error = {"p50": 9.0, "p90": 20.0, "p99": 71.0, "p999": 90.0, "max": 120.0}
    answers = {"samples": 9, "mean": 30.0, "p50": 25.0, "p99": 90.0}
    hosts = {"receiver": answers, "sender": {**answers, "mean": 45.0}}
    emulator = {
        "release_error_us": error,
        "host_us": hosts,
        "stalls_us": [120.0],
        "packets": 9,
        "budget_us": 500.0,
        "judged": judged,
        "mode": "mtu",
    }
    reason = "" if judged else "p99 release error 9.1 ms exceeds the budget"
    return {
        "flows": [flow(spec) for spec in config["flows"]],
        "links": [link],
        "packets": 9,
        "events": 9,
        "emulator": {**emulator, "reason": reason, "cpu_fraction": 0.2},
        "series": series() if config.get("interval") else None,
    }


def say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def leave(_number: int, _frame: FrameType | None) -> None:
    Path("interrupted").touch()
    sys.exit(130)


def main() -> int:
    config = json.load(sys.stdin)
    does = (config["flows"][0]["params"] or {}).get("does", "play")
    say("progress 0.5")
    if does == "refuse":
        error = {
            "message": "only 1 or 2 packets per ACK",
            "key": "flows.1.receiver.ack_every",
            "hint": "write delayed_ack = 2",
        }
        say(json.dumps({"error": error}))
        return 2
    if does == "fail":
        say("TUN: no such device")
        return 1
    if does == "babble":
        sys.stdout.write("not json\n")
        return 0
    if does == "hang":
        signal.signal(signal.SIGINT, leave)
        Path("started").touch()
        while True:  # one long sleep could begin just after the signal
            time.sleep(0.05)
    say("progress 1")
    result = document(config, judged=does != "lag")
    if "--cost" in sys.argv:
        result["cost"] = {"frcc": {"cong_control": {"calls": 4, "ns": 5000}, "init": {"calls": 0, "ns": 0}}}
    if "--record" in sys.argv:
        difference = "ACK 7: cwnd 10 and 11" if does == "diverge" else None
        result["replay"] = {"frcc": {"acks": 1000, "flows": 1, "first_difference": difference}}
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
