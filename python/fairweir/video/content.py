"""Generate video of four kinds, which differ in how difficult they are for an encoder. A seed determines each clip.

A frame has the encoders' format I420: a plane of luma, then two planes of color at half the resolution. The kinds
differ in three properties that affect an encoder: how much of the picture changes, how well motion predicts the change,
and how strong the noise is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairweir.video import painting
from fairweir.video.painting import HEIGHT, WIDTH, Canvas, Floats

#: One I420 picture: uint8, ``HEIGHT * 3 // 2`` rows of ``WIDTH``.
Frame = NDArray[np.uint8]

FPS: Final = 30
#: This number is incremented when generated frames change, so that measurements of older frames are not reused.
VERSION: Final = 1
#: Number of frames after which the screen content repeats.
SCREEN_LOOP: Final = 90


@dataclass(frozen=True)
class Clip:
    """A clip without an end. The kind of content, the seed and the index determine a frame."""

    content: str
    paint: Callable[[int], Canvas]
    #: Standard deviation of the simulated camera's noise, in steps of luma; the noise of the color planes is half of
    #: it.
    noise: float
    seed: int

    def frame(self, index: int) -> Frame:
        """Return the frame with index `index`, counted from 0."""
        canvas = self.paint(index)
        if self.noise:
            rng = np.random.default_rng([self.seed, index])
            canvas.y += self.noise * rng.standard_normal(canvas.y.shape, np.float32)
            canvas.u += self.noise / 2 * rng.standard_normal(canvas.u.shape, np.float32)
            canvas.v += self.noise / 2 * rng.standard_normal(canvas.v.shape, np.float32)
        return canvas.i420()


def clip(content: str, seed: int = 1) -> Clip:
    """Return a clip of the kind `content`, which is a key of :data:`KINDS`."""
    make, noise = KINDS[content]
    return Clip(content, make(np.random.default_rng(seed)), noise, seed)


def talking_head(rng: np.random.Generator) -> Callable[[int], Canvas]:
    """Return a function that paints a person in front of a still room: the body sways, eyes blink, the mouth moves."""
    room = Canvas.filled(150, 122, 134)
    room.y += 16 * painting.texture(rng, HEIGHT, WIDTH, 1.25) + np.linspace(20, -25, WIDTH, dtype=np.float32)
    _shelf(rng, room)
    skin = painting.texture(rng, 320, 320, 1.1)
    cloth = painting.texture(rng, 320, 640, 0.8)
    speech = _smooth(rng.random(600).astype(np.float32), 4)

    def paint(i: int) -> Canvas:
        canvas, t = room.copy(), i / FPS
        sway, nod = 16 * np.sin(1.3 * t) + 3 * np.sin(3.1 * t), 6 * np.sin(2.1 * t) + 2 * np.sin(5.3 * t)
        x, y = 320 + sway, 165 + nod
        canvas.ellipse(320 + sway / 2, 400 + nod / 3, 190, 140, 70, 140, 118, cloth, 16)  # shoulders
        canvas.ellipse(320 + sway * 0.8, 270 + nod / 2, 38, 55, 140, 112, 152, skin, 8)  # neck
        canvas.ellipse(x, y - 22, 84, 98, 45, 124, 134, cloth, 12)  # hair
        canvas.ellipse(x, y, 74, 96, 168, 108, 156, skin, 13, shade=38)
        canvas.ellipse(x, y - 88, 66, 32, 48, 124, 134, cloth, 12)
        opened = 0.15 if i % 77 in {40, 41, 42, 43} else 1.0
        for side in (-1, 1):
            canvas.ellipse(x + side * 28, y - 16, 12, 6.5 * opened, 205, 128, 128)
            canvas.ellipse(x + side * 28 + sway / 6, y - 16, 5.5, 5.5 * opened, 40, 128, 128)
            canvas.ellipse(x + side * 29, y - 33, 16, 3, 60, 124, 134)
        canvas.ellipse(x + 3, y + 18, 7, 16, 150, 110, 156, skin, 6)
        talks = 1.0 if i % 110 < 85 else 0.1
        canvas.ellipse(x, y + 54, 25, 5 + 13 * talks * speech[i % len(speech)], 70, 116, 172)
        return canvas

    return paint


def screen(rng: np.random.Generator) -> Callable[[int], Canvas]:
    """Return a function that paints a computer's screen, without noise.

    Text is typed, a page scrolls, and a terminal window opens, prints lines and closes.
    """
    page = painting.document(rng, 2400)
    terminal = painting.terminal(rng, 1200)
    bar = Canvas.filled(55, 138, 120)
    bar.text(rng, 6, 10, 190, columns=30)

    def paint(i: int) -> Canvas:
        loop, t = divmod(i, SCREEN_LOOP)
        canvas = Canvas.filled(90, 140, 116)
        if 52 <= t < 75:
            canvas.paste(terminal.window(60 + (t - 52) // 3 * 14 + 210 * loop % 700, 300, 0, 560), 40, 50)
        else:
            scrolled = 4 * min(max(t - 24, 0), 28) + 112 * loop
            canvas.paste(page.window(int(scrolled) % 1900, HEIGHT - 24, 0, WIDTH), 24, 0)
            if t < 24:  # typing, with a blinking cursor
                typed = 150 + 8 * (t // 3)
                canvas.rectangle(200, 150, 12, 8 * (t // 3) // 2 * 2, 90, 128, 128)
                if t // 8 % 2 == 0:
                    canvas.rectangle(198, typed // 2 * 2, 16, 2, 20, 128, 128)
        canvas.paste(bar.window(0, 24, 0, WIDTH), 0, 0)
        if 40 <= t < 52 or t >= 75:
            canvas.pointer(120 + 9 * (t % 40), 90 + 5 * (t % 40))
        return canvas

    return paint


def sport(rng: np.random.Generator) -> Callable[[int], Canvas]:
    """Return a function that paints a match: the camera pans over grass and crowd, players and ball move, and there is
    a cut every 1.5 s.
    """
    pitch = painting.pitch(rng)
    kit = painting.texture(rng, 128, 128, 1.0)
    phase, home = rng.uniform(0, 2 * np.pi, 16), rng.uniform(0, 1, (16, 2))

    def paint(i: int) -> Canvas:
        shot, t = i // 45, i / FPS
        zoom = (1.0, 2.4, 1.5)[shot % 3]
        left = 640 + 560 * np.sin(1.1 * t + 2.1 * shot) * (0.9 if zoom < 2 else 0.5)
        top = 40 + 18 * np.sin(1.7 * t) + (60 if zoom > 2 else 0)
        canvas = pitch.crop(top, left, HEIGHT / zoom, WIDTH / zoom)
        for k in range(16):
            px = 120 + 1680 * home[k, 0] + 190 * np.sin(1.9 * t + phase[k])
            py = 150 + 270 * home[k, 1] + 40 * np.sin(2.7 * t + 2 * phase[k])
            x, y, legs = (px - left) * zoom, (py - top) * zoom, np.sin(17 * t + phase[k])
            if not (-60 < x < WIDTH + 60 and -60 < y < HEIGHT + 60):
                continue
            luma, u, v = ((190, 128, 128), (70, 170, 110))[k % 2]
            for side in (-1, 1):
                canvas.ellipse(x + side * (3 + 3 * legs) * zoom, y + 15 * zoom, 2.6 * zoom, 9 * zoom, 120, 112, 150)
            canvas.ellipse(x, y, 7 * zoom, 12 * zoom, luma, u, v, kit, 14)
            canvas.ellipse(x, y - 15 * zoom, 4 * zoom, 4.6 * zoom, 110, 112, 150)
        bx, by = (960 + 500 * np.sin(2.3 * t) - left) * zoom, (300 + 110 * np.sin(3.9 * t) - top) * zoom
        canvas.ellipse(bx, by, 3.4 * zoom, 3.4 * zoom, 235, 128, 128)
        return canvas

    return paint


def foliage(rng: np.random.Generator) -> Callable[[int], Canvas]:
    """Return a function that paints leaves in the wind in front of a sky: three layers, each deformed by other waves,
    and strong noise.
    """
    layers = [painting.texture(rng, HEIGHT + 80, WIDTH + 80, slope) for slope in (1.6, 1.4, 1.2)]
    tint = painting.texture(rng, HEIGHT + 80, WIDTH + 80, 1.5)
    rows, columns = (axis.astype(np.float32) for axis in np.mgrid[0:HEIGHT, 0:WIDTH])

    def paint(i: int) -> Canvas:
        t = i / FPS
        canvas = Canvas.filled(215, 140, 118)
        for depth, layer in enumerate(layers):
            gust = (1 + depth) * (2.2 + np.sin(0.9 * t))
            dx = gust * np.sin(2.4 * t + depth + rows / 90 + columns / 130) + 1.2 * np.sin(7 * t + columns / 17)
            dy = gust / 2 * np.sin(3.1 * t + 2 * depth + columns / 70)
            shape = painting.warp(layer, rows + dy + 30, columns + dx + 30)
            cover = np.clip(3 * (shape + 0.15), 0, 1)
            light = painting.warp(tint, rows + dy + 30, columns + dx + 30)
            leaf = 60 + 22 * depth + 24 * shape + 14 * light
            canvas.blend(cover, leaf, 112 - 3 * light, 112 + 4 * light)
        return canvas

    return paint


#: Kind of content -> the function that paints it, and the camera's noise.
KINDS: Final[dict[str, tuple[Callable[[np.random.Generator], Callable[[int], Canvas]], float]]] = {
    "talking-head": (talking_head, 0.7),
    "screen": (screen, 0.0),
    "sport": (sport, 0.8),
    "foliage": (foliage, 2.5),
}


def _shelf(rng: np.random.Generator, room: Canvas) -> None:
    """Paint shelves of books at the right, and a window at the left."""
    room.rectangle(30, 40, 190, 120, 222, 134, 122)
    room.rectangle(122, 40, 6, 120, 120, 120, 138)
    for top in (40, 130, 220):
        room.rectangle(top + 70, 470, 8, 150, 95, 116, 140)
        x = 474
        while x < 606:
            wide, high = 2 * int(rng.integers(3, 8)), 2 * int(rng.integers(20, 34))
            room.rectangle(
                top + 70 - high, x, high, wide, *(float(v) for v in rng.integers((50, 100, 100), (200, 156, 156)))
            )
            x += wide + 2 * int(rng.integers(0, 2))


def _smooth(values: Floats, width: int) -> Floats:
    kernel = np.ones(width, np.float32) / width
    return np.convolve(values, kernel, mode="same").astype(np.float32)
