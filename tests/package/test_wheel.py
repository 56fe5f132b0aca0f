"""The wheel, installed into a fresh environment: every family of commands works without a clone."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.package.action_runner import Runner

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
#: Folder of fairweir's dependencies, through which the editable install of fairweir is not found.
DEPENDENCIES = Path(sysconfig.get_path("purelib"))
TOPS = ("include", "scenarios", "rules", "queries", "policies", "controllers", "encoders", "lessons")

#: Module that every process of the fresh environment loads; it makes a process fail that reads the clone.
NO_CLONE = f"""
import sys

def _refuse(event, args):
    if event in ("open", "os.listdir", "os.scandir") and args and isinstance(args[0], str):
        if args[0].startswith({str(ROOT)!r} + "/") and not args[0].startswith({str(BIN.parent)!r} + "/"):
            raise RuntimeError("reads the clone: " + args[0])

sys.addaudithook(_refuse)
"""

#: Exit codes of a verdict: the claim holds, or it fails.
VERDICT = {0, 1}
#: One small command of each family, with the exit codes of success.
COMMANDS = {
    "list --json": {0},
    "doctor": {0},
    "run three-rtprops --set duration=11s --pcap three.pcap --plot three.svg --out three --set warmup=1s": {0},
    "compare three three --page three.html": {0},
    "run published/thesis-2.1.toml": {2},
    "sweep policer --grid seed=1..2 --set duration=7s --set warmup=0s": {0},
    "audit reno --quick --only finite-flows --seeds 2": VERDICT,
    "audit cc_probe_drain --quick --only finite-flows --seeds 2 --out audit-rule": VERDICT,
    "verify cc_qdel --property queue<=100 --points 4 --given queue<=2": {0},
    "prove aimd --points 3": VERDICT,
    "synth g1-4 --set points=3": VERDICT,
    "synth cloud-gaming --set depth=1 --set sampling.sessions=2 --set sampling.boxes=20 --set sampling.rounds=0"
    " --set tree.leaves=[2] --set tree.preferences=[0.1] --set tree.trials=2 --set tree.tie=0": {0},
    "verify conference --property queue<=2": {0},
    "video run fixed --sender tree:conference --duration 3s": {0},
    "video run shallow --sender search:conference --encoder screen-vp8 --duration 3s": {0},
    "run three-rtprops --set duration=11s --set warmup=1s --set flow.0.cca=bulk": {0},
    "rule cc_qdel --as c": {0},
    "contract derive expo --rtprops 40ms --capacities 12Mbps,24Mbps --flows 1 --seeds 1 --duration 5s": VERDICT,
    "contract table": {0},
    "starve vegas --jitter 1ms --rate-range 12Mbps..24Mbps": VERDICT,
    "fluid wcc_ai": {0},
    "explain three.pcap --report explained.html": {0},
    "reproduce --index": {0},
    "reproduce thesis-4.6 --quick": {0},
    "guard evaluate reno-cubic -n 1 --duration 5s --policy flow": VERDICT,
    "guard replay three.pcap --config service": {0},
    "new cca mine": {0},
    "run mine.toml --set duration=2s --set warmup=0s": {0},
    "new cca yours --c": {0},
    "run yours.toml --set duration=2s --set warmup=0s": {0},
}


#: Code that must work without extras; it saves a record and writes a report.
CORE_COMMANDS = {
    "list --json": {0},
    "doctor": {0},
    "run three-rtprops --set duration=11s --set warmup=1s --out record": {0},
    "audit reno --quick --only finite-flows --seeds 2": VERDICT,
    "sweep policer --grid seed=1..2 --set duration=7s --set warmup=0s": {0},
    "new cca mine": {0},
    "run mine.toml --set duration=2s --set warmup=0s": {0},
}
#: Maximum size of the core and its dependencies, MiB.
MAX_MB = 250


@dataclass(frozen=True)
class Installed:
    """The fresh environment, and an empty folder to work in."""

    python: Path
    work: Path

    def run(self, words: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.python.with_name("fairweir")), *shlex.split(words)]
        # Solvers are programs in addition to the dependencies; the user's cache starts empty.
        path = os.pathsep.join([str(self.python.parent), str(BIN), os.defpath])
        env = {"PATH": path, "HOME": str(self.work / "home"), "LANG": "C.UTF-8", "MPLBACKEND": "agg"}
        return subprocess.run(command, cwd=self.work, env=env, capture_output=True, text=True, timeout=250, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that ``maturin build`` makes from the compiled files of the build."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    out = tmp_path_factory.mktemp("wheel")
    command = [str(BIN / "maturin"), "build", "--quiet", "--release", "--locked", "--out", str(out)]
    built = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "CARGO_NET_OFFLINE": "true"}, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    python = folder / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--disable-pip-version-check", str(wheel)], check=True)
    packages = next((folder / "env" / "lib").glob("python*/site-packages"))
    (packages / "no_clone.py").write_text(NO_CLONE, encoding="utf-8")
    (packages / "dependencies.pth").write_text(f"{DEPENDENCIES}\nimport no_clone\n", encoding="utf-8")
    (folder / "work").mkdir()
    return Installed(python, folder / "work")


def dependencies(packages: Path) -> Iterator[Distribution]:
    """Return the installed distributions on which the wheel in `packages` depends."""
    found: dict[str, Distribution] = {}
    (wheel,) = distributions(name="fairweir", path=[str(packages)])
    open_ends = [(Requirement(text), "") for text in wheel.requires or ()]
    while open_ends:
        wanted, extra = open_ends.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        if wanted.name not in found:
            found[wanted.name] = distribution(wanted.name)
        inner = map(Requirement, found[wanted.name].requires or ())
        open_ends += [(one, part) for one in inner if one.name not in found for part in wanted.extras or {""}]
    yield from found.values()


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel without extras, so that only the dependencies of the core can be imported."""
    folder = tmp_path_factory.mktemp("core")
    python = folder / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--disable-pip-version-check", str(wheel)], check=True)
    packages = next((folder / "env" / "lib").glob("python*/site-packages"))
    for one in dependencies(packages):
        for top in {file.parts[0] for file in one.files or () if file.parts[0] not in {"..", "__pycache__"}}:
            if not (packages / top).exists():
                (packages / top).symlink_to(DEPENDENCIES / top)
    (packages / "no_clone.py").write_text(NO_CLONE, encoding="utf-8")
    (packages / "no_clone.pth").write_text("import no_clone\n", encoding="utf-8")
    (folder / "work").mkdir()
    return Installed(python, folder / "work")


