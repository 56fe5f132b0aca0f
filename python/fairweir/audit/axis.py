"""The quantity on the x axis of an exhibit."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Axis(BaseModel):
    """Quantity that a family varies."""

    model_config = ConfigDict(extra="forbid")

    name: str
    unit: str = ""
    scale: Literal["linear", "log", "category"] = "linear"
