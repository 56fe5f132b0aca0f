"""Read, validate and write encoder tables: the size and SSIM (quality) of each frame of a clip, as coded by an encoder.

A table has a value for each quantizer and each stride. The stride is the age, in frames, of the reference: the earlier
frame relative to which a frame is coded. In runs that should be fast and reproducible, a table replaces a codec and a
clip; its frames repeat in a loop. docs/video.md describes the numbers and their limits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairweir.documents import shipped
from fairweir.documents.validation_errors import explain
from fairweir.errors import ConfigError
from fairweir.units import Rate

FORMAT: Final = "fairweir-video-table-1"
#: Maximum size of a table's file, bytes; the shipped tables have at most 60 kB.
LARGEST_BYTES: Final = 8 << 20
#: Maximum factor by which the mean frame size may grow from one quantizer to the next coarser one. Usually the size
#: falls. The largest observed growth was 9 %, on a still screen, because a finer reference predicts better. If the
#: lists of a file are in the wrong order, the factor is exceeded.
MAX_GROWTH: Final = 1.25
#: Maximum number of errors in a file that are reported in addition to the first.
MAX_OTHERS: Final = 3

Floats = NDArray[np.float64]


class _Document(BaseModel):
    """The JSON document of a table's file; :class:`Table` has its content, after validation, as arrays."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal["fairweir-video-table-1"]
    content: str = Field(min_length=1, max_length=80)
    codec: str = Field(min_length=1, max_length=80)
    encoder: str = Field(default="", max_length=1000, description="what made it: library, version, options")
    seed: int = Field(default=0, ge=0, description="of the content")
    width: int = Field(ge=16, le=16384)
    height: int = Field(ge=16, le=16384)
    fps: float = Field(gt=0, le=1000)
    qps: list[int] = Field(min_length=1, max_length=256)
    strides: list[int] = Field(min_length=1, max_length=64)
    bytes: list[list[list[int]]]
    ssim: list[list[list[float]]]
    frozen: list[list[float]] = Field(min_length=1, max_length=1000)


