"""Results in notebooks: pages and images that a notebook shows as the value of a cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape


@dataclass(frozen=True)
class EmbeddedPage:
    """An interactive page in a frame of its own, without access to the notebook.

    Attributes
    ----------
    title : str
    page : str, self-contained HTML
    height_px : int, CSS pixels
    """

    title: str
    page: str = field(repr=False)
    height_px: int = field(repr=False)

    def _repr_html_(self) -> str:
        # `allow-scripts` without `allow-same-origin`: scripts draw, and cannot read the notebook's page.
        return (
            f'<iframe title="{escape(self.title)}" srcdoc="{escape(self.page)}" sandbox="allow-scripts allow-downloads"'
            f' style="width: 100%; height: {self.height_px}px; border: 0"></iframe>'
        )


@dataclass(frozen=True)
class Image:
    """A PNG image.

    Attributes
    ----------
    title : str
    png : bytes
    width_px : int; width at which the image is shown, CSS pixels
    """

    title: str
    png: bytes = field(repr=False)
    width_px: int

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return self.png, {"width": self.width_px}
