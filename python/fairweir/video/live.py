"""Run video sessions with a real encoder and decoder ("live" runs), and measure the pictures that the decoder outputs.

First, the simulator (crates/video) determines when packets are sent and which packets arrive; the sizes of frames come
from the encoder instead of a table. Afterwards the content of the packets is computed: frames are cut into packets, an
erasure code adds repair packets, and lost packets are removed. The receiver recovers frames from the remaining packets,
decodes the frames, and compares the pictures with the source. Metrics have the definitions of docs/video.md. A group is
the set of frames that are sent together. A reference is an earlier frame relative to which a frame is coded. SSIM
measures the similarity of two pictures.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from fairweir import _core
from fairweir.errors import ConfigError, FairweirError
from fairweir.units import Duration
from fairweir.video import codec as codecs
from fairweir.video.codec import CODECS, Decoder, Encoder
from fairweir.video.content import Clip, Frame, clip
from fairweir.video.functional import QPS, Predicted, predict, restore
from fairweir.video.measuring import LEAD
from fairweir.video.painting import HEIGHT, WIDTH
from fairweir.video.scenario import ENCODER_FACTORS
from fairweir.video.tables import decibels

#: Maximum duration of a live run, s, because all pictures are in memory (10 MB per second).
MAX_SECONDS: Final = 30
#: Maximum number of packets in a group: the maximum length of an erasure code over GF(256).
MAX_PACKETS: Final = 255
#: Metrics ignore the frames captured in this last part of a run, ms (crates/video, `TAIL`).
TAIL_MS: Final = 2000.0
#: Format of the header of each frame's data: the frame's reference (or `NO_REFERENCE`), and the length of the data in
#: bytes.
HEADER: Final = struct.Struct("<II")
NO_REFERENCE: Final = 2**32 - 1
#: Value of a reference that means the picture that sender and receiver have at the start.
WARM: Final = 2**32 - 2
#: If the size of a coded frame differs from its target by more than the factor `MISS`, the frame is coded again, with
#: another quantizer, up to `TRIES` times.
MISS: Final = 1.15
TRIES: Final = 4
#: Maximum number of times that a frame is coded if its size stays outside `ENCODER_FACTORS`, the range of sizes in
#: simulations with tables. At a scene change after a still picture, the right quantizer is far from the previous one.
MAX_TRIES: Final = 12

#: Function that is called after each frame with the stage ("encode" or "decode"), the number of finished frames and the
#: number of all frames.
OnFrame = Callable[[str, int, int], object]


def silent(stage: str, done: int, total: int) -> None:
    """Ignore the progress of a run."""


@dataclass(frozen=True)
class Coded:
    """A frame that a live encoder has coded: the data with header, and the picture that a decoder makes from them."""

    data: bytes
    reference: int | None
    qp: int
    picture: Frame
    ssim: float


@dataclass
class LiveEncoder:
    """Codes the frames of a clip to given sizes, each relative to an earlier frame; the simulator calls its methods."""

    source: Clip
    coded: dict[int, Coded] = field(default_factory=dict)
    #: The picture that sender and receiver have decoded before the first frame, because a run begins in the middle of a
    #: call.
    warm: Frame | None = None
    on_coded: Callable[[int], object] = lambda _frame: None
    _pictures: dict[int, Frame] = field(default_factory=dict)
    #: The quantizer that is tried first for the next frame.
    _qp: int = 28

    def picture(self, frame: int) -> Frame:
        """Return the captured picture of a frame; the first frame shows the same content as the first frame of a
        table.
        """
        if frame not in self._pictures:
            self._pictures[frame] = self.source.frame(LEAD + frame)
        return self._pictures[frame]

    def encode(self, frame: int, reference: int | None, target: float) -> tuple[float, float, float]:
        """Code a frame to about `target` bytes, and return its size (bytes), SSIM and quantizer."""
        if frame in self.coded:
            hint = "salsify codes each frame twice: choose another sender"
            raise ConfigError(f"frame {frame} is coded twice", hint=hint)
        picture = self.picture(frame)
        if not self.coded:
            self._warm_up(target)
        before = self.coded[reference].picture if reference is not None else None if self.coded else self.warm
        tried: dict[int, Predicted] = {}
        qp = self._qp
        for count in range(1, MAX_TRIES + 1):
            tried[qp] = predict(before, picture, qp)
            qp = self._better(tried, target)
            if qp in tried or (count >= TRIES and _is_near(tried, target)):
                break
        best = min(tried, key=lambda one: abs(np.log(_size(tried[one]) / target)))
        self._qp = best
        data, shown = tried[best].sent, tried[best].shown()
        written = (NO_REFERENCE if self.coded else WARM) if reference is None else reference
        header = HEADER.pack(written, len(data))
        found = Coded(header + data, reference, best, shown, codecs.ssim(shown, picture))
        self.coded[frame] = found
        self.on_coded(frame)
        return float(len(found.data)), max(0.0, found.ssim), float(best)

    def frozen(self, frame: int, shown: int | None) -> float:
        """Return the SSIM of `frame` and the picture on display instead: the older frame `shown`, or black if there is
        none.
        """
        return max(0.0, codecs.ssim(_black() if shown is None else self.coded[shown].picture, self.picture(frame)))

    def _warm_up(self, target: float) -> None:
        """Code the frames before the first at a quantizer at which P frames have about `target` bytes, and keep the
        last picture.
        """
        before = [self.source.frame(i) for i in range(LEAD)]
        finest, coarsest = QPS
        while True:
            qp = (finest + coarsest) // 2
            encoder, decoder = Encoder(CODECS["x264"], qp), Decoder(CODECS["x264"])
            data = [encoder.encode(picture) for picture in before]
            if finest >= coarsest:
                break
            mean = sum(map(len, data[1:])) / (LEAD - 1)
            finest, coarsest = (qp + 1, coarsest) if mean > target else (finest, qp)
        self.warm, self._qp = [decoder.decode(one) for one in data][-1], qp

    def _better(self, tried: Mapping[int, Predicted], target: float) -> int:
        """Return the quantizer to try next.

        If one of the quantizers in `tried` gives a size near the target, or no untried quantizer is better, return that
        one.
        """
        sizes = {qp: _size(one) for qp, one in sorted(tried.items())}
        near = min(sizes, key=lambda qp: abs(np.log(sizes[qp] / target)))
        if 1 / MISS <= sizes[near] / target <= MISS:
            return near
        finer = max((qp for qp in sizes if sizes[qp] > target), default=None)
        coarser = min((qp for qp in sizes if sizes[qp] <= target), default=None)
        if finer is not None and coarser is not None and finer < coarser:
            # The size is approximately an exponential function of the quantizer.
            part = np.log(sizes[finer] / target) / np.log(sizes[finer] / sizes[coarser])
            between = round(finer + part * (coarser - finer))
            return near if coarser - finer == 1 else int(np.clip(between, finer + 1, coarser - 1))
        # If the quantizer increases by four, the size is approximately halved.
        return int(np.clip(round(near + 4 * np.log2(sizes[near] / target)), *QPS))


def _is_near(tried: Mapping[int, Predicted], target: float) -> bool:
    """Return whether at least one size in `tried` is in the range of sizes in simulations with tables."""
    smallest, largest = ENCODER_FACTORS
    return any(smallest <= _size(one) / target <= largest for one in tried.values())


def _size(coded: Predicted) -> int:
    return HEADER.size + len(coded.sent)


def _black() -> Frame:
    black = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
    black[:HEIGHT] = 16
    return black


# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LiveRun:
    """The result of a live run.

    Attributes
    ----------
    duration : time during which frames were captured
    simulated : the simulator's result, with the encoder's sizes and qualities
    shown : metrics of the pictures that the receiver's decoder outputs; the names are those of the simulator's metrics
    recovered : number of groups that the receiver could restore only because of repair packets
    """

    duration: Duration
    simulated: dict[str, Any]
    shown: dict[str, float]
    recovered: int


def play(config: Mapping[str, Any], content: str, seed: int = 1, *, on_frame: OnFrame = silent) -> LiveRun:
    """Run a session with a live encoder, and then decode the data of the packets that arrived.

    Parameters
    ----------
    config : configuration of the simulator (crates/video, `Config`), in base units
    content : the kind of content, a key of `content.KINDS`
    seed : seed of the content
    on_frame : function of the type :data:`OnFrame`

    Raises
    ------
    ConfigError : the run is longer than `MAX_SECONDS`, or the simulator rejects the configuration
    FairweirError : the receiver's data differ from the sent data, which is a bug
    """
    codecs.require()
    duration = Duration.from_ns(config["duration_ns"])
    if duration.s > MAX_SECONDS:
        raise ConfigError(
            f"a live run is at most {MAX_SECONDS} s long: `{duration}`",
            key="duration_ns",
            hint="video run plays longer sessions from a table",
        )
    total = round(duration.s * config["fps"])
    encoder = LiveEncoder(clip(content, seed), on_coded=lambda frame: on_frame("encode", min(frame + 1, total), total))
    wanted = json.dumps({**config, "frames": True, "packets": True})
    simulated = json.loads(_core.play_video_live(wanted, encoder.encode, encoder.frozen))
    data = {frame: coded.data for frame, coded in encoder.coded.items()}
    receiver = Receiver(data, int(config["payload_bytes"]), encoder.warm)
    receiver.play(
        simulated["groups"], simulated["packets"], duration.ms, Duration.from_ns(config["decode_ns"]).ms,
        on_frame=lambda frame: on_frame("decode", min(frame + 1, total), total),
    )  # fmt: skip
    captured = [record["captured_ms"] for record in simulated["frames"]]
    counted = (Duration.from_ns(config.get("from_ns", 0)).ms, duration.ms - TAIL_MS)
    return LiveRun(duration, simulated, receiver.metrics(encoder, captured, counted, config["fps"]), receiver.recovered)


class Receiver:
    """The receiver, which turns packets into pictures.

    Parameters
    ----------
    sent : index of a frame -> its data with header
    payload : maximum payload of a packet, bytes
    warm : the picture that the receiver has decoded before the first frame
    """

    def __init__(self, sent: Mapping[int, bytes], payload: int, warm: Frame | None) -> None:
        self._sent = sent
        self._payload = payload
        self._decoded = {} if warm is None else {WARM: warm}
        self._waiting: dict[int, tuple[int | None, bytes]] = {}
        #: Index of a displayed frame -> time at which it is displayed, ms. A frame is displayed only if no newer frame
        #: was displayed.
        self.shown: dict[int, float] = {}
        self.recovered = 0

    def play(
        self,
        groups: list[dict[str, Any]],
        packets: list[dict[str, Any]],
        end_ms: float,
        decode_ms: float,
        on_frame: Callable[[int], object] = lambda _frame: None,
    ) -> None:
        """Process the packets that the network delivered before the end of the run, in the order of arrival.

        Parameters
        ----------
        groups, packets : the simulator's records of groups and packets
        end_ms : ms; end of the run
        decode_ms : ms; time from the arrival of a frame's last data to its display
        on_frame : function that is called with the index of each decoded frame
        """
        codes: dict[int, list[bytes]] = {}
        received: dict[int, dict[int, bytes]] = {}
        arrivals = (packet for packet in packets if packet["arrived_ms"] is not None and packet["arrived_ms"] < end_ms)
        for packet in sorted(arrivals, key=lambda one: one["arrived_ms"]):
            number, group = packet["group"], groups[packet["group"]]
            if number not in codes:
                codes[number] = self._packets(group)
            have = received.setdefault(number, {})
            have[packet["index"]] = codes[number][packet["index"]]
            if len(have) == group["message"]:
                self.recovered += max(have) >= group["message"]
                data = b"".join(_core.fec_recover(group["message"], group["total"], have))
                self._complete(group["frames"], data)
                self._decode(packet["arrived_ms"] + decode_ms, on_frame)

    def _packets(self, group: dict[str, Any]) -> list[bytes]:
        """Return the packets of a group: the data of its frames cut into parts of equal length, and the repair
        packets.
        """
        message, total = group["message"], group["total"]
        data = b"".join(self._sent[frame] for frame in group["frames"])
        if -(-len(data) // self._payload) != message:
            raise FairweirError(f"{len(data)} bytes in {message} packets of {self._payload}")
        if total > MAX_PACKETS:
            raise FairweirError(f"{total} packets in a group; the code has {MAX_PACKETS}", hint="lower the rate")
        length = -(-len(data) // message)
        padded = data.ljust(message * length, b"\0")
        cut = [padded[i * length : (i + 1) * length] for i in range(message)]
        return cut + _core.fec_repair(cut, total)

    def _complete(self, frames: list[int], data: bytes) -> None:
        for frame in frames:
            reference, length = HEADER.unpack_from(data)
            body, data = data[HEADER.size : HEADER.size + length], data[HEADER.size + length :]
            self._waiting[frame] = (None if reference == NO_REFERENCE else reference, body)

    def _decode(self, at_ms: float, on_frame: Callable[[int], object]) -> None:
        """Decode the waiting frames whose references are decoded, oldest first, and display each unless a newer one was
        displayed.
        """
        for frame in sorted(self._waiting):
            reference, body = self._waiting[frame]
            if reference is not None and reference not in self._decoded:
                continue
            del self._waiting[frame]
            before = None if reference is None else self._decoded[reference]
            self._decoded[frame] = restore(before, body)
            on_frame(frame)
            if frame > max(self.shown, default=-1):
                self.shown[frame] = at_ms

    def metrics(
        self, encoder: LiveEncoder, captured: list[float], counted: tuple[float, float], fps: float
    ) -> dict[str, float]:
        """Return the metrics: delay from capture to display, SSIM of the picture on display for each frame, and frame
        rate.
        """
        delays, qualities, newest = [], [], None
        for frame, at_ms in enumerate(captured):
            newest = frame if frame in self.shown else newest
            if not counted[0] <= at_ms <= counted[1]:
                continue
            display = _black() if newest is None else self._decoded[newest]
            qualities.append(max(0.0, codecs.ssim(display, encoder.picture(frame))))
            if frame in self.shown:
                delays.append(self.shown[frame] - at_ms)
        db = decibels(np.array(qualities))
        delay = np.quantile(delays, (0.5, 0.95)) if delays else np.full(2, np.nan)
        return {
            "captured": len(qualities),
            "shown": len(delays),
            "fps": fps * len(delays) / max(1, len(qualities)),
            "delay_p50_ms": float(delay[0]),
            "delay_p95_ms": float(delay[1]),
            "ssim_p25_db": float(np.quantile(db, 0.25)),
            "ssim_p50_db": float(np.quantile(db, 0.5)),
            "ssim_mean_db": float(db.mean()),
        }
