"""Validate video scenarios, which define a link, its delays, a camera and an encoder (docs/video.md).

An encoder table has the sizes and qualities of an encoder's frames.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError

from fairweir import _core
from fairweir.documents import shipped
from fairweir.documents.quantities import PositiveTime, Time
from fairweir.documents.toml import read_document
from fairweir.documents.validation_errors import explain
from fairweir.scenario.elements import AnyJitter, AnyLoss, Surroundings, Table, as_list
from fairweir.scenario.links import Link
from fairweir.units import NS_PER_S
from fairweir.video.senders import Sender
from fairweir.video.tables import Table as EncoderTable
from fairweir.video.tables import load as load_table

#: Maximum payload of a packet, and size of its IPv4, UDP and RTP headers, bytes.
PAYLOAD_BYTES: Final = 1400
HEADER_BYTES: Final = 40
#: Time to code a frame after its capture, and time to decode and display a complete frame, ns.
CODEC_NS: Final = 5_000_000
#: Standard deviation of ln(frame size / target size) in simulations, and the minimum and maximum of the ratio.
ENCODER_SPREAD: Final = 0.1
ENCODER_FACTORS: Final = (0.6, 1.3)


class VideoScenario(Table):
    """A video scenario that was validated. The attributes are the keys of the file."""

    name: str = "video"
    description: str = ""
    duration: PositiveTime = Field(examples=['"180s"'])
    warmup: Time = "0s"
    fps: float = Field(default=30.0, ge=1, le=240)
    encoder: str = "talking-head-x264"
    seed: int = Field(default=1, ge=0, lt=1 << 63)
    #: One-way delay in each direction: before the link, and on the return path (mahimahi's mm-delay).
    delay: Time = "25ms"
    link: Link
    jitter: Annotated[list[AnyJitter], BeforeValidator(as_list)] = []
    loss: Annotated[list[AnyLoss], BeforeValidator(as_list)] = []

    _table: EncoderTable | None = PrivateAttr(default=None)
    _base: Path | None = PrivateAttr(default=None)
    _source: Path | None = PrivateAttr(default=None)

    @property
    def source(self) -> str | None:
        """The path of the scenario's file, for error messages."""
        return None if self._source is None else str(self._source)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a video scenario from a TOML file, or a shipped video scenario by its name (``fairweir list video``).

        Raises
        ------
        ConfigError : the file cannot be read, is not TOML, or is not a video scenario
        """
        path = shipped.find("video", path)
        document = {"name": path.stem, **read_document(path, noun=shipped.KINDS["video"].noun)}
        try:
            scenario = cls.model_validate(document)
        except ValidationError as error:
            raise explain(error, cls, document, str(path)) from None
        scenario._base, scenario._source = path.parent, path
        return scenario

    def override(self, **changes: Any) -> Self:
        """Return a copy with other values of some keys; None leaves a value unchanged."""
        scenario = self.model_copy(update={key: value for key, value in changes.items() if value is not None})
        scenario._base, scenario._source = self._base, self._source
        return scenario

    def over_trace(self, path: Path) -> Self:
        """Return a copy whose link follows a mahimahi trace and has an unlimited buffer; its name is that of the
        file.
        """
        link = Link.model_validate({"trace": str(path.absolute()), "buffer": "infinite"})
        return self.override(link=link, name=path.stem)

    def over_table(self, table: EncoderTable) -> Self:
        """Return a copy whose frames come from `table` instead of the encoder table that the scenario names."""
        scenario = self.override()
        scenario._table = table
        return scenario

    def table(self) -> EncoderTable:
        """Return the encoder table of :meth:`over_table`, or the one that the scenario names.

        Raises
        ------
        ConfigError : the table does not exist or is invalid
        """
        return self._table or load_table(self.encoder)

    def config(self, sender: Sender, *, seed: int | None = None, records: bool = False) -> str:
        """Return the configuration with which ``crates/video`` simulates a session: JSON in base units.

        Parameters
        ----------
        records : whether the result should contain all frames and all decisions of the sender

        Raises
        ------
        ConfigError : the link's trace or the sender's file is invalid
        """
        packet = PAYLOAD_BYTES + HEADER_BYTES
        link = self.link.base(self._base)
        rate = self.link.nominal_rate(link)
        delay = _core.parse_time(self.delay)
        around = Surroundings(
            packet_bytes=packet, bdp_bytes=rate * 2 * delay // NS_PER_S, rate=rate, rtprop_ns=2 * delay, base_ns=delay
        )
        forward = [element for element in (*self.jitter, *self.loss) if element.side == "data"]
        back = [element for element in (*self.jitter, *self.loss) if element.side == "acks"]
        limit = _core.resolve_size(self.link.buffer, packet, around.bdp_bytes)
        return json.dumps(
            {
                "duration_ns": _core.parse_time(self.duration),
                "from_ns": _core.parse_time(self.warmup),
                "fps": self.fps,
                "payload_bytes": PAYLOAD_BYTES,
                "header_bytes": HEADER_BYTES,
                "encode_ns": CODEC_NS,
                "decode_ns": CODEC_NS,
                "encoder_spread": ENCODER_SPREAD,
                "encoder_factors": ENCODER_FACTORS,
                "seed": self.seed if seed is None else seed,
                "network": {
                    "hop": {"link": link, "queue": self.link.aqm.base(limit, packet, around.bdp_bytes, rate)},
                    "forward_ns": delay,
                    "back_ns": delay,
                    "forward": [element.base(around) for element in forward],
                    "back": [element.base(around) for element in back],
                },
                "sender": sender.base(),
                "frames": records,
                "explain": records,
            }
        )
