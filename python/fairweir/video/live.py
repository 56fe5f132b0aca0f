"""Live runs: a real encoder codes the frames, and the metrics are those of pictures that a real decoder outputs.

The simulator (crates/video) determines when packets are sent and which packets arrive; frame sizes are the encoder's
instead of a table's. Afterwards the content of these packets is computed: frames are split into packets, the erasure
code adds repair packets, and lost packets are removed. The remaining packets are used to recover and decode the frames,
which are compared with the source. Metrics have the simulator's definitions.
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

#: Maximum duration of a live run, s; all pictures are in memory, 10 MB per second.
MAX_SECONDS: Final = 30
#: Maximum length of a code over GF(256), packets.
MAX_PACKETS: Final = 255
#: Frames captured in this last part of a run do not count (crates/video, `TAIL`).
TAIL_MS: Final = 2000.0
#: Header of each frame's data: its reference (or `NO_REFERENCE`) and its length, bytes.
HEADER: Final = struct.Struct("<II")
NO_REFERENCE: Final = 2**32 - 1
#: Reference to the picture that both ends have at the start.
WARM: Final = 2**32 - 2
#: A frame is coded again until its size is within the factor `MISS` of its target, but at most `TRIES` times.
MISS: Final = 1.15
TRIES: Final = 4
#: Maximum number of times that a frame is coded while its size is outside `ENCODER_FACTORS`, the range of tables. At a
#: scene change after a still screen, the quantizer is far from the previous one.
MAX_TRIES: Final = 12

#: Called after each frame with the stage, the number of finished frames and the number of all frames.
OnFrame = Callable[[str, int, int], object]


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Coded:
    """A frame that a live encoder coded: `data` with its header, and the decoded picture."""

    data: bytes
    reference: int | None
    qp: int
    picture: Frame
    ssim: float


@dataclass
class LiveEncoder:
    """Codes frames of a clip to target sizes, each relative to any earlier frame; has the simulator's callbacks."""

    source: Clip
    coded: dict[int, Coded] = field(default_factory=dict)
    #: Picture that both ends have decoded before the first frame: a run begins in the middle of a call, as tables do.
    warm: Frame | None = None
    on_coded: Callable[[int], object] = lambda _frame: None
    _pictures: dict[int, Frame] = field(default_factory=dict)
    #: Quantizer at which the next search begins.
    _qp: int = 28

    def picture(self, frame: int) -> Frame:
        """Return the captured frame; the content begins at the same frame as in tables."""
        if frame not in self._pictures:
            self._pictures[frame] = self.source.frame(LEAD + frame)
        return self._pictures[frame]

    def encode(self, frame: int, reference: int | None, target: float) -> tuple[float, float, float]:
        """Code a frame to about `target` bytes; return its size (bytes), SSIM and quantizer."""
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
        """Return the SSIM of an older frame, or of a black picture, that is displayed instead of `frame`."""
        return max(0.0, codecs.ssim(_black() if shown is None else self.coded[shown].picture, self.picture(frame)))

    def _warm_up(self, target: float) -> None:
        """Code the frames before the first, at the quantizer at which predicted frames have about `target` bytes."""
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
        """Return the quantizer to try next; one of `tried` if it is near enough or no quantizer is between."""
        sizes = {qp: _size(one) for qp, one in sorted(tried.items())}
        near = min(sizes, key=lambda qp: abs(np.log(sizes[qp] / target)))
        if 1 / MISS <= sizes[near] / target <= MISS:
            return near
        finer = max((qp for qp in sizes if sizes[qp] > target), default=None)
        coarser = min((qp for qp in sizes if sizes[qp] <= target), default=None)
        if finer is not None and coarser is not None and finer < coarser:
            # The size is approximately exponential in the quantizer.
            part = np.log(sizes[finer] / target) / np.log(sizes[finer] / sizes[coarser])
            between = round(finer + part * (coarser - finer))
            return near if coarser - finer == 1 else int(np.clip(between, finer + 1, coarser - 1))
        # Four steps of the quantizer approximately halve the size.
        return int(np.clip(round(near + 4 * np.log2(sizes[near] / target)), *QPS))


def _is_near(tried: Mapping[int, Predicted], target: float) -> bool:
    """Return whether the frame was coded at least once to a size in the range of tables."""
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
    """A live run.

    Attributes
    ----------
    duration : time in which frames were captured
    simulated : result of the simulator, with the encoder's sizes and qualities
    shown : metrics of the pictures that the receiver's decoder outputs, with the simulator's names
    recovered : number of groups of frames that were complete only because of repair packets
    """

    duration: Duration
    simulated: dict[str, Any]
    shown: dict[str, float]
    recovered: int


def play(config: Mapping[str, Any], content: str, seed: int = 1, *, on_frame: OnFrame = silent) -> LiveRun:
    """Run a session with a live encoder, then decode the content of its packets.

    Parameters
    ----------
    config : the simulator's configuration (crates/video, `Config`), in base units
    content : a key of `content.KINDS`
    seed : seed of the content
    on_frame : called after each frame with the stage ("encode" or "decode"), the number of finished frames, and that of
        all frames

    Raises
    ------
    ConfigError : the run is longer than `MAX_SECONDS`, or the simulator rejects the configuration
    FairweirError : the decoded data differ from the data sent, which is a bug
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
    """The receiver: converts packets to pictures.

    Parameters
    ----------
    sent : coded frames with their headers
    payload : maximum payload of a packet, bytes
    warm : picture that is decoded before the first frame
    """

    def __init__(self, sent: Mapping[int, bytes], payload: int, warm: Frame | None) -> None:
        self._sent = sent
        self._payload = payload
        self._decoded = {} if warm is None else {WARM: warm}
        self._waiting: dict[int, tuple[int | None, bytes]] = {}
        #: Frame -> time of its display, ms; only frames that are newer than all frames displayed before.
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
        """Receive the packets that the network delivered before the end, in the order of arrival.

        Parameters
        ----------
        groups, packets : the simulator's records
        end_ms : ms; end of the run
        decode_ms : ms; time from a complete frame to its display
        on_frame : called with each frame that is decoded
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
        """Return a group's packets: its frames, split into parts of one length, and the repair packets."""
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
        """Decode frames whose reference is decoded, oldest first; display each unless a newer frame was displayed."""
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
        """Return the delay from capture to display, the SSIM of the displayed picture per frame, and the frame rate."""
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
