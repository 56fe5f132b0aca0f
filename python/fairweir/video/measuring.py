"""Measure encoder tables on all cores: encode and decode generated video, and compare the pictures with the source.

An encoder table has the size and quality (SSIM) of each frame of a clip, for each quantizer and each stride. The stride
s is the age of the reference, in frames: a frame is coded relative to the frame s frames earlier. For stride s, the
clip is split into s interleaved sequences, each with its own encoder. The first `LEAD` frames, among them the key
frames, are encoded but not measured. Finished parts are stored, so that an interrupted measurement resumes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from fairweir.documents.atomic_write import write_text
from fairweir.errors import FairweirError
from fairweir.play.pool import Done, Failed, Where, map_jobs
from fairweir.video import codec as codecs
from fairweir.video import content as contents
from fairweir.video.painting import HEIGHT, WIDTH
from fairweir.video.tables import Table

#: Number of frames of a table: 3 s of video.
FRAMES: Final = 90
#: Number of frames that are encoded before the measured frames: three in each sequence of the largest stride.
LEAD: Final = 12
STRIDES: Final = (1, 2, 3, 4)
#: Maximum age, in frames, for which the similarity of an old picture, displayed instead of a new one, is measured: 0.4
#: s.
AGES: Final = 12


@dataclass(frozen=True)
class Piece:
    """The part of a table that one process measures.

    Attributes
    ----------
    content, seed : kind of content and seed, which determine the clip
    codec : name of the codec; empty for the similarity of old pictures, which depends only on the content
    qp : the quantizer
    frames : number of frames of the table
    """

    content: str
    seed: int
    codec: str
    qp: int
    frames: int

    @property
    def key(self) -> str:
        """The name of the piece's file: a hash of all inputs, among them the encoder's settings and library."""
        made = codecs.described(codecs.CODECS[self.codec]) if self.codec else ""
        facts = json.dumps([asdict(self), made, LEAD, STRIDES, AGES, contents.VERSION], sort_keys=True)
        return hashlib.sha256(facts.encode()).hexdigest()[:24]


def measure(
    names: Sequence[tuple[str, str]],
    store: Path,
    *,
    seed: int = 1,
    frames: int = FRAMES,
    workers: Where = None,
    on_progress: Callable[[str, int, int], object] = lambda _what, _done, _total: None,
) -> list[Table]:
    """Return the table for each pair of content and codec; parts that are stored are not measured again.

    Parameters
    ----------
    names : pairs of a key of `content.KINDS` and a key of `codec.CODECS`
    store : directory for the finished pieces
    seed : seed of the content
    frames : number of frames of each table
    workers : number of processes, None for one per core, or a :class:`fairweir.Cluster`
    on_progress : function that is called with the last finished piece, the number of finished pieces and the number of
        all pieces

    Raises
    ------
    MissingExtraError : PyAV or scikit-image is not installed
    FairweirError : a piece could not be measured
    """
    codecs.require()
    frozen = {content: Piece(content, seed, "", 0, frames) for content, _ in names}
    coded = {
        (content, codec): [Piece(content, seed, codec, qp, frames) for qp in codecs.CODECS[codec].qps]
        for content, codec in names
    }
    # The pieces are sorted by content, so that a process paints the frames of a clip only once.
    pieces = [
        piece
        for content in frozen
        for piece in (frozen[content], *(p for (c, _), some in coded.items() if c == content for p in some))
    ]
    store.mkdir(parents=True, exist_ok=True)
    found = {piece: kept for piece in pieces if (kept := _kept(store, piece)) is not None}
    on_progress("", len(found), len(pieces))

    def done(outcome: Done[Piece, dict[str, Any]] | Failed[Piece]) -> None:
        piece = outcome.job
        if not outcome.ok:
            raise FairweirError(f"{piece.content}, {piece.codec or 'frozen frames'}: {outcome.reason}")
        _keep(store, piece, outcome.value)
        found[piece] = outcome.value
        on_progress(f"{piece.content} {piece.codec} {piece.qp or ''}".strip(), len(found), len(pieces))

    map_jobs(_measure, [piece for piece in pieces if piece not in found], workers=workers, on_done=done)
    return [_table(some, frozen[content], found) for (content, _), some in coded.items()]


def _table(pieces: list[Piece], frozen: Piece, found: dict[Piece, dict[str, Any]]) -> Table:
    codec = codecs.CODECS[pieces[0].codec]
    # The lists have the order (quantizer, stride, frame); a table has (stride, quantizer, frame).
    sizes, ssim = (np.swapaxes(np.array([found[piece][key] for piece in pieces], np.float64), 0, 1) for key in _CODED)
    made = Table(
        frozen.content,
        codec.name,
        codecs.described(codec),
        frozen.seed,
        WIDTH,
        HEIGHT,
        contents.FPS,
        codec.qps,
        STRIDES,
        sizes,
        ssim,
        np.array(found[frozen]["frozen"], np.float64),
    )
    # The table is written as text and parsed, so that its numbers are those of a file and it is validated like a file.
    return Table.parse(made.text, made.name)


_CODED: Final = ("bytes", "ssim")


def _measure(piece: Piece) -> dict[str, Any]:
    pictures = _pictures(piece.content, piece.seed, LEAD + piece.frames)
    counted = range(LEAD, LEAD + piece.frames)
    if not piece.codec:
        ages = range(1, AGES + 1)
        return {"frozen": [[_round(codecs.ssim(pictures[i - age], pictures[i])) for i in counted] for age in ages]}
    sizes = np.zeros((len(STRIDES), len(pictures)), np.int64)
    ssim = np.zeros(sizes.shape)
    codec = codecs.CODECS[piece.codec]
    for row, stride in enumerate(STRIDES):
        for start in range(stride):
            encoder, decoder = codecs.Encoder(codec, piece.qp), codecs.Decoder(codec)
            for i in range(start, len(pictures), stride):
                data = encoder.encode(pictures[i])
                shown = decoder.decode(data)
                if not data or shown is None:
                    raise FairweirError(f"{codec.encoder} skipped frame {i} at quantizer {piece.qp}")
                sizes[row, i] = len(data)
                if i >= LEAD:
                    ssim[row, i] = _round(codecs.ssim(shown, pictures[i]))
    return {"bytes": sizes[:, LEAD:].tolist(), "ssim": ssim[:, LEAD:].tolist()}


@lru_cache(maxsize=1)
def _pictures(content: str, seed: int, count: int) -> list[contents.Frame]:
    clip = contents.clip(content, seed)
    return [clip.frame(i) for i in range(count)]


def _round(similarity: float) -> float:
    return round(similarity, 4)


def _kept(store: Path, piece: Piece) -> dict[str, Any] | None:
    try:
        kept: dict[str, Any] = json.loads((store / f"{piece.key}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if set(kept) == (set(_CODED) if piece.codec else {"frozen"}) else None


def _keep(store: Path, piece: Piece, value: dict[str, Any]) -> None:
    write_text(store / f"{piece.key}.json", json.dumps(value))
