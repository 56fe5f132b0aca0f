"""The functions of ``import fairweir as fw``: their results, and their errors if they are misused."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import fairweir as fw
from fairweir.errors import ConfigError

LINK: dict[str, Any] = {"rate": "12Mbps", "rtprop": "20ms", "buffer": "4bdp", "duration": "5s"}


@pytest.mark.parametrize("module", ["play.compare", "explain.explanation", "formal.verdicts.named"])
def test_examples_work(module: str) -> None:
    found = doctest.testmod(import_module(f"fairweir.{module}"))
    assert found.attempted > 1
    assert found.failed == 0


def test_packages_are_functions_whatever_is_imported_first() -> None:
    code = (
        "import fairweir.audit.jobs, fairweir.explain.read\n"
        "import fairweir as fw, fairweir.audit.runner as runner\n"
        "import inspect\n"
        "assert inspect.signature(fw.audit) == inspect.signature(runner.run_audit)\n"
        "from fairweir import audit, explain\n"
        "assert callable(audit) and callable(explain) and audit.Depth('quick') and explain.read\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    for name in ("audit", "compare", "explain", "run", "sweep", "verify"):
        assert name in fw.__all__
        assert inspect.signature(getattr(fw, name)).parameters


def test_an_audit_writes_its_report(tmp_path: Path) -> None:
    results = fw.audit("reno", depth="quick", only="finite-flows", seeds=2, workers=1)
    assert results.report(tmp_path / "out") == tmp_path / "out"
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"report.html", "results.json", "junit.xml", "summary.md"}


@pytest.mark.parametrize(
    ("misuse", "message", "hint"),
    [
        (lambda: fw.audit("reno", depth="quik"), "depth cannot be `quik`", "did you mean `quick`?"),  # type: ignore[arg-type]
        (lambda: fw.audit("reno", depth="all"), "depth cannot be `all`", "known are quick, default, deep"),  # type: ignore[arg-type]
        (lambda: fw.verify("cc_qdel", "queue<=1", buffer="smal"), "no such buffer: `smal`", "did you mean `small`?"),
        (lambda: fw.explain("nowhere.pcap"), "capture cannot be read: no such file", None),
        (lambda: fw.compare("reno", "cubic"), "controllers are compared on a scenario", "scenario="),
        (lambda: fw.compare("reno", "cubic", scenario="no-such"), "no-such", None),
        (lambda: fw.compare("reno", fw.run(fw.dumbbell("reno", **LINK))), "cannot compare str and Run", "two runs"),
    ],
)
def test_misuse_is_one_clear_error(misuse: object, message: str, hint: str | None) -> None:
    assert callable(misuse)
    with pytest.raises(ConfigError) as caught:
        misuse()
    assert message in str(caught.value)
    assert hint is None or hint in (caught.value.hint or "")


def test_two_controllers_differ_beyond_chance_or_not() -> None:
    pair = fw.dumbbell(["reno", "reno"], **LINK)
    found = fw.compare("reno", "vegas", scenario=pair, seeds=3, workers=1)
    assert found.names == ("reno", "vegas")
    wait = next(row for row in found.rows if (row.of, row.quantity) == ("bottleneck", "mean wait"))
    assert wait.lo is not None
    assert wait.hi is not None
    assert wait.lo < wait.difference < wait.hi < 0
    assert wait.is_significant
    assert wait.difference == pytest.approx(wait.second - wait.first)
    assert {row.of for row in found.rows} == {"all flows", "reno-1 / vegas-1", "reno-2 / vegas-2", "bottleneck"}
    same = fw.compare("reno", "reno", scenario=pair, seeds=3, workers=1)
    assert all(row.difference == 0 and row.is_significant is False for row in same.rows)
    assert "bottleneck, mean wait: " in repr(found)
    assert len(found.table()) == len(found.rows)
    assert "<td>mean wait</td>" in found._repr_html_()


def test_runs_and_sweeps_are_compared(tmp_path: Path) -> None:
    first, second = (fw.run(fw.dumbbell(cca, **LINK)) for cca in ("reno", "vegas"))
    found = fw.compare(first, second)
    assert all(row.lo is None and row.is_significant is None for row in found.rows)
    several = [[fw.run(fw.dumbbell(cca, **LINK), seed=seed) for seed in seeds] for cca, seeds in
               (("reno", (1, 2)), ("vegas", (3, 4)))]  # fmt: skip
    unpaired = fw.compare(*several)
    assert all(row.lo is not None and row.lo <= row.difference for row in unpaired.rows)
    grid: dict[str, list[Any]] = {"link.bottleneck.rate": ["6Mbps", "12Mbps"], "seed": [1, 2]}
    sweeps = [fw.sweep(fw.dumbbell(cca, **LINK), grid, tmp_path / cca, workers=1) for cca in ("reno", "vegas")]
    table = fw.compare(*sweeps).table()
    assert set(table["at"]) == {"link.bottleneck.rate=6Mbps", "link.bottleneck.rate=12Mbps"}
    other = fw.sweep(fw.dumbbell("reno", **LINK), {"flow.0.ecn": [True]}, tmp_path / "other", workers=1)
    with pytest.raises(ConfigError, match="no point in common"):
        fw.compare(sweeps[0], other)
