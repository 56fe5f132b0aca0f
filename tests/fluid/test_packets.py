"""Compare packets with the fluid model on the same link, and with the theory of synchronized losses."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.fluid.packets import Link, ratio, run_packets, scenario
from fairweir.play.batch import Archive


def test_the_scenario_holds_wbar_packets() -> None:
    config = scenario(Link("wcc_ai", (2.0, 1.0), 3.0), 40.0, 0.0).resolve()
    packet_ns = 1500 * 8 / 24e6 * 1e9
    in_flight = config["flows"][0]["rtprop"] / packet_ns + 1
    assert in_flight == pytest.approx(10)
    assert config["links"][0]["hop"]["queue"]["limit"] == 30 * 1500


@pytest.mark.parametrize(("scheme", "expected"), [("wcc_ai", 2.0), ("wcc_md", 7 / 3)])
def test_losses_at_the_same_instants_give_the_ratio_of_mean_windows(
    scheme: str, expected: float, tmp_path: Path
) -> None:
    # Mean windows of synchronized sawteeth are proportional to A (2 - B)/B (docs/ccas/waimd.md). The fluid gives 1 for
    # wcc_md.
    (found,) = run_packets(
        Link(scheme, (2.0, 1.0), 1.0), [200.0], {"sim": [1.0]}, runs={"sim": 2}, archive=Archive(tmp_path), workers=1
    )
    assert found.ratios[0].value == pytest.approx(expected, rel=0.06)
    assert found.ratios[-1].value == 1
    assert not found.trouble


def test_noise_moves_the_ratio_to_that_of_a_common_loss_rate(tmp_path: Path) -> None:
    (found,) = run_packets(
        Link("wcc_ai", (2.0, 1.0), 1.0), [100.0], {"sim": [4.0]}, runs={"sim": 3}, archive=Archive(tmp_path), workers=1
    )
    assert found.ratios[0].value == pytest.approx(math.sqrt(2), rel=0.2)


def test_a_link_without_delay_is_rejected() -> None:
    with pytest.raises(ConfigError, match="too few packets"):
        scenario(Link("wcc_ai", (2.0, 1.0), math.inf), 40.0, 0.0)


def test_ratios_of_runs_are_averaged_as_factors() -> None:
    found = ratio([1.0, 4.0], [1.0, 1.0])
    assert found.value == pytest.approx(2.0)
    assert found.lo * found.hi == pytest.approx(4.0)
    assert ratio([0.0], [0.0]).value == 1
    assert ratio([6.0], [2.0]).hi == ratio([6.0], [2.0]).lo == pytest.approx(3.0)


def test_the_command_sets_packets_next_to_the_fluid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "ratios.svg"
    words = ["fluid", "wcc_ai", "--wbar", "20", "--packets", "sim", "--noise", "1", "--seeds", "2", "--workers", "1"]
    assert main([*words, "--out", str(tmp_path), "--plot", str(picture), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["wbar"], row["world"], len(row["ratios"])) for row in found["packets"]] == [(20, "sim", 2)]
    assert found["psi"] == 1
    assert picture.read_bytes().startswith(b"<?xml")
