"""Encoder tables: valid and invalid files, properties of the codecs, and their measurement."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairweir.cli.main import main
from fairweir.documents import shipped
from fairweir.errors import ConfigError, MissingExtraError
from fairweir.video import measuring
from fairweir.video.codec import CODECS
from fairweir.video.content import KINDS
from fairweir.video.scenario import VideoScenario
from fairweir.video.tables import Table, decibels, load

SHIPPED = sorted(shipped.by_name("encoders"))


def test_there_is_a_table_for_every_content_and_codec() -> None:
    assert sorted(f"{content}-{codec}" for content in KINDS for codec in CODECS) == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_tables(name: str) -> None:
    table = load(name)
    assert table.name == name
    assert (table.width, table.height, table.fps) == (640, 360, 30)
    assert table.sizes.shape == table.ssim.shape == (4, 10, 90)
    assert table.frozen.shape == (12, 90)
    text = shipped.by_name("encoders")[name].read_text()
    assert len(text) <= 60_000
    assert table.text == text
    # Finer quantizers need more bytes and have higher SSIM at every age of the reference; a younger reference needs
    # fewer bytes.
    assert (np.diff(table.sizes.mean(axis=2), axis=1) < 0).all()
    assert (np.diff(table.ssim.mean(axis=2), axis=1) < 0).all()
    assert (np.diff(table.sizes[:, :5].mean(axis=(1, 2))) > 0).all()
    # The older a frozen picture is, the lower is its similarity.
    assert table.frozen[0].mean() > table.frozen[5].mean() > table.frozen[11].mean()


def document(**changes: Any) -> dict[str, Any]:
    sizes = [[[900, 950, 1000], [400, 420, 410]], [[1200, 1250, 1290], [600, 610, 605]]]
    ssim = [[[0.98, 0.97, 0.98], [0.93, 0.92, 0.93]]] * 2
    return {
        "format": "fairweir-video-table-1",
        "content": "toy",
        "codec": "x264",
        "width": 640,
        "height": 360,
        "fps": 30,
        "qps": [20, 30],
        "strides": [1, 2],
        "bytes": sizes,
        "ssim": ssim,
        "frozen": [[0.9, 0.91, 0.9], [0.8, 0.8, 0.82]],
    } | changes


def test_a_table_is_read_and_written() -> None:
    table = Table.parse(json.dumps(document()))
    assert table.frames == 3
    assert table.sizes[1, 0, 2] == 1290
    assert table.ssim[0, 1, 1] == 0.92
    assert table.frozen[1, 2] == 0.82
    np.testing.assert_allclose(table.mbps, [950 * 240 / 1e6, 410 * 240 / 1e6])
    again = Table.parse(table.text)
    assert again.text == table.text
    np.testing.assert_array_equal(again.sizes, table.sizes)


def put(at: tuple[Any, ...], value: Any) -> Callable[[dict[str, Any]], None]:
    """Replace one entry of a document."""

    def change(doc: dict[str, Any]) -> None:
        inner: Any = doc
        for key in at[:-1]:
            inner = inner[key]
        inner[at[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        (put(("bytes", 1, 0), [1200, 1250]), "bytes.1.0", "2 frames, expected 3"),
        (put(("bytes", 1), [[1200, 1250, 1290]]), "bytes.1", "1 quantizers, expected 2"),
        (put(("bytes",), []), "bytes", "0 strides, expected 2"),
        (put(("bytes",), [[[], []], [[], []]]), "bytes.0.0", "0 frames, expected 1"),
        (put(("ssim",), [[[0.9] * 3] * 2]), "ssim", "1 strides, expected 2"),
        (put(("ssim", 0, 1), [0.9] * 4), "ssim.0.1", "4 frames, expected 3"),
        (put(("frozen", 1), [0.8]), "frozen.1", "1 frames, expected 3"),
        (put(("ssim", 1, 0, 2), float("nan")), "", "`NaN` is not a JSON number"),
        (put(("ssim", 1, 0, 2), float("inf")), "", "`Infinity` is not a JSON number"),
        (put(("ssim", 1, 0, 2), 17.2), "ssim.1.0.2", "no SSIM: `17.2`"),
        (put(("frozen", 0, 1), -1.5), "frozen.0.1", "no SSIM: `-1.5`"),
        (put(("bytes", 0, 1, 0), -4), "bytes.0.1.0", "no size of a frame: `-4`"),
        (put(("bytes", 0, 1, 0), 0), "bytes.0.1.0", "no size of a frame: `0`"),
        (put(("bytes", 0, 1, 0), 10**400), "bytes", "too large"),
        (put(("bytes", 0, 1, 0), 1.5), "bytes.0.1.0", "whole number"),
        (put(("bytes", 0, 1), [9000] * 3), "bytes.0.1", "grow with the quantizer: 950 bytes"),
        (put(("qps",), [30, 20]), "qps.1", "quantizers must rise: 30, then 20"),
        (put(("qps",), []), "qps", ""),
        (put(("strides",), [1, 3]), "strides", "1, 2, ..."),
        (put(("fps",), 0), "fps", "more than 0"),
        (put(("fps",), float("nan")), "", "`NaN` is not a JSON number"),
        (put(("format",), "fairweir-video-table-9"), "format", "fairweir-video-table-9"),
        (put(("sise",), 4), "sise", "unknown key `sise`"),
    ],
)
def test_bad_tables_are_rejected(
    change: Callable[[dict[str, Any]], None], key: str, words: str, tmp_path: Path
) -> None:
    doc = json.loads(json.dumps(document()))
    change(doc)
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(doc))
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert caught.value.source == str(path)
    assert (caught.value.key or "") == key
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "null", '"x"', "{}", "\x00"])
def test_invalid_tables(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"t\.json"):
        load(path)


def test_a_missing_table_names_the_shipped_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        load("talking-heads")
    assert "talking-head-x264" in (caught.value.hint or "")


# ---------------------------------------------------------------------------------------------------------------------


def test_measuring_repeats_the_shipped_table_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["video", "tables", "screen-x264", "--frames", "2", "--out", str(tmp_path), "--json"]
    assert main(words) == 0, capsys.readouterr().err
    row = json.loads(capsys.readouterr().out)["tables"][0]
    text = Path(row["file"]).read_text()
    assert (tmp_path / "rates.png").stat().st_size > 10_000
    measured, ours = load(row["file"]), load("screen-x264")
    assert measured.encoder == ours.encoder
    # The first frames of a longer measurement; a last bit of numpy's FFT may differ between machines.
    np.testing.assert_allclose(measured.sizes, ours.sizes[:, :, :2], rtol=0.03, atol=3)
    np.testing.assert_allclose(measured.ssim, ours.ssim[:, :, :2], atol=0.003)
    np.testing.assert_allclose(measured.frozen, ours.frozen[:, :2], atol=0.003)

    done: list[Any] = []
    monkeypatch.setattr(measuring, "map_jobs", lambda _fn, jobs, **_keywords: done.extend(jobs))
    pieces = sorted((tmp_path / ".pieces").iterdir())
    assert len(pieces) == 11
    assert main(words) == 0
    assert done == []
    assert Path(row["file"]).read_text() == text
    # A damaged piece is measured again.
    pieces[3].write_text('{"bytes": ')
    with pytest.raises(KeyError):
        measuring.measure([("screen", "x264")], tmp_path / ".pieces", frames=2)
    assert len(done) == 1


def test_an_unknown_table_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["video", "tables", "talking-hat-x264"]) == 2
    assert "unknown encoder table: `talking-hat-x264`" in (err := capsys.readouterr().err)
    assert "talking-head-x264" in err


@pytest.mark.parametrize("module", ["av", "skimage.metrics"])
def test_a_missing_extra_is_named(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        measuring.measure([("screen", "x264")], tmp_path / "pieces")
    assert "fairweir[video]" in (caught.value.hint or "")
    assert not (tmp_path / "pieces").exists()


def test_a_limited_table_has_no_finer_pictures() -> None:
    table = load("talking-head-x264")
    medians = decibels(np.median(table.ssim[0], axis=1))
    middle = float(medians[1:3].mean())
    limited = table.at_most(middle)
    assert limited.qps == table.qps[1:]
    assert float(np.median(decibels(limited.ssim[0, 0]))) == pytest.approx(middle, abs=0.2)
    assert (limited.sizes[:, 0] <= table.sizes[:, 1]).all()
    assert (limited.sizes[:, 1:] == table.sizes[:, 2:]).all()
    assert table.at_most(40.0) is table
    coarsest = table.at_most(-np.inf)
    assert coarsest.sizes.shape[1] == 2
    assert np.allclose(coarsest.sizes, table.sizes[:, -1:])
    assert np.allclose(coarsest.ssim, table.ssim[:, -1:])
    assert Table.parse(limited.text).qps == limited.qps
    fixed = VideoScenario.load("fixed")
    assert fixed.over_table(limited).override(fps=15.0).table() is limited
    assert fixed.table().qps == table.qps
