"""The core works without its extras; a function that needs an extra names it in an error."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from fairweir.extras import MODULES, missing

ROOT = Path(__file__).parents[2]
#: Simulates an installation of only the core.
BARE = f"""
import sys
sys.modules.update(dict.fromkeys({sorted({module for modules in MODULES.values() for module in modules})!r}))
from fairweir.cli.main import run_and_exit
run_and_exit()
"""


def bare(words: str, work: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BARE, *words.split()]
    return subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=120, check=False)


def test_each_extra_holds_the_packages_of_its_modules() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    core = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {extra: {re.split(r"[^\w-]", text)[0] for text in texts} for extra, texts in extras.items()}
    distributions = packages_distributions()
    for extra, modules in MODULES.items():
        assert {distributions[module][0] for module in modules} <= names[extra], extra
    assert set(names) == {*MODULES, "all", "dev", "docs"}
    assert extras["all"] == [f"fairweir[{','.join(sorted(MODULES))}]"]
    assert not {re.split(r"[^\w-]", text)[0] for text in core} & set().union(*map(names.__getitem__, MODULES))


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "list --json",
        "doctor",
        "run three-rtprops --set duration=11s --set warmup=1s --out record",
        "audit reno --quick --only finite-flows --seeds 2",
        "audit cc_probe_drain --quick --only finite-flows --seeds 2",
        "sweep policer --grid seed=1..2 --set duration=7s --set warmup=0s",
        "new cca mine",
        "rule cc_qdel --as c",
        "reproduce --index",
        "video run",
    ],
)
def test_the_core_needs_no_extra(words: str, tmp_path: Path) -> None:
    done = bare(words, tmp_path)
    assert done.returncode in {0, 1}, done.stderr
    assert "Traceback" not in done.stderr
    # a list of all entries contains those that are available
    assert ("is not installed" in done.stderr) == words.startswith("list")
    assert not words.startswith("audit") or list(tmp_path.rglob("report.html"))


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [
        ("verify cc_qdel", "z3", "formal"),
        ("contract table", "scipy", "formal"),
        ("fluid wcc_ai", "scipy", "formal"),
        ("guard evaluate reno-cubic", "scipy", "guard"),
        ("run three-rtprops --set duration=11s --plot three.svg", "matplotlib", "plots"),
        ("sweep policer --grid seed=1..2 --cluster tcp://127.0.0.1:1", "distributed", "cluster"),
        ("video tables screen-x264", "av", "video"),
    ],
)
def test_a_command_without_its_extra_names_it(words: str, module: str, extra: str, tmp_path: Path) -> None:
    done = bare(words, tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"needs {module}, which is not installed" in done.stderr
    assert f"\n\nhint: pip install 'fairweir[{extra}]'\n" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_name_of_the_facade_says_which_extra_it_needs(tmp_path: Path) -> None:
    code = BARE.partition("from fairweir")[0] + "import fairweir\nprint(fairweir.compare)\nfairweir.verify"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("<function compare")
    assert "MissingExtraError: fairweir.verify needs z3, which is not installed" in done.stderr


def test_a_module_of_no_extra_is_an_error_of_its_own() -> None:
    assert missing("nowhere.at_all", "this") is None
    assert missing(None, "this") is None