@dataclass(frozen=True)
class Table:
    """An encoder's table.

    Attributes
    ----------
    content, codec, encoder : kind of content, name of the codec, and the encoder's library, version and options
    seed : seed of the content
    width, height, fps : size of the pictures, pixels, and frame rate, frames per second
    qps : quantizers, best quality first
    strides : the strides 1, 2, ..., frames
    sizes : array (stride, quantizer, frame) of frame sizes, bytes
    ssim : array (stride, quantizer, frame) of luma SSIM of the decoded frame and the source
    frozen : array (age - 1, frame) of luma SSIM of a frame of the source and the source `age` frames earlier
    source : path of the file
    """

    content: str
    codec: str
    encoder: str
    seed: int
    width: int
    height: int
    fps: float
    qps: tuple[int, ...]
    strides: tuple[int, ...]
    sizes: Floats
    ssim: Floats
    frozen: Floats
    source: str | None = None

    @property
    def name(self) -> str:
        """The table's name, which its file has too: content and codec."""
        return f"{self.content}-{self.codec}"

    @property
    def frames(self) -> int:
        """The number of frames after which the table repeats."""
        return int(self.sizes.shape[2])

    @property
    def mbps(self) -> Floats:
        """The mean rate at each quantizer, with all frames and stride 1, Mbit/s."""
        return self.mbps_at(0)

    def mbps_at(self, stride: int) -> Floats:
        """Return the mean rate at each quantizer, with all frames, Mbit/s; `stride` is an index of :attr:`strides`."""
        per_frame = self.sizes[stride].mean(axis=1)
        return np.array([Rate.from_bytes_per_s(size * self.fps).mbps for size in per_frame])

    @property
    def ssim_db(self) -> Floats:
        """The mean SSIM at each quantizer, with all frames, dB."""
        return decibels(self.ssim[0].mean(axis=1))

    def at_most(self, limit_db: float) -> Table:
        """Return the table of the same encoder, limited to pictures with a median SSIM of at most `limit_db`.

        The finest quantizer of the result is interpolated, as in simulations: log(size) and SSIM in dB. Below the
        coarsest quantizer's SSIM, the result has only pictures of this quantizer. (A table has at least two quantizers:
        the result has the coarsest one twice.)
        """
        medians = decibels(np.median(self.ssim[0], axis=1))
        if medians[0] <= limit_db:
            return self
        first = int(np.argmax(medians < limit_db)) if medians[-1] < limit_db else len(medians) - 1
        part = float(np.clip((limit_db - medians[first]) / (medians[first - 1] - medians[first]), 0.0, 1.0))

        def between(values: Floats) -> Floats:
            mixed: Floats = part * values[:, first - 1] + (1 - part) * values[:, first]
            return mixed[:, np.newaxis]

        sizes = np.exp(between(np.log(self.sizes)))
        ssim = 1 - 10 ** (-between(decibels(self.ssim)) / 10)
        return replace(
            self,
            qps=self.qps[first - 1 :],
            sizes=np.concatenate([sizes, self.sizes[:, first:]], axis=1),
            ssim=np.concatenate([ssim, self.ssim[:, first:]], axis=1),
        )

    @property
    def text(self) -> str:
        """The text of the table's file, which has a line for each stride and quantizer."""
        head = {
            "format": FORMAT,
            "content": self.content,
            "codec": self.codec,
            "encoder": self.encoder,
            "seed": self.seed,
            "width": self.width,
            "height": self.height,
            "fps": int(self.fps) if self.fps == int(self.fps) else self.fps,
            "qps": list(self.qps),
            "strides": list(self.strides),
        }
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        lines.append(f'"bytes": {_rows(self.sizes, "d")}')
        lines.append(f'"ssim": {_rows(self.ssim, "f")}')
        lines.append(f'"frozen": {_rows(self.frozen, "f")}')
        return "{" + ",\n".join(lines) + "}\n"

    @classmethod
    def parse(cls, text: str, source: str | None = None) -> Self:
        """Return the table that the text of a file contains.

        Raises
        ------
        ConfigError : the text is not JSON, or has unknown or missing keys, wrong lengths or impossible numbers
        """
        try:
            raw: Any = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            hint = "`fairweir video tables` writes these files"
            raise ConfigError(f"not an encoder table: {error}", hint=hint, source=source) from error
        if not isinstance(raw, dict):
            raise ConfigError(
                "not an encoder table: no JSON object", hint='it begins with {"format": ...', source=source
            )
        try:
            document = _Document.model_validate(raw)
        except ValidationError as error:
            problem = explain(error, _Document, raw, source)
            # If a mistake is repeated in thousands of numbers, it is reported only a few times.
            problem.others = problem.others[:MAX_OTHERS]
            raise problem from error
        _check_steps(document, source)
        lengths = len(document.strides), len(document.qps), _frames(document.bytes)
        return cls(
            document.content,
            document.codec,
            document.encoder,
            document.seed,
            document.width,
            document.height,
            document.fps,
            tuple(document.qps),
            tuple(document.strides),
            _checked(_sizes, document.bytes, "bytes", lengths, source),
            _checked(_similarities, document.ssim, "ssim", lengths, source),
            _checked(_similarities, document.frozen, "frozen", (len(document.frozen), lengths[2]), source),
            source,
        )


def decibels(ssim: Floats) -> Floats:
    """Return SSIM in dB: -10 log10(1 - SSIM), limited to 40 dB, at which no difference is visible."""
    db: Floats = -10 * np.log10(np.maximum(1 - ssim, 1e-4))
    return db


def load(name: str | Path) -> Table:
    """Read a table from a path, or a shipped table by its name, such as ``talking-head-x264``.

    Raises
    ------
    ConfigError : the table does not exist or is invalid
    """
    path = shipped.find("encoders", name)
    known = ", ".join(shipped.by_name("encoders"))
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise ConfigError(f"an encoder table has at most {LARGEST_BYTES >> 20} MiB", source=str(path))
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"unknown encoder table: `{name}`", hint=f"a path, or one of {known}") from error
    return Table.parse(text, str(path))


