"""The figure of a run shows the numbers of its series and is reproducible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from fairweir.errors import ConfigError
from fairweir.play.run import Run, run
from fairweir.scenario.model import Scenario
from fairweir.show import style
from fairweir.show.plots import check_plot_path, run_figure, save_run_plot

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
name = "two-flows"
duration = "4s"
warmup = "1s"
seed = 1

[link.bottleneck]
rate = "12Mbps"
buffer = "2bdp"

[[flow]]
cca = "reno"
rtprop = "20ms"

[[flow]]
cca = "cubic"
rtprop = "40ms"
start = "1s"
"""


@pytest.fixture(scope="module")
def record() -> Run:
    return run(Scenario.from_toml(SCENARIO), interval="100ms")


def test_four_panels_show_the_series(record: Run) -> None:
    panels = run_figure(record).axes
    assert [axis.get_ylabel() for axis in panels] == [style.axis_label(name) for name in style.SERIES_PANELS]
    flows, links = record.flows, record.links
    for axis, column, divisor in (
        (panels[0], "throughput_mbps", 1),
        (panels[1], "cwnd_bytes", 1500),
        (panels[2], "rtt_ms", 1),
    ):
        assert len(axis.lines) == 2
        for i, line in enumerate(axis.lines):
            chosen = flows["flow"] == i
            np.testing.assert_array_equal(line.get_xdata(), flows["t_ns"][chosen] / 1e9)
            np.testing.assert_array_equal(line.get_ydata(), flows[column][chosen] / divisor)
    (queue,) = panels[3].lines
    np.testing.assert_array_equal(queue.get_ydata(), links["queue_bytes"] / 1500)
    assert panels[3].get_xlim() == (0, 4)


def test_flows_are_named_with_their_ccas(record: Run) -> None:
    (legend,) = run_figure(record).legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(labels) == 2
    assert "reno" in labels[0]
    assert "cubic" in labels[1]


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_same_run_gives_the_same_file(record: Run, tmp_path: Path, ending: str, magic: bytes) -> None:
    first = save_run_plot(record, tmp_path / f"a.{ending}").read_bytes()
    assert first.startswith(magic)
    assert save_run_plot(record, tmp_path / f"b.{ending}").read_bytes() == first


def test_a_run_without_series_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no time series"):
        save_run_plot(run(Scenario.from_toml(SCENARIO)), tmp_path / "a.png")


@pytest.mark.parametrize("name", ["a.jpg", "a", "png", "missing/a.png"])
def test_a_path_that_cannot_be_drawn_to_is_reported_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        check_plot_path(tmp_path / name)
