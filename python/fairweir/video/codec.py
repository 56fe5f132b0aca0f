"""Encode and decode video with x264 and libvpx's VP8, through PyAV, configured as for a video call.

There are no B frames, there is no lookahead, and x264 has only one reference frame. The encoder therefore outputs a
frame as soon as it receives the picture. Encoders have one thread, so that the same pictures always give the same
bytes. An encoder object has a constant quantizer. A key frame is decoded without another frame; a P frame is decoded
with its reference, which is an earlier frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from fairweir import extras
from fairweir.video.content import FPS, Frame
from fairweir.video.painting import HEIGHT, WIDTH

if TYPE_CHECKING:
    from types import ModuleType

    from av.video.codeccontext import VideoCodecContext

#: Interval between key frames, in frames. It is so large that only the first frame is a key frame.
NEVER: Final = 1_000_000


@dataclass(frozen=True)
class Codec:
    """A codec: an encoder, a decoder, and the quantizers with which tables of frame sizes are measured.

    Attributes
    ----------
    name : name in the names of encoder tables
    encoder, decoder : the names that FFmpeg uses
    qps : quantizers, best quality first: 0 to 51 for H.264 (QP), 0 to 63 for VP8
    options : options of the encoder, in which ``{qp}`` stands for the quantizer
    """

    name: str
    encoder: str
    decoder: str
    qps: tuple[int, ...]
    options: tuple[tuple[str, str], ...]


CODECS: Final = {
    codec.name: codec
    for codec in (
        Codec(
            "x264",
            "libx264",
            "h264",
            (10, 14, 18, 21, 24, 27, 31, 35, 40, 46),
            (
                ("preset", "veryfast"),
                ("tune", "zerolatency"),
                ("qp", "{qp}"),
                # At a scene cut the encoder outputs a P frame, because the sender decides when to send a key frame.
                ("x264-params", f"keyint={NEVER}:scenecut=0:ref=1:bframes=0:sliced-threads=0"),
            ),
        ),
        Codec(
            "vp8",
            "libvpx",
            "vp8",
            (2, 6, 11, 16, 22, 29, 37, 45, 54, 63),
            (
                ("deadline", "realtime"),
                ("cpu-used", "6"),
                ("lag-in-frames", "0"),
                ("auto-alt-ref", "0"),
                ("qmin", "{qp}"),
                ("qmax", "{qp}"),
                # The limit is far above the rate at any quantizer, so that rate control never drops or degrades a
                # frame.
                ("b", "200M"),
                # Equal minimum and maximum intervals disable automatic key frames.
                ("g", str(NEVER)),
                ("keyint_min", str(NEVER)),
            ),
        ),
    )
}


def av() -> ModuleType:
    """Import PyAV, and return the module.

    Raises
    ------
    MissingExtraError : PyAV is not installed
    """
    try:
        import av as module
        import av.error
    except ModuleNotFoundError as error:
        raise extras.missing(error.name, "an encoder") or error from error
    return module


def require() -> None:
    """Check, before long work, that PyAV and scikit-image (for SSIM) are installed.

    Raises
    ------
    MissingExtraError : the extra ``video`` is not installed
    """
    av()
    _structural_similarity()


def described(codec: Codec) -> str:
    """Return the encoder's library, version and options as a text, which tables store as their origin."""
    versions: dict[str, tuple[int, ...]] = av().library_versions
    options = " ".join(f"{key}={value}" for key, value in codec.options if "{qp}" not in value)
    return f"{codec.encoder} (libavcodec {'.'.join(map(str, versions['libavcodec']))}) {options}"


class Encoder:
    """An encoder with one quantizer. Its first frame is a key frame; the reference of each later frame is the previous
    frame.
    """

    def __init__(self, codec: Codec, qp: int) -> None:
        context = av().CodecContext.create(codec.encoder, "w")
        context.width, context.height, context.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        context.time_base, context.framerate = Fraction(1, FPS), Fraction(FPS)
        context.thread_count = 1
        context.options = {key: value.format(qp=qp) for key, value in codec.options}
        self._context: VideoCodecContext = context
        self._count = 0

    def encode(self, picture: Frame) -> bytes:
        """Return the encoded frame of the next picture."""
        frame = av().VideoFrame.from_ndarray(picture, format="yuv420p")
        frame.pts, frame.time_base = self._count, Fraction(1, FPS)
        self._count += 1
        return b"".join(bytes(packet) for packet in self._context.encode(frame))


class Decoder:
    """A decoder, whose pictures depend on all frames that it has decoded before."""

    def __init__(self, codec: Codec) -> None:
        context = av().CodecContext.create(codec.decoder, "r")
        context.thread_count = 1
        context.flags |= av().codec.context.Flags.low_delay
        self._context: VideoCodecContext = context

    def decode(self, data: bytes) -> Frame | None:
        """Return the picture of an encoded frame, or None if the decoder outputs no picture."""
        try:
            shown = self._context.decode(av().Packet(data))
        except av().error.FFmpegError:
            return None
        return cast("Frame", shown[-1].to_ndarray(format="yuv420p")) if shown else None


def ssim(shown: Frame, source: Frame) -> float:
    """Return the structural similarity (SSIM) of the luma of two pictures; it is 1 for equal pictures.

    The window is uniform, with 7 x 7 pixels at full resolution; numbers are 32-bit floats. The window of Wang et al.
    2004, section III-B, is Gaussian with 11 x 11 pixels, which takes about a quarter longer.
    """
    lumas = (picture[:HEIGHT].astype(np.float32) for picture in (source, shown))
    return float(_structural_similarity()(*lumas, data_range=255.0, win_size=7))


def _structural_similarity() -> Callable[..., float]:
    try:
        from skimage.metrics import structural_similarity
    except ModuleNotFoundError as error:
        raise extras.missing(error.name, "SSIM") or error from error
    return cast("Callable[..., float]", structural_similarity)
