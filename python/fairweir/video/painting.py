"""Paint shapes, textures and text for generated video, on planes of luma and color in 32-bit floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

WIDTH: Final = 640
HEIGHT: Final = 360
#: Size of the cell of one painted character, which includes the gap to the next, pixels.
GLYPH_HEIGHT, GLYPH_WIDTH = 10, 6
LINE_HEIGHT = 14


@dataclass
class Canvas:
    """A picture to paint on: a plane of luma (y), and two planes of color (u, v) at half the resolution; values are 0
    to 255, and 128 in a color plane is gray.
    """

    y: Floats
    u: Floats
    v: Floats

    @classmethod
    def filled(cls, y: float, u: float, v: float, height: int = HEIGHT, width: int = WIDTH) -> Canvas:
        """Return a canvas filled with one color."""
        half = (height // 2, width // 2)
        return cls(
            *(np.full(shape, value, np.float32) for shape, value in (((height, width), y), (half, u), (half, v)))
        )

    def copy(self) -> Canvas:
        """Return a copy, which can be painted without changing this canvas."""
        return Canvas(self.y.copy(), self.u.copy(), self.v.copy())

    def i420(self) -> NDArray[np.uint8]:
        """Return the picture in the format I420, which encoders read: ``height * 3 // 2`` rows of the picture's
        width.
        """
        planes = np.concatenate([self.y.ravel(), self.u.ravel(), self.v.ravel()])
        height, width = self.y.shape
        picture: NDArray[np.uint8] = np.clip(np.rint(planes), 0, 255).astype(np.uint8)
        return picture.reshape(height * 3 // 2, width)

    def rectangle(self, top: int, left: int, height: int, width: int, y: float, u: float, v: float) -> None:
        """Paint a rectangle. If the coordinates are even, the edges in the color planes match those in the luma
        exactly.
        """
        self.y[top : top + height, left : left + width] = y
        rows, columns = slice(top // 2, (top + height) // 2), slice(left // 2, (left + width) // 2)
        self.u[rows, columns], self.v[rows, columns] = u, v

    def ellipse(
        self,
        x: float,
        y: float,
        rx: float,
        ry: float,
        luma: float,
        u: float,
        v: float,
        texture: Floats | None = None,
        contrast: float = 0.0,
        *,
        shade: float = 0.0,
    ) -> None:
        """Paint an ellipse with soft edges. Coordinates may be fractions of a pixel, so that motion is smooth.

        Parameters
        ----------
        x, y, rx, ry : pixels; center and radii
        luma, u, v : color
        texture : texture that moves with the ellipse; it is multiplied by `contrast` and added to the luma
        shade : amount by which the luma is lower at the rim
        """
        for plane, value, scale in ((self.y, luma, 1), (self.u, u, 2), (self.v, v, 2)):
            cx, cy, a, b = x / scale, y / scale, rx / scale, ry / scale
            top, bottom = max(0, int(cy - b) - 1), min(plane.shape[0], int(cy + b) + 2)
            left, right = max(0, int(cx - a) - 1), min(plane.shape[1], int(cx + a) + 2)
            if top >= bottom or left >= right:
                continue
            rows, columns = np.mgrid[top:bottom, left:right].astype(np.float32)
            distance = np.sqrt(((rows - cy) / b) ** 2 + ((columns - cx) / a) ** 2)
            cover = np.clip((1 - distance) * min(a, b) + 0.5, 0, 1).astype(np.float32)
            paint: Floats | float = value
            if scale == 1:
                paint = value - np.float32(shade) * distance**2
                if texture is not None:
                    middle = texture.shape[0] / 2, texture.shape[1] / 2
                    paint = paint + contrast * warp(texture, rows - cy + middle[0], columns - cx + middle[1])
            region = plane[top:bottom, left:right]
            region += cover * (paint - region)

    def blend(self, cover: Floats, y: Floats | float, u: Floats | float, v: Floats | float) -> None:
        """Paint the color (y, u, v) over the whole canvas, with the opacity `cover` of each pixel, from 0 to 1."""
        self.y += cover * (y - self.y)
        half = np.s_[::2, ::2]
        self.u += cover[half] * ((u[half] if isinstance(u, np.ndarray) else u) - self.u)
        self.v += cover[half] * ((v[half] if isinstance(v, np.ndarray) else v) - self.v)

    def window(self, top: int, height: int, left: int, width: int) -> Canvas:
        """Return a part of the canvas, whose corner is moved to even coordinates."""
        top, left = top // 2 * 2, left // 2 * 2
        half = np.s_[top // 2 : (top + height) // 2, left // 2 : (left + width) // 2]
        return Canvas(self.y[top : top + height, left : left + width], self.u[half], self.v[half])

    def paste(self, other: Canvas, top: int, left: int) -> None:
        """Paint the canvas `other` onto this canvas, at even coordinates."""
        height, width = other.y.shape
        self.y[top : top + height, left : left + width] = other.y
        half = np.s_[top // 2 : (top + height) // 2, left // 2 : (left + width) // 2]
        self.u[half], self.v[half] = other.u, other.v

    def crop(self, top: float, left: float, height: float, width: float) -> Canvas:
        """Return a part of the canvas, of any position and size, scaled to the size of a picture."""
        planes = []
        for plane, scale in ((self.y, 1), (self.u, 2), (self.v, 2)):
            rows = np.linspace(top, top + height, HEIGHT // scale, endpoint=False) / scale
            columns = np.linspace(left, left + width, WIDTH // scale, endpoint=False) / scale
            planes.append(warp(plane, rows[:, None].astype(np.float32), columns[None, :].astype(np.float32)))
        return Canvas(*planes)

    def text(self, rng: np.random.Generator, top: int, left: int, ink: float, columns: int) -> None:
        """Paint a line of text with random words, from column `left` on, with at most `columns` characters."""
        x, end = left, min(self.y.shape[1] - GLYPH_WIDTH, left + columns * (GLYPH_WIDTH + 2))
        while x < end:
            for _ in range(int(rng.integers(2, 10))):
                if x >= end:
                    break
                glyph = GLYPHS[int(rng.integers(len(GLYPHS)))]
                region = self.y[top : top + GLYPH_HEIGHT, x : x + GLYPH_WIDTH]
                region += glyph[: region.shape[0]] * (ink - region)
                x += GLYPH_WIDTH + 1
            x += GLYPH_WIDTH

    def pointer(self, x: int, y: int) -> None:
        """Paint a mouse pointer."""
        for row in range(14):
            self.y[y + row, x : x + 1 + row * 2 // 3] = 15


def texture(rng: np.random.Generator, height: int, width: int, slope: float) -> Floats:
    """Return periodic noise whose amplitude is proportional to the frequency to the power -`slope`, with mean 0 and
    variance 1.
    """
    spectrum = np.fft.rfft2(rng.standard_normal((height, width)))
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :])
    values = np.fft.irfft2(spectrum / (frequency + 1 / max(height, width)) ** slope, (height, width))
    normal: Floats = ((values - values.mean()) / values.std()).astype(np.float32)
    return normal


def warp(source: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the values of `source` at fractional coordinates, by linear interpolation; coordinates outside wrap
    around.
    """
    height, width = source.shape
    top, left = np.floor(rows), np.floor(columns)
    down, right = (rows - top).astype(np.float32), (columns - left).astype(np.float32)
    i, j = top.astype(np.int64) % height, left.astype(np.int64) % width
    below, beside = (i + 1) % height, (j + 1) % width
    upper = source[i, j] * (1 - right) + source[i, beside] * right
    lower = source[below, j] * (1 - right) + source[below, beside] * right
    between: Floats = upper * (1 - down) + lower * down
    return between