def test_the_core_is_small_and_works_alone(core: Installed) -> None:
    packages = next((core.python.parents[1] / "lib").glob("python*/site-packages"))
    found = [path for path in packages.glob("**/*") if path.is_file() and not path.is_symlink()]
    linked = [path for link in packages.iterdir() if link.is_symlink() for path in link.resolve().glob("**/*")]
    linked += [link for link in packages.iterdir() if link.is_symlink() and link.is_file()]
    size_mb = sum(path.stat().st_size for path in [*found, *linked] if path.is_file()) / 2**20
    assert 50 < size_mb <= MAX_MB
    assert not {"pyarrow", "scipy", "matplotlib", "z3", "sklearn"} & {path.name for path in packages.iterdir()}
    wrong = {}
    for words, codes in CORE_COMMANDS.items():
        done = core.run(words)
        if done.returncode not in codes or "Traceback" in done.stderr or "reads the clone" in done.stdout + done.stderr:
            wrong[words] = (done.returncode, done.stderr[-2000:], done.stdout[-500:])
    assert not wrong
    assert (core.work / "record" / "summary.json").is_file()
    assert list(core.work.rglob("flows.parquet"))
    assert list(core.work.rglob("report.html"))


def test_a_wheel_has_every_file_that_is_found_by_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        held = {name.removeprefix("fairweir/data/") for name in names if name.startswith("fairweir/data/")}
        same = {name: archive.read(f"fairweir/data/{name}") for name in held}
    wanted = {str(file.relative_to(ROOT)): file for top in TOPS for file in (ROOT / top).rglob("*") if file.is_file()}
    assert held == set(wanted)
    assert all(same[name] == file.read_bytes() for name, file in wanted.items())
    assert {"fairweir/py.typed", "fairweir/_core.pyi", "fairweir/ccas/skeletons/cca.py.in"} <= names
    assert not [name for name in names if name.startswith(("scenarios", "python", "tests"))]


