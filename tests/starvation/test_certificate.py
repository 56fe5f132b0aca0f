"""The certificate: properties of a valid one, and that each kind of forgery is detected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from tests.starving import PAIR

from fairweir.cli.starve import check_file
from fairweir.errors import ConfigError
from fairweir.play.run import run
from fairweir.scenario.model import Scenario
from fairweir.starvation import links
from fairweir.starvation.certificate import Certificate, read, write
from fairweir.starvation.certify import NoCertificateError, certify, summary
from fairweir.starvation.check import check
from fairweir.starvation.question import Question
from fairweir.starvation.replay import replay
from fairweir.units import Duration, Rate


def quietly(what: str, part: float) -> None:
    """Report nothing."""


@pytest.fixture(scope="module")
def vegas() -> Certificate:
    return certify(Question("vegas", jitter=Duration.from_ms(20)), PAIR, quietly)


def untrue(certificate: Certificate) -> set[str]:
    return {finding.name for finding in check(certificate) if not finding.is_true}


def test_a_certificate_holds_and_survives_its_file(vegas: Certificate, tmp_path: Path) -> None:
    path = write(vegas, tmp_path / "vegas.parquet")
    again = read(path)
    assert again.header == vegas.header
    assert np.array_equal(again.hold_ns, vegas.hold_ns)
    assert untrue(again) == set()
    assert all(finding.is_true for finding in replay(again, quietly))
    assert summary(again, path).ratio == pytest.approx(40.0 / 3.0, rel=1e-3)
    # Four packets queued at 3 Mbit/s, minus the queue before both flows: the fast flow's queue minus one packet.
    assert 16.0 - 1.2 < again.header.d_ns * 1e-6 < 16.0
    check_file(path, replays=False, as_json=False)


def with_header(certificate: Certificate, **keys: Any) -> Certificate:
    return replace(certificate, header=certificate.header.model_copy(update=keys))


def with_one(certificate: Certificate, column: str, row: int, change: int) -> Certificate:
    changed = getattr(certificate, column).copy()
    changed[row] += change
    return replace(certificate, **{column: changed})


@pytest.mark.parametrize(
    ("forge", "seen"),
    [
        (lambda c: with_header(c, d_ns=c.header.d_ns - 2000), "is at most D"),
        (lambda c: with_header(c, backlog_bytes=c.header.backlog_bytes + 1500), "is never negative"),
        (lambda c: with_header(c, ratio=14.0), "throughput ratio"),
        (lambda c: with_header(c, one_way_ns=c.header.one_way_ns - 5000), "is at most D"),
        (lambda c: with_header(c, one_way_ns=c.header.one_way_ns + 10**8), "fast flow: delays of a link"),
        (lambda c: with_header(c, slow=c.header.fast), "slow flow: delays of a link"),
        (lambda c: with_header(c, span_ns=c.header.span_ns - 10**9), "fast flow: in order"),
        (lambda c: with_one(c, "hold_ns", 1000, 10), "matches the certificate"),
        (lambda c: with_one(c, "arrived_ns", 1000, 10), "slow flow: delays of a link"),
        (lambda c: with_one(c, "sent_ns", 1000, 10**9), "slow flow: in order"),
        (lambda c: with_one(c, "flow", 0, 2), "packets of two flows"),
    ],
)
def test_a_forgery_is_seen(vegas: Certificate, forge: Callable[[Certificate], Certificate], seen: str) -> None:
    assert any(seen in name for name in untrue(forge(vegas)))


@pytest.mark.parametrize(("early_ns", "is_true"), [(0, True), (10, False)])
def test_a_first_packet_that_finds_its_link_idle(vegas: Certificate, early_ns: int, is_true: bool) -> None:
    # At 90 Mbit/s a packet takes 133,333 1/3 ns; recorded times are whole.
    sent, passed = np.array([5, 10**6]), np.array([133_333, 12_000])
    by_hand = replace(
        with_header(
            vegas,
            one_way_ns=0,
            slow=vegas.header.slow.model_copy(update={"link_bytes_per_s": 11_250_000}),
            fast=vegas.header.fast.model_copy(update={"link_bytes_per_s": 125_000_000}),
        ),
        flow=np.array([0, 1]),
        sent_ns=sent,
        arrived_ns=sent + passed - np.array([early_ns, 0]),
        hold_ns=np.array([0, 0]),
    )
    assert ("slow flow: delays of a link of 90 Mbit/s of its own" not in untrue(by_hand)) == is_true


def test_a_flow_that_does_not_send_so_is_seen(vegas: Certificate) -> None:
    other = {**vegas.header.slow.scenario, "flow": [{**vegas.header.slow.scenario["flow"][0], "cca": "reno"}]}
    forged = with_header(vegas, slow=vegas.header.slow.model_copy(update={"scenario": other}))
    assert untrue(forged) == set()
    assert [finding.is_true for finding in replay(forged, quietly)] == [False, True]


def test_too_much_jitter_or_too_small_a_ratio_make_no_certificate() -> None:
    with pytest.raises(NoCertificateError, match="take D = "):
        certify(Question("vegas", jitter=Duration.from_ms(10)), PAIR, quietly)
    with pytest.raises(NoCertificateError, match="alone they send"):
        certify(Question("vegas", ratio=14.0, jitter=Duration.from_ms(20)), PAIR, quietly)


def test_a_queue_may_stand_before_both_flows() -> None:
    # The case of a rate that is exponential in delay: a tenth of the rate costs 2.3 ms of 25, so the queue can stand.
    cca = {"name": "contract", "function": "exponential", "s0": "1ms", "c0": "1Tbps"}
    certificate = certify(Question(cca, jitter=Duration.from_ms(12)), PAIR, quietly)
    assert untrue(certificate) == set()
    assert certificate.header.backlog_bytes * 1e3 / certificate.header.link_bytes_per_s > 5.0
    assert "is at most D" in "".join(untrue(with_header(certificate, backlog_bytes=0)))


def test_both_flows_on_one_link_send_to_the_nanosecond_as_each_alone(vegas: Certificate) -> None:
    header = vegas.header
    slow, fast, link = Rate.from_mbps(3), Rate.from_mbps(40), Rate.from_mbps(43)
    document = links.shared("vegas", slow, fast, link, Duration.from_ns(header.d_ns), Duration.from_ms(40), seed=1)
    origin, shared = f"{header.slow.origin_ns}ns", f"{header.slow.origin_ns + 2 * header.one_way_ns}ns"
    document |= {"warmup": origin, "duration": "51s"}
    document["link"]["bottleneck"]["steps"] = [["0s", "1Tbps"], [origin, "43Mbps"]]
    for flow, alone in zip(document["flow"], (header.slow, header.fast), strict=True):
        flow["start"] = "0s"
        flow["initial_cwnd"] = alone.scenario["flow"][0]["initial_cwnd"]
        flow["jitter"]["after"] = shared
    backlog = f"{header.backlog_bytes}B"
    document["flow"].append(
        {"cca": "reno", "rtprop": "20us", "start": origin, "bytes": backlog, "initial_cwnd": backlog}
    )
    record = run(Scenario.from_dict(document), record_packets=500_000)
    assert [flow["violations"] for flow in record.summary.document["flows"]] == [0, 0, 0]
    for index in (0, 1):
        sent = record.packets["sent_ns"][record.packets["flow"] == index].astype(np.int64)
        sent -= header.slow.origin_ns
        within = sent[(sent >= 0) & (sent < header.span_ns)]
        assert np.array_equal(within, vegas.sent_ns[vegas.flow == index])


def test_other_files_are_rejected(vegas: Certificate, tmp_path: Path) -> None:
    text, plain, lacking = tmp_path / "a.toml", tmp_path / "plain.parquet", tmp_path / "lacking.parquet"
    text.write_text("seed = 1")
    pq.write_table(pa.table({"flow": [0]}), plain)
    whole = pq.read_table(write(vegas, tmp_path / "whole.parquet"))
    pq.write_table(whole.drop_columns("hold_ns"), lacking)
    for path, problem in ((text, "Parquet"), (plain, "no certificate"), (lacking, "int64")):
        with pytest.raises(ConfigError, match=problem) as caught:
            read(path)
        assert caught.value.source == str(path)
        assert caught.value.hint


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: b"{nonsense", "not JSON"),
        (lambda text: b"[]", "not a JSON object"),
        (lambda text: text.replace(b'"d_ns":', b'"d_nz":'), "unknown key `d_nz`"),
        (lambda text: text.replace(b'"span_ns":', b'"span_ns":-'), "more than 0"),
    ],
)
def test_a_wrong_header_is_reported(
    vegas: Certificate, tmp_path: Path, change: Callable[[bytes], bytes], problem: str
) -> None:
    path = write(vegas, tmp_path / "vegas.parquet")
    table = pq.read_table(path)
    text = table.schema.metadata[b"certificate"]
    pq.write_table(table.replace_schema_metadata({b"certificate": change(text)}), path)
    with pytest.raises(ConfigError, match=problem) as caught:
        read(path)
    assert caught.value.source == str(path)


def test_a_certificate_that_does_not_hold_ends_with_1(vegas: Certificate, tmp_path: Path) -> None:
    path = write(with_header(vegas, ratio=14.0), tmp_path / "forged.parquet")
    with pytest.raises(typer.Exit) as left:
        check_file(path, replays=False, as_json=True)
    assert left.value.exit_code == 1
