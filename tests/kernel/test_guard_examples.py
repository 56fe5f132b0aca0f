"""Examples from captures of real TCP whose receivers autotune their windows."""

from __future__ import annotations

import numpy as np
import pytest

from fairweir import _core
from fairweir.guard.configurations import MIXES, Network, PlannedRun
from fairweir.guard.examples import Library
from fairweir.guard.kernel_examples import gather_on_kernel
from fairweir.play.kernel import Options
from fairweir.play.run import run
from fairweir.units import Duration

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(60), pytest.mark.usefixtures("daemon")]

PLANNED = PlannedRun(MIXES["reno-cubic"][0], Network(20, 40, 2, 1), Duration.from_s(6), seed=1)


def test_a_capture_at_the_receivers_teaches() -> None:
    (found,) = gather_on_kernel([PLANNED], 60, Library(None))
    if found is None:
        pytest.skip("packets left late")
    names = _core.guard_features()
    assert found.values.shape == (60, len(names))
    min_rtt_ms = found.values[:, names.index("min_rtt_us")] / 1e3
    assert 39.0 < np.nanmin(min_rtt_ms) <= np.nanmax(min_rtt_ms) < 125.0
    # at most the whole link for one flow, including headers
    assert np.nanmax(found.values[:, names.index("throughput_mbps.window8")]) < 22.0


def test_autotuned_windows_hold_nobody_back() -> None:
    summary = run(PLANNED.scenario, on="kernel", options=Options(windows="autotuned")).summary
    if not summary.document["emulator"]["judged"]:
        pytest.skip("packets left late")
    assert summary.links[0].utilization > 0.85