def test_the_environment_has_the_wheel_and_nothing_of_the_clone(installed: Installed) -> None:
    code = f"import fairweir; print(fairweir.__file__); open({str(ROOT / 'README.md')!r})"
    asked = subprocess.run(
        [str(installed.python), "-c", code], cwd=installed.work, capture_output=True, text=True, check=False
    )
    assert asked.stdout.startswith(str(installed.python.parents[1]))
    assert "reads the clone" in asked.stderr


def test_one_command_of_each_family_works(installed: Installed) -> None:
    wrong = {}
    for words, codes in COMMANDS.items():
        done = installed.run(words)
        if done.returncode not in codes or "Traceback" in done.stderr or "reads the clone" in done.stdout + done.stderr:
            wrong[words] = (done.returncode, done.stderr[-2000:], done.stdout[-500:])
    assert not wrong
    for kind in ("scenarios", "controllers"):
        listed = json.loads(installed.run(f"list {kind} --json").stdout)[kind]
        assert all(Path(row["file"]).is_relative_to(installed.python.parents[1]) for row in listed)
    assert {"bulk", "cloud-gaming", "conference", "live", "published"} <= {row["name"] for row in listed}
    # The verification's suggested command works.
    assert "unsatisfiable" in _check_certificate(installed)


@pytest.mark.parametrize("is_cached", [False, True])
def test_the_action_installs_a_wheel_and_audits_with_it(wheel: Path, tmp_path: Path, is_cached: bool) -> None:
    # pip finds the dependencies as installed, and does not see fairweir's editable installation next to them.
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_IGNORE_INSTALLED": "1", "PYTHONPATH": str(DEPENDENCIES)}
    (tmp_path / "runner").mkdir()
    (tmp_path / "workspace").mkdir()
    runner = Runner(tmp_path / "runner", tmp_path / "workspace", env=offline)
    given = {"controllers": "reno", "args": "--quick --only finite-flows --seeds 2"}
    if is_cached:
        cache = runner.folder / "fairweir" / "wheel"
        cache.mkdir(parents=True)
        shutil.copy(wheel, cache)
    else:
        given["fairweir"] = str(wheel)
    assert runner.run(**given) in VERDICT, runner.log
    others = {"actions/setup-python", "actions/upload-artifact"}
    assert runner.used.keys() == (others | {"actions/cache"} if is_cached else others)
    if is_cached:
        assert runner.used["actions/cache"]["path"] == str(cache)
        assert re.fullmatch(r"fairweir-Linux-X64-[0-9a-f]{32}", runner.used["actions/cache"]["key"])
    assert runner.summary.startswith("# Audit of reno\n")
    command = runner.folder / "fairweir" / "bin" / "fairweir"
    assert runner.path().startswith(f"{command.parent}{os.pathsep}")
    asked = "import fairweir; print(fairweir.__file__)"
    python = command.resolve().with_name("python")
    found = subprocess.run([str(python), "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.stdout.startswith(str(runner.folder))


def _check_certificate(installed: Installed) -> str:
    done = installed.run("verify cc_qdel --property queue<=100 --points 4 --given queue<=2 --certificate --out proofs")
    line = next(line for line in done.stdout.splitlines() if "check it with: " in line)
    program, *words = shlex.split(line.partition("check it with: ")[2])
    assert program == "python"
    again = subprocess.run(
        [str(installed.python), *words], cwd=installed.work, capture_output=True, text=True, check=False
    )
    return again.stdout + again.stderr
