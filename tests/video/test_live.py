"""Compare live runs (a real encoder, bytes through the erasure code, a real decoder) with the run from a table."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from fairweir import _core
from fairweir.errors import ConfigError, FairweirError
from fairweir.video import live
from fairweir.video.codec import ssim
from fairweir.video.content import clip
from fairweir.video.functional import QPS, predict, restore
from fairweir.video.live import LiveEncoder, Receiver
from fairweir.video.tables import decibels, load


def config(sender: dict[str, Any], seconds: float, **network: Any) -> dict[str, Any]:
    """Return a session over 3 Mbit/s with 25 ms each way."""
    hop = {"link": {"kind": "constant", "rate": 375_000}, "queue": {"kind": "droptail"}}
    return {
        "duration_ns": int(seconds * 1e9),
        "fps": 30.0,
        "payload_bytes": 1400,
        "header_bytes": 40,
        "encode_ns": 5_000_000,
        "decode_ns": 5_000_000,
        "encoder_spread": 0.1,
        "encoder_factors": [0.6, 1.3],
        "seed": 1,
        "network": {"hop": hop, "forward_ns": 25_000_000, "back_ns": 25_000_000, **network},
        "sender": sender,
    }


FIXED = {"kind": "fixed", "rate": 125_000}


def test_a_frame_is_restored_from_the_receivers_copy_of_its_reference() -> None:
    content = clip("screen")
    pictures = [content.frame(i) for i in (30, 31, 34)]
    first = predict(None, pictures[0], 20)
    base = restore(None, first.sent)
    np.testing.assert_array_equal(base, first.shown())
    near, far, coarse = predict(base, pictures[1], 20), predict(base, pictures[2], 20), predict(base, pictures[2], 36)
    for coded in (near, far, coarse):
        np.testing.assert_array_equal(restore(base, coded.sent), coded.shown())
    assert len(coarse.sent) < len(far.sent) < len(first.sent) / 2
    assert ssim(near.shown(), pictures[1]) > 0.99
    # With another reference the decoder outputs another picture.
    assert ssim(restore(near.shown(), far.sent), pictures[2]) < ssim(far.shown(), pictures[2]) - 0.01


def test_sizes_are_met() -> None:
    encoder = LiveEncoder(clip("talking-head"))
    reference = None
    for frame, target in enumerate([4000.0, 4000.0, 1000.0, 20_000.0]):
        size, quality, qp = encoder.encode(frame, reference, target)
        assert size == len(encoder.coded[frame].data)
        assert 0.7 < size / target < 1.4
        assert 0 < quality < 1 <= qp
        reference = frame
    assert encoder.frozen(3, 2) < encoder.coded[3].ssim
    assert encoder.frozen(3, None) < 0.5


def test_a_scene_change_after_a_still_screen_is_coded_as_small_as_the_encoder_can() -> None:
    """The search starts at the quantizer of the previous still frames; frame 63 exceeds its target at the coarsest."""
    encoder = LiveEncoder(clip("screen"))
    for frame in (60, 61, 62):
        encoder.encode(frame, frame - 1 if frame > 60 else None, 12_000.0)
    assert encoder.coded[62].qp < 30
    size, _, qp = encoder.encode(63, 62, 12_000.0)
    assert qp == QPS[1]
    assert 1.3 < size / 12_000 < 1.8


def transmission(lost: set[int]) -> tuple[LiveEncoder, Receiver]:
    """Send three frames, the first two in a group of 4 + 3 packets, and lose some of these."""
    encoder = LiveEncoder(clip("screen"))
    for frame in range(3):
        encoder.encode(frame, frame - 1 if frame else None, 2000.0)
    data = {frame: coded.data for frame, coded in encoder.coded.items()}
    payload = -(-len(data[0] + data[1]) // 4)
    last = -(-len(data[2]) // payload)
    receiver = Receiver(data, payload, encoder.warm)
    groups = [{"frames": [0, 1], "message": 4, "total": 7}, {"frames": [2], "message": last, "total": last}]
    packets = [{"group": 0, "index": i, "arrived_ms": None if i in lost else 10.0 + i} for i in range(7)]
    packets += [{"group": 1, "index": i, "arrived_ms": 20.0 + i} for i in range(last)]
    receiver.play(groups, packets, 1000.0, 5.0)
    return encoder, receiver


def test_any_four_of_seven_packets_restore_the_pictures() -> None:
    encoder, receiver = transmission({0, 2, 4})
    assert receiver.shown.keys() == {0, 1, 2}
    assert receiver.shown[0] == receiver.shown[1] == 10 + 6 + 5
    assert receiver.recovered == 1
    metrics = receiver.metrics(encoder, [0.0, 1.0, 2.0], (0.0, 10.0), 30.0)
    assert metrics["ssim_mean_db"] == pytest.approx(
        decibels(np.array([coded.ssim for coded in encoder.coded.values()])).mean(), abs=1e-9
    )


def test_lost_frames_and_their_dependents_are_not_shown() -> None:
    encoder, receiver = transmission({0, 2, 4, 6})
    assert receiver.shown == {}
    metrics = receiver.metrics(encoder, [0.0, 1.0, 2.0], (0.0, 10.0), 30.0)
    assert metrics["fps"] == 0
    assert metrics["ssim_mean_db"] < 1


def test_a_live_run_agrees_with_its_simulation_and_with_the_table() -> None:
    # One packet in 60 is lost: frames freeze until one is predicted from an older reference.
    session = config(FIXED, 3.2, forward=[{"kind": "periodic-loss", "every": 60, "first": 37}])
    run = live.play(session, "talking-head")
    simulated = run.simulated["metrics"]
    assert 0 < simulated["shown"] < simulated["captured"]
    for name, value in run.shown.items():
        assert value == pytest.approx(simulated[name], abs=1e-6), name
    table = json.loads(_core.play_video(json.dumps(session), load("talking-head-x264").text))["metrics"]
    for name in ("fps", "delay_p50_ms", "delay_p95_ms", "ssim_p50_db", "ssim_mean_db"):
        assert run.shown[name] == pytest.approx(table[name], rel=0.1), name


def test_unsupported_options_of_a_live_run_are_rejected() -> None:
    with pytest.raises(ConfigError, match="a live run is at most 30 s long"):
        live.play(config(FIXED, 31), "screen")
    with pytest.raises(FairweirError, match="it cannot code with a given quantizer"):
        live.play(config({"kind": "salsify"}, 3), "screen")
    with pytest.raises(ConfigError, match="duration"):
        live.play(config(FIXED, 1), "screen")
    receiver = Receiver({0: b"x" * 3000}, 10, None)
    with pytest.raises(FairweirError, match="300 packets in a group"):
        receiver.play(
            [{"frames": [0], "message": 300, "total": 300}], [{"group": 0, "index": 0, "arrived_ms": 1.0}], 9.0, 0.0
        )


def test_an_encoders_exception_ends_the_run_and_is_raised_again() -> None:
    def fail(_frame: int, _reference: int | None, _target: float) -> tuple[float, float, float]:
        raise ZeroDivisionError("the encoder broke")

    with pytest.raises(ZeroDivisionError, match="the encoder broke"):
        _core.play_video_live(json.dumps(config(FIXED, 3)), fail, lambda _frame, _shown: 0.5)
    with pytest.raises(FairweirError, match="frame 0 was coded to"):
        _core.play_video_live(json.dumps(config(FIXED, 3)), lambda *_: (float("nan"), 2.0, 3.0), lambda *_: 0.5)
