"""A token-bucket policer, which drops packets above its rate (RFC 9743 section 5.1.3)."""

from __future__ import annotations

from fairweir.audit.axis import Axis
from fairweir.audit.exhibits import readings
from fairweir.audit.exhibits.family import Claim, Family, Metric, Place, Reading, Subject, View
from fairweir.audit.exhibits.setting import places
from fairweir.judging import metrics
from fairweir.judging.interval import Scale
from fairweir.judging.outcome import Direction, Threshold
from fairweir.scenario.dumbbell import PACKET, ScenarioDict, dumbbell_document, flow, start_times
from fairweir.units import Duration, Rate

LINK, POLICED, RTPROP = Rate.from_mbps(100), Rate.from_mbps(20), Duration.from_ms(50)
BDP_PKTS = POLICED * RTPROP / PACKET

GOOD_USE = Threshold(
    bound=0.5,
    direction=Direction.AT_LEAST,
    reason="with a bucket of one BDP, AIMD uses three quarters of the rate; half is lenient",
    source="docs/derivations.md: AIMD uses 75 % of a link without a buffer",
)
LITTLE_LOSS = Threshold(
    bound=0.1,
    direction=Direction.AT_MOST,
    reason="a sender that permanently loses a tenth of its packets does not respond to the policer",
    source="RFC 9743 section 5.1.3, protection against high packet loss, states no number; BBR itself takes 20 % loss"
    " as an indication of a policer (Linux's net/ipv4/tcp_bbr.c, bbr_lt_loss_thresh)",
)


def _scenario(subject: Subject, place: Place, seed: int, patience: float) -> ScenarioDict:
    (start,) = start_times(seed, 1)
    burst = round(place.x * BDP_PKTS)
    return dumbbell_document(
        "policer",
        f"one flow through a policer with a bucket of {place.label}",
        rate=LINK,
        buffer="1bdp",
        flow_tables=[
            flow(subject.cca, RTPROP, start, policer={"rate": str(POLICED), "burst": str(burst * PACKET)}),
        ],
        duration=Duration.from_s(80) * patience,
        warmup=Duration.from_s(20) * patience,
        seed=seed,
    )


def _use(reading: Reading) -> float:
    return metrics.throughputs_mbps(reading.summary)[0] / POLICED.mbps


POLICER = Family(
    name="policer",
    title="Token-bucket policer",
    question="Does a flow reach a policer's rate without heavy loss?",
    setup=f"one flow, rtprop {RTPROP.ms:g} ms, link {LINK.mbps:g} Mbps, policed to {POLICED.mbps:g} Mbps",
    axis=Axis(name="bucket", unit="BDP", scale="log"),
    places=places("BDP", quick=[1], default=[1, 4], deep=[0.125, 0.25, 0.5, 1, 2, 4]),
    scenario=_scenario,
    metrics=(
        Metric(
            "policed_use",
            "",
            Scale.POSITIVE,
            _use,
            label="utilization of the policed rate",
            view=View.UNIT,
            better=Direction.AT_LEAST,
            relevant=0.02,
        ),
        readings.LOSS,
        readings.RTT,
    ),
    claims=(
        Claim(
            metric="policed_use",
            title="utilization of the policed rate",
            text="the policed rate is used",
            threshold=GOOD_USE,
        ),
        Claim(
            metric="loss_rate",
            title="loss at a policer",
            text="the policer drops at most a tenth of the packets",
            threshold=LITTLE_LOSS,
            expectations={
                "frcc": "heavy loss, because it does not react to loss (docs/ccas/frcc.md)",
                "bbr": "loss from its probes above the rate",
            },
        ),
    ),
)

FAMILIES = (POLICER,)