def document(rng: np.random.Generator, height: int) -> Canvas:
    """Return the picture of a white page, higher than the screen, with headings, paragraphs and pictures."""
    page = Canvas.filled(244, 128, 128, height)
    top = 20
    while top < height - 160:
        kind = rng.random()
        if kind < 0.12:
            wide, high = 2 * int(rng.integers(60, 130)), 2 * int(rng.integers(35, 60))
            picture = 120 + 40 * texture(rng, high, wide, 1.3)
            page.rectangle(top, 60, high, wide, 120, float(rng.integers(100, 156)), float(rng.integers(100, 156)))
            page.y[top : top + high, 60 : 60 + wide] = picture
            top += high + 16
        elif kind < 0.24:
            page.rectangle(top, 60, 18, 2 * int(rng.integers(80, 200)), 228, 140, 116)
            page.text(rng, top + 4, 64, 10, columns=int(rng.integers(16, 36)))
            top += 32
        else:
            for _ in range(int(rng.integers(2, 7))):
                page.text(rng, top, 60, 45, columns=int(rng.integers(40, 66)))
                top += LINE_HEIGHT
            top += 10
    return page


def terminal(rng: np.random.Generator, height: int) -> Canvas:
    """Return the picture of a dark terminal window, higher than the screen, with lines of different lengths."""
    page = Canvas.filled(28, 130, 126, height)
    for top in range(4, height - LINE_HEIGHT, LINE_HEIGHT):
        page.text(rng, top, 8, float(rng.integers(150, 230)), columns=int(rng.integers(6, 60)))
    return page


def pitch(rng: np.random.Generator) -> Canvas:
    """Return the picture of a sports field, wider than the camera's view, with crowd, boards, grass and lines."""
    height, width = 560, 1960
    field = Canvas.filled(105, 108, 112, height, width)
    stripes = 10 * np.sign(np.sin(np.arange(width, dtype=np.float32) / 40))
    field.y += stripes + 6 * texture(rng, height, width, 0.9) + 8 * texture(rng, height, width, 1.4)
    crowd = 95 + 32 * texture(rng, 110, width, 1.0)
    field.y[:110] = crowd
    field.u[:55] = 128 + 12 * texture(rng, 55, width // 2, 0.8)
    field.v[:55] = 128 + 12 * texture(rng, 55, width // 2, 0.8)
    for left in range(0, width, 140):
        field.rectangle(110, left, 22, 136, *(float(v) for v in rng.integers((60, 90, 90), (220, 166, 166))))
        field.text(rng, 116, left + 20, 20, columns=10)
    for left in (160, 560, 960, 1360, 1760):
        field.rectangle(150, left, 380, 4, 215, 126, 126)
    for top in (150, 526):
        field.rectangle(top, 60, 4, width - 120, 215, 126, 126)
    return field


def _glyphs() -> Floats:
    """Return 64 fixed glyphs of 3 to 5 strokes each."""
    rng = np.random.default_rng(64)
    glyphs = np.zeros((64, GLYPH_HEIGHT, GLYPH_WIDTH), np.float32)
    for glyph in glyphs:
        for _ in range(int(rng.integers(3, 6))):
            if rng.random() < 0.5:
                glyph[int(rng.integers(1, GLYPH_HEIGHT - 1)), : int(rng.integers(3, GLYPH_WIDTH + 1))] = 1
            else:
                glyph[1 : int(rng.integers(5, GLYPH_HEIGHT)), int(rng.integers(0, GLYPH_WIDTH))] = 1
    return glyphs


GLYPHS: Final = _glyphs()