def _rows(values: Floats, form: Literal["d", "f"]) -> str:
    """Return nested lists as JSON, with one line per innermost list."""
    if values.ndim > 1:
        inner = [_rows(part, form) for part in values]
        return "[" + ",\n".join(inner) + "]"
    return "[" + ",".join(f"{value:.0f}" if form == "d" else _digits(value) for value in values) + "]"


def _digits(value: float) -> str:
    """Return an SSIM as a JSON number with at most four decimals."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _refuse_constant(text: str) -> float:
    raise ValueError(f"`{text}` is not a JSON number")


def _check_steps(document: _Document, source: str | None) -> None:
    """Check that quantizers ascend and that strides are 1, 2, ... ."""
    for at, (before, after) in enumerate(zip(document.qps, document.qps[1:], strict=False), 1):
        if after <= before:
            hint = "best quality first: each quantizer is larger than the one before"
            raise ConfigError(
                f"quantizers must rise: {before}, then {after}", hint=hint, source=source, key=f"qps.{at}"
            )
    if document.strides != list(range(1, len(document.strides) + 1)):
        raise ConfigError(
            f"strides must be 1, 2, ...: `{document.strides}`",
            hint="stride s: each frame refers to the one s frames earlier",
            source=source,
            key="strides",
        )


def _frames(sizes: list[list[list[int]]]) -> int:
    return len(sizes[0][0]) if sizes and sizes[0] else 0


def _checked(check: Any, lists: Any, key: str, lengths: tuple[int, ...], source: str | None) -> Floats:
    """Return nested lists as an array, after checking the lists' lengths and, with the function `check`, the
    numbers.
    """
    _check_lengths(lists, key, lengths, source)
    try:
        values: Floats = np.asarray(lists, np.float64)
    except OverflowError as error:
        raise ConfigError("a number is too large", source=source, key=key) from error
    check(values, key, source)
    return values


def _check_lengths(lists: Any, key: str, lengths: tuple[int, ...], source: str | None) -> None:
    nouns = {3: ("strides", "quantizers", "frames"), 2: ("ages", "frames")}[len(lengths)]
    level = [(key, lists)]
    for noun, length in zip(nouns, lengths, strict=True):
        for where, found in level:
            if len(found) != length or not length:
                raise ConfigError(
                    f"{where} has {len(found)} {noun}, expected {max(length, 1)}",
                    hint="one list for each of `strides`, in it one for each of `qps`, in it a number for each frame"
                    if len(lengths) == 3
                    else "one list for each age of a frozen frame, in it a number for each frame",
                    source=source,
                    key=where,
                )
        level = [(f"{where}.{i}", part) for where, found in level for i, part in enumerate(found)]


def _sizes(values: Floats, key: str, source: str | None) -> None:
    bad = np.argwhere((values < 1) | (values > 1e8))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        hint = "bytes of one encoded frame: 1 to 100,000,000"
        message = f"no size of a frame: `{values[where]:.0f}`"
        raise ConfigError(message, hint=hint, source=source, key=".".join(map(str, (key, *where))))
    means = values.mean(axis=2)
    rising = np.argwhere(means[:, 1:] > MAX_GROWTH * means[:, :-1])
    if len(rising):
        stride, qp = (int(i) for i in rising[0])
        finer, coarser = means[stride, qp], means[stride, qp + 1]
        raise ConfigError(
            f"frames grow with the quantizer: {finer:.0f} bytes on average, then {coarser:.0f}",
            hint="coarser quantizers make smaller frames: order `bytes` as `qps` is, best quality first",
            source=source,
            key=f"{key}.{stride}.{qp + 1}",
        )


def _similarities(values: Floats, key: str, source: str | None) -> None:
    bad = np.argwhere(~((values >= -1) & (values <= 1)))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        hint = "SSIM as it is, not in decibels: -1 to 1, 1 for equal pictures"
        message = f"no SSIM: `{values[where]:g}`"
        raise ConfigError(message, hint=hint, source=source, key=".".join(map(str, (key, *where))))
