"""Every option has its effect: a doubled quantity is received doubled; options without effect are rejected."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import EnumType
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import typer

from fairweir.cli.commands import COMMANDS
from fairweir.cli.main import app, main
from fairweir.cli.modes import RULES
from fairweir.formal.lemmas.suites import SUITES, Suite
from fairweir.scenario.model import Scenario
from fairweir.units import Duration

KERNEL_RUNS = Path(__file__).parents[2] / "scenarios/agree/kernel-runs/design-2.jsonl"
SCENARIO = """
duration = "1s"
link.bottleneck = { rate = "12Mbps", buffer = "1bdp" }
flow = [{ cca = "reno", rtprop = "20ms" }, { cca = "reno", rtprop = "20ms" }]
"""


def commands() -> dict[str, Any]:
    """Return every command of the program, as typed."""
    found: dict[str, Any] = {}
    for name in COMMANDS:
        program: Any = typer.main.get_command(app([name]))
        command = program.commands[name]
        found |= (
            {f"{name} {k}": v for k, v in command.commands.items()} if hasattr(command, "commands") else {name: command}
        )
    return found


def options(command: Any) -> Iterator[tuple[str, Any]]:
    """Return the parameters of a command by name: ``--flows``, or an argument's name."""
    for parameter in command.params:
        if parameter.name != "help":
            is_option = parameter.param_type_name == "option"
            yield max(parameter.opts, key=len) if is_option else parameter.name.upper(), parameter


# ---------------------------------------------------------------------------------------------------------------------


class StopError(BaseException):
    """Raised in place of the function in which a command's work begins."""


Reader = Callable[[Any], float]


@dataclass(frozen=True)
class Effect:
    """How to test an option that is a quantity: by doubling the quantity.

    Attributes
    ----------
    call : the words of the command; {} stands for the value
    value, double : the value and its double, as texts
    where : the function in which the command's work begins; empty if the command runs to its end and prints JSON
    read : function that returns the quantity from the arguments of `where`, (args, keywords), or from the document
    """

    call: str
    value: str
    double: str
    where: str
    read: Reader


def stalling(call: Any) -> list[dict[str, Any]]:
    """Return the points of the delay with which hosts stall."""
    points: list[dict[str, Any]] = first_scenario(call)["flows"][0]["egress"][-1]["points"]
    return points


def first_scenario(caught: Any) -> dict[str, Any]:
    """Return the configuration of the first run, in base units, as passed to Rust."""
    args, keywords = caught
    runs = next(list(a) for a in (*args, *keywords.values()) if isinstance(a, (list, tuple)) or hasattr(a, "__next__"))
    run = runs[0]
    run = getattr(run, "scenario", run)
    return (Scenario.from_dict(run) if isinstance(run, dict) else run).resolve()


def runs_of(caught: Any) -> list[Any]:
    args, keywords = caught
    return next(list(a) for a in (*args, *keywords.values()) if isinstance(a, (list, tuple)) or hasattr(a, "__next__"))


def rate(caught: Any) -> float:
    link = first_scenario(caught)["links"][0]["hop"]["link"]
    return float(link["rate"])


def rtprop(caught: Any) -> float:
    return float(first_scenario(caught)["flows"][0]["rtprop"])


def duration(caught: Any) -> float:
    return float(first_scenario(caught)["duration"])


def buffer(caught: Any) -> float:
    return float(first_scenario(caught)["links"][0]["hop"]["queue"]["limit"])


def count(caught: Any) -> float:
    return float(len(runs_of(caught)))


def argument(position: int, attribute: str = "", unit: str = "") -> Reader:
    """Return a reader of an attribute of the function's argument, in a unit."""

    def read(caught: Any) -> float:
        found = caught[0][position]
        found = getattr(found, attribute) if attribute else found
        return float(getattr(found, unit) if unit else found)

    return read


def keyword(name: str, attribute: str = "") -> Reader:
    def read(caught: Any) -> float:
        found = caught[1][name]
        return float(getattr(found, attribute) if attribute else found)

    return read


def field(*keys: str | int) -> Reader:
    """Return a reader of a key of the JSON document."""

    def read(document: Any) -> float:
        for key in keys:
            document = document[key]
        return float(document)

    return read


def word_after(option: str) -> Reader:
    """Return a reader of a rate that is passed to another program."""
    from fairweir.units import Rate

    def read(caught: Any) -> float:
        words = caught[0][1]
        return Rate.parse(words[words.index(option) + 1]).mbps

    return read


def contract(option: str, value: str, double: str, read: Reader) -> Effect:
    small = {"--capacities": "12Mbps", "--flows": "2", "--rtprops": "20ms", "--duration": "6s", "--seeds": "1"}
    words = " ".join(f"{key} {'{}' if key == option else text}" for key, text in small.items())
    call = f"contract derive vegas {words}" if option in small else f"contract derive vegas {words} {option} {{}}"
    return Effect(call, value, double, "fairweir.contracts.cached_runs.map_jobs", read)


REQUIREMENTS = "noise=1ms slowest=2Mbps fastest=100Mbps max_qdelay=50ms"


def requirement(key: str, value: str, double: str, name: str) -> Effect:
    words = " ".join(w for w in REQUIREMENTS.split() if not w.startswith(f"{key}="))
    return Effect(f"contract design {words} {key}={{}} --json", value, double, "", field("requirements", name))


OPEN = "fairweir.contracts.open_loop.play_all"


def held_ms(caught: Any) -> float:
    return float(first_scenario(caught)["flows"][0]["egress"][0]["points"][1]["delay"])


def held_loss(caught: Any) -> float:
    return float(first_scenario(caught)["flows"][0]["ingress"][0]["per_billion"])


STARVE = "fairweir.starvation.construction.play_all"
QUESTION = "fairweir.cli.starve.construct"
FLUID = "fairweir.fluid.packets.play_all"
FLUID_CALL = "fluid wcc_ai --packets sim --wbar 10 --seeds 1"
EVALUATE = "fairweir.guard.evaluate.map_jobs"
LEARN = "fairweir.guard.training.train"
QUESTIONS = "fairweir.guard.examination.questions"
EXAMINE = "fairweir.guard.examination.examine"
AIMD = "fairweir.formal.lemmas.aimd.run"
SYNTH = "fairweir.synth.cegis.search"
VERIFY = "fairweir.formal.verdicts.verify.verify"

EFFECTS: dict[str, dict[str, Effect]] = {
    "contract derive": {
        "--capacities": contract("--capacities", "12Mbps", "24Mbps", rate),
        "--flows": contract("--flows", "2", "4", lambda c: float(len(first_scenario(c)["flows"]))),
        "--rtprops": contract("--rtprops", "20ms", "40ms", rtprop),
        "--buffer": contract("--buffer", "2bdp", "4bdp", buffer),
        "--duration": contract("--duration", "6s", "12s", duration),
    },
    "contract open-loop": {
        "--held": Effect("contract open-loop vegas --held qdelay={}..300ms", "10ms", "20ms", OPEN, held_ms),
        "--held loss": Effect("contract open-loop reno --held loss={}..5%", "0.1%", "0.2%", OPEN, held_loss),
    },
    "contract design": {
        "noise": requirement("noise", "1ms", "2ms", "noise_ms"),
        "slowest": requirement("slowest", "1Mbps", "2Mbps", "slowest_mbps"),
        "fastest": requirement("fastest", "100Mbps", "200Mbps", "fastest_mbps"),
        "max_qdelay": requirement("max_qdelay", "50ms", "100ms", "max_qdelay_ms"),
        "min_qdelay": requirement("min_qdelay", "1ms", "2ms", "min_qdelay_ms"),
        "hops": requirement("hops", "3", "6", "hops"),
        "flows": requirement("flows", "3", "6", "flows"),
        "error": requirement("error", "1.2", "2.4", "error"),
        "unfairness": requirement("unfairness", "3", "6", "unfairness"),
        "growth": requirement("growth", "3", "6", "growth"),
    },
    "starve": {
        "--ratio": Effect("starve vegas --ratio {}", "5", "10", QUESTION, argument(0, "ratio")),
        "--jitter": Effect("starve vegas --jitter {}", "1ms", "2ms", QUESTION, lambda c: c[0][0].d.ms),
        "--rate-range": Effect("starve vegas --rate-range 1Mbps..{}", "2Mbit/s", "4Mbps", QUESTION,
                               argument(0, "highest", "mbps")),
        "--rate-range low": Effect("starve vegas --rate-range {}..1Gbps", "1Mbps", "2Mbps", QUESTION,
                                   argument(0, "lowest", "mbps")),
        "--rtprop": Effect("starve vegas --rtprop {} --rate-range 8Mbps..9Mbps", "20ms", "40ms", STARVE, rtprop),
    },
    "fluid": {
        "--weights": Effect("fluid wcc_ai --wbar 5 --weights {},1 --json", "2", "4", "", field("weights", 0)),
        "--wbar": Effect("fluid wcc_ai --wbar {} --json", "5", "10", "", field("points", 0, "wbar")),
        "--psi": Effect("fluid wcc_ai --wbar 5 --psi {} --json", "1", "2", "", field("psi")),
        "--noise": Effect(f"{FLUID_CALL} --noise {{}}", "1", "2", FLUID,
                          lambda c: float(first_scenario(c)["flows"][0]["reverse"][0]["max"])),
        "--seeds": Effect("fluid wcc_ai --packets sim --wbar 10 --noise 1 --seeds {}", "1", "2", FLUID, count),
        "--runs": Effect("fluid wcc_ai --packets kernel --wbar 10 --runs {}", "1", "2", FLUID, count),
    },
    "tradeoff": {
        "--from": Effect("tradeoff 5 --from {} --json", "1Mbps", "2Mbps", "", field("from_pkts")),
        "--to": Effect("tradeoff 5 --to {} --json", "50Mbps", "100Mbps", "", field("to_pkts")),
        "--rtprop": Effect("tradeoff 5 --rtprop {} --json", "40ms", "80ms", "", field("to_pkts")),
        "--buffer": Effect("tradeoff 5 --buffer {} --json", "10ms", "20ms", "", field("buffer_r")),
        "--packet": Effect("tradeoff 5 --packet {} --json", "1500B", "750B", "", field("to_pkts")),
    },
    "run": {
        "--interval": Effect("run {file} --interval {} --out {tmp}/out", "10ms", "20ms", "fairweir.play.sim.play",
                             lambda c: float(c[0][0]["interval"])),
        "--set": Effect("run {file} --set link.bottleneck.rate={}", "12Mbps", "24Mbit", "fairweir.play.sim.play",
                        lambda c: float(c[0][0]["links"][0]["hop"]["link"]["rate"])),
    },
    "compare": {
        "--seeds": Effect("compare {file} {file} --seeds {} --page {tmp}/x.html", "2", "4",
                          "fairweir.cli.compare.course_of", lambda c: float(len(c[0][0]))),
        "--set": Effect("compare {file} {file} --set link.bottleneck.rate={} --page {tmp}/x.html", "12Mbps", "24Mbps",
                        "fairweir.play.sim.play", lambda c: float(c[0][0]["links"][0]["hop"]["link"]["rate"])),
    },
    "sweep": {
        "--grid": Effect("sweep {file} --grid link.bottleneck.rate={} --out {tmp}/out", "12Mbps", "24Mbps",
                         "fairweir.play.sweep.map_jobs", rate),
        "--set": Effect("sweep {file} --grid seed=1..2 --set duration={} --out {tmp}/out", "1s", "2s",
                        "fairweir.play.sweep.map_jobs", duration),
        "--timeout": Effect("sweep {file} --grid seed=1..2 --timeout {} --out {tmp}/out", "1", "2",
                            "fairweir.play.sweep.map_jobs", keyword("timeout_s")),
    },
    "agree": {
        "--cells": Effect("agree --cells {} --runs 1", "2", "4", "fairweir.agree.matrix.play_all",
                          lambda c: float(sum(task.world == "kernel" for task in runs_of(c)))),
        "--runs": Effect("agree --ccas reno --scenarios {tmp} --quick --runs {}", "3", "6",
                         "fairweir.agree.matrix.play_all",
                         lambda c: float(sum(task.world == "kernel" for task in runs_of(c)))),
        "--stall": Effect(f"agree --cells 67 --design-seed 2 --kernel-runs {KERNEL_RUNS} --stall {{}}", "10ms", "20ms",
                          "fairweir.agree.matrix.play_all",
                          lambda c: float(stalling(c)[2]["delay"] - stalling(c)[1]["delay"])),
    },
    "audit": {
        "--seeds": Effect("audit vegas --only ideal --seeds {} --out {tmp}/out", "2", "4",
                          "fairweir.cli.audit.run_audit", keyword("seeds")),
    },
    "conform": {
        "--seeds": Effect("conform cubic --to reno --quick --seeds {} --out {tmp}/out", "3", "6",
                          "fairweir.conform.runner.play_all", count),
    },
    "guard run": {
        "--rate": Effect("guard run -i lo --policy cap --rate {}", "10Mbps", "20Mbps", "os.execv",
                         word_after("--rate")),
    },
    "guard compare": {
        "--set": Effect("guard compare {file} --config x.toml --set duration={}", "1s", "2s",
                        "fairweir.guard.compare.compare", lambda c: float(c[0][0].resolve()["duration"])),
    },
    "guard evaluate": {
        "--configurations": Effect("guard evaluate services -n {} --out {tmp}/out", "2", "4", EVALUATE, count),
        "--duration": Effect("guard evaluate services -n 1 --duration {} --out {tmp}/out", "10s", "20s", EVALUATE,
                             duration),
    },
    "guard train": {
        "--runs": Effect("guard train --model combined --out x --runs {}", "10", "20", LEARN, argument(0, "runs")),
        "--rows": Effect("guard train --model combined --out x --rows {}", "10", "20", LEARN, argument(0, "rows")),
        "--duration": Effect("guard train --model combined --out x --duration {}", "10s", "20s", LEARN,
                             lambda c: float(c[0][0].planned_runs[0].scenario.resolve()["duration"])),
        "--rounds": Effect("guard train --model combined --out x --rounds {}", "1", "2", LEARN, argument(0, "rounds")),
        "--iterations": Effect("guard train --model combined --out x --iterations {}", "8", "16", LEARN,
                               lambda c: float(c[0][0].shape.iterations)),
        "--leaves": Effect("guard train --model combined --out x --leaves {}", "4", "8", LEARN,
                           lambda c: float(c[0][0].shape.leaves)),
    },
    "guard examine": {
        "--runs": Effect("guard examine {forest} --runs {}", "5", "10", QUESTIONS, argument(1)),
        "--rows": Effect("guard examine {forest} --rows {}", "10", "20", EXAMINE, argument(2)),
        "--duration": Effect("guard examine {forest} --duration {}", "10s", "20s", EXAMINE,
                             lambda c: float(c[0][1][0].scenario.resolve()["duration"])),
    },
    "prove": {
        "--points": Effect("prove aimd --points {}", "4", "8", AIMD, argument(0, "points")),
        "--budget": Effect("prove aimd --budget {}", "4", "8", AIMD, argument(0, "budget_s")),
    },
    "synth": {
        "--budget": Effect("synth {query} --budget {} --out {tmp}/out", "4", "8", SYNTH,
                           lambda c: c[1]["budget"].cpu_s),
    },
    "verify": {
        "--points": Effect("verify aimd --points {}", "4", "8", VERIFY, lambda c: float(c[0][0].grid.points)),
        "--per-r": Effect("verify aimd --per-r {}", "1", "2", VERIFY, lambda c: float(c[0][0].grid.per_r)),
        "--jitter": Effect("verify aimd --jitter {}", "1", "2", VERIFY, lambda c: float(c[0][0].grid.jitter)),
        "--flows": Effect("verify aimd --flows {}", "1", "2", VERIFY, lambda c: float(c[0][0].flows)),
        "--budget": Effect("verify aimd --budget {}", "1", "2", VERIFY, lambda c: c[0][1].cpu_s),
        "--property": Effect("verify aimd --property utilization>={}", "0.25", "0.5", VERIFY,
                             lambda c: float(c[0][0].claim.bound)),
        "--given": Effect("verify cc_qdel --given C_L>={}", "0.25", "0.5", VERIFY,
                          lambda c: float(Fraction(c[0][0].given[0].written.partition(">=")[2].strip()))),
    },
    "video evaluate": {
        "--seeds": Effect("video evaluate fixed --out {tmp}/out --seeds {}", "2", "4",
                          "fairweir.cli.video_evaluate.run_all", lambda c: float(c[1]["seeds"])),
        "--duration": Effect("video evaluate fixed --out {tmp}/out --duration {}", "10s", "20s",
                             "fairweir.cli.video_evaluate.run_all", lambda c: Duration.parse(c[0][0][0].duration).s),
    },
    "video run": {
        "--duration": Effect("video run fixed --duration {}", "10s", "20s", "fairweir.cli.video_run.play",
                             lambda c: Duration.parse(c[0][0].duration).s),
    },
    "video live": {
        "--duration": Effect("video live fixed --duration {}", "10s", "20s", "fairweir.video.live_session.compare",
                             lambda c: Duration.parse(c[0][0].duration).s),
    },
    "video tables": {
        "--frames": Effect("video tables screen-x264 --out {tmp}/out --frames {}", "2", "4",
                           "fairweir.video.measuring.map_jobs", lambda c: float(c[0][1][0].frames)),
    },
}  # fmt: skip

#: Options that are not quantities: actions, subjects, destinations, output formats.
OTHERS = {
    "agree": "--worlds --ccas --scenarios --quick --design-seed --kernel-runs --other-kernel-runs"
             " --out --workers --cluster --json",
    "audit": "CCAS --all --page --on --quick --deep --only --out --against --baseline --save-baseline --save-known"
             " --workers --cluster --json",
    "compare": "SIDES --on --page --json",
    "conform": "CCAS --to --table --kernel --quick --scenarios --out --workers --cluster --json",
    "contract derive": "CCAS --set --seeds --seed --ecn --oracle --plot --out --workers --cluster --json",
    "contract design": "REQUIREMENTS --scenario --json",
    "contract open-loop": "CCAS --set --plot --out --workers --cluster --json",
    "contract table": "--json",
    "doctor": "--clean --json",
    "explain": "CAPTURE --flow --json --plot --report",
    "fluid": "SCHEME --packets --plot --out --workers --cluster --json",
    "guard compare": "SCENARIO --config --seed --log --plot --json",
    "guard evaluate": "CHALLENGES --policy --on --seed --out --plot --list --workers --cluster --json",
    "guard examine": "FOREST --on --data --seed --workers --cluster --json",
    "guard explain": "FLOW --interface --json",
    "guard replay": "CAPTURE --config --local --flow --json",
    "guard run": "--interface --policy --config --hosts --dns --clamp --dry-run --log --metrics --metrics-listen"
                 " --json",
    "guard status": "--interface --json",
    "guard train": "--model --out --unseen --on --leaky-features --data --seed --workers --cluster --json",
    "kernel list": "--json",
    "kernel load": "NAME --name --set --default --json",
    "kernel params": "NAME --set --json",
    "kernel unload": "NAME --force --json",
    "list": "KINDS --json",
    "new cca": "NAME --c --dir --json",
    "new model": "NAME --dir --json",
    "new plugin": "NAME --lang --kind --dir --json",
    "prove": "SUITE --list --model --search --certificate --out --workers --cluster --json",
    "reproduce": "IDS --all --quick --on --list --index --experiments --plot --page --out --workers --cluster --json",
    "rule": "NAME --as --json",
    "run": "SCENARIO --on --seed --out --packets --pcap --qlog --pcap-at --plot --mode --traffic --record --cost"
    " --json",
    "starve": "CCA --out --plot --workers --cluster --check --replay --json",
    "studio": "SCENARIO --port --host --allow-remote --open",
    "sweep": "SCENARIO --on --seed --out --workers --cluster --json",
    "synth": "QUERY --set --out --workers --cluster --solver --every-member --json",
    "tradeoff": "ALLOWANCES --json",
    "verify": "CCA --model --buffer --beliefs --timeouts --solver --both --certificate --out --write --list --json",
    "video evaluate": "SCENARIOS --trace --sender --encoder --out --workers --json",
    "video live": "SCENARIO --sender --trace --encoder --seed --json",
    "video run": "SCENARIO --sender --trace --encoder --seed --explain --report --json",
    "video tables": "NAMES --out --seed --workers --json",
}  # fmt: skip


def test_every_option_is_a_quantity_with_a_test_or_known_to_be_none() -> None:
    """Add a new option to `EFFECTS` if it is a rate, a time, a size or a count, else to `OTHERS`."""
    for name, command in commands().items():
        quantities = {option.partition(" ")[0] for option in EFFECTS.get(name, {}) if option.startswith("--")}
        others = set(OTHERS[name].split())
        assert quantities | others == {option for option, _ in options(command)}, name
        assert not quantities & others, name


CASES = [(f"{name} {option}", effect) for name, several in EFFECTS.items() for option, effect in several.items()]


@pytest.mark.parametrize("effect", [effect for _, effect in CASES], ids=[name for name, _ in CASES])
def test_doubling_an_option_doubles_what_the_record_says(
    effect: Effect, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file.toml").write_text(SCENARIO, encoding="utf-8")
    forest = {"trained_on": {"mix": "combined", "runs": 10, "duration_s": 10.0, "seed": 1}}
    (tmp_path / "forest.json").write_text(json.dumps(forest), encoding="utf-8")
    places = {"file": tmp_path / "file.toml", "tmp": tmp_path, "forest": tmp_path / "forest.json"}
    places["query"] = Path(__file__).parents[2] / "queries/g1-4.toml"
    caught: list[Any] = []

    def stop(*args: Any, **keywords: Any) -> None:
        caught.append((args, keywords))
        raise StopError

    for quiet in ("fairweir.contracts.cached_runs._try", "fairweir.play.kernel.need_root"):
        monkeypatch.setattr(quiet, lambda *args: None)
    monkeypatch.setattr("fairweir.cli.guard.find_daemon", lambda: "fairweir-guard")
    monkeypatch.setattr("fairweir.guard.examination.read", lambda path: json.loads(path.read_text(encoding="utf-8")))
    if effect.where:
        monkeypatch.setattr(effect.where, stop)

    def seen(value: str) -> float:
        call = effect.call
        for name, place in places.items():
            call = call.replace("{" + name + "}", str(place))
        words = call.replace("{}", value).split()
        if not effect.where:
            assert main(words) in (0, 1), capsys.readouterr().err
            return effect.read(json.loads(capsys.readouterr().out))
        with pytest.raises(StopError):
            raise AssertionError(f"{words} ended: {main(words)}, {capsys.readouterr().err}")
        return effect.read(caught.pop())

    monkeypatch.chdir(tmp_path)
    once = seen(effect.value)
    assert once > 0
    assert seen(effect.double) == pytest.approx(2 * once, rel=1e-6)


# ---------------------------------------------------------------------------------------------------------------------

#: Command and rule -> an example of a call.
KINDS = {
    ("agree", "with --cluster"): "--cluster tcp://localhost:1",
    ("audit", "with --cluster"): "reno --cluster tcp://localhost:1",
    ("conform", "with --cluster"): "cubic --to reno --cluster tcp://localhost:1",
    ("contract derive", "with --cluster"): "vegas --cluster tcp://localhost:1",
    ("contract open-loop", "with --cluster"): "vegas --cluster tcp://localhost:1",
    ("fluid", "with --cluster"): "wcc_ai --packets sim --cluster tcp://localhost:1",
    ("guard evaluate", "with --cluster"): "--cluster tcp://localhost:1",
    ("guard examine", "with --cluster"): "x.json --cluster tcp://localhost:1",
    ("guard train", "with --cluster"): "--model combined --out x --cluster tcp://localhost:1",
    ("reproduce", "with --cluster"): "--cluster tcp://localhost:1",
    ("starve", "with --cluster"): "vegas --cluster tcp://localhost:1",
    ("guard train", "with --on kernel"): "--model combined --out x --on kernel --rounds 0",
    ("agree", "with --worlds sim,quic"): "--worlds sim,quic",
    ("agree", "with --other-kernel-runs"): "--kernel-runs x --other-kernel-runs y",
    ("agree", "with --cells"): "--cells 2",
    ("agree", "without --cells"): "",
    ("compare", "of audits"): "one.json two.json",
    ("contract open-loop", "of functions alone"): f"{Path(__file__).parent / 'actions.py'}:action",
    ("audit", "for searches alone"): "reno --only contract",
    ("audit", "with --all"): "--all",
    ("audit", "without --all"): "reno",
    ("fluid", "without --packets"): "wcc_ai",
    ("fluid", "with --packets sim"): "wcc_ai --packets sim",
    ("fluid", "with --packets kernel"): "wcc_ai --packets kernel",
    ("guard evaluate", "with --list"): "--list",
    ("guard evaluate", "with --on kernel"): "--on kernel",
    ("guard examine", "with --on kernel"): "x.json --on kernel",
    ("guard run", "without --policy cap"): "-i lo",
    ("guard run", "with --config"): "-i lo --config x.toml",
    ("prove", "with --cluster"): "aimd --cluster tcp://localhost:1",
    ("prove", "with --list"): "--list",
    ("reproduce", "with --index"): "--index",
    ("reproduce", "with --list"): "--list",
    ("reproduce", "with --on kernel"): "--on kernel",
    ("reproduce", "with --on both"): "--on both",
    ("rule", "with --json"): "cc_qdel --json",
    ("run", "without --on kernel"): "x.toml",
    ("run", "with --on kernel"): "x.toml --on kernel --out out",
    ("run", "with --on quic"): "x.toml --on quic --out out",
    ("run", "without --pcap"): "x.toml",
    ("run", "without --out, --plot or --qlog"): "x.toml",
    ("run", "with a stored record"): f"{Path(__file__).parent / 'record'}",
    ("starve", "with --check"): "--check x.parquet",
    ("starve", "without --check"): "vegas",
    ("sweep", "with --cluster"): "x.toml --cluster tcp://localhost:1",
    ("synth", "with --cluster"): "g1-4 --cluster tcp://localhost:1",
    ("synth", "for a query of the game"): "conference",
    ("verify", "with --list"): "--list",
    ("verify", "of a controller"): "x.json",
    ("verify", "with --model ideal"): "aimd --model ideal",
    ("verify", "with one --solver"): "aimd --solver z3",
    ("verify", "without a controller"): "aimd",
}


def example(parameter: Any) -> list[str]:
    """Return a valid value of an option."""
    if getattr(parameter, "is_flag", False):
        return []
    kind = parameter.type_descriptor.annotation
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    if get_origin(kind) is Literal:
        return [get_args(kind)[0]]
    return [next(iter(kind)).value] if isinstance(kind, EnumType) else ["20"]


IGNORED = [
    pytest.param(name, rule, option, parameter, id=f"{name} {rule.words}: {option}")
    for name, command in commands().items()
    for rule in RULES.get(name, ())
    for option, parameter in options(command)
    if rule.ignores(parameter.name)
]


@pytest.mark.parametrize(("name", "rule", "option", "parameter"), IGNORED)
def test_an_option_that_the_call_would_ignore_is_rejected(
    name: str, rule: Any, option: str, parameter: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [option, *example(parameter)] if option.startswith("--") else ["cubic"]
    assert main([*name.split(), *KINDS[name, rule.words].split(), *words]) == 2
    said = capsys.readouterr()
    assert "has no effect" in said.err
    assert option in said.err
    assert not said.out


def test_rules_are_of_commands_and_parameters_that_there_are() -> None:
    assert {(name, rule.words) for name, rules in RULES.items() for rule in rules} == set(KINDS)
    for name, rules in RULES.items():
        known = {parameter.name for parameter in commands()[name].params}
        for rule in rules:
            assert (rule.takes or frozenset()) | rule.refuses <= known, (name, rule.words)


def functions() -> Iterator[tuple[str, Any]]:
    """Return the functions of all commands, by the words of the command."""
    for name, place in COMMANDS.items():
        module, _, attribute = place.partition(":")
        found = getattr(importlib.import_module(module), attribute)
        if isinstance(found, typer.Typer):
            yield from ((f"{name} {one.name}", one.callback) for one in found.registered_commands)
        else:
            yield name, found


@pytest.mark.parametrize(("name", "function"), [pytest.param(*one, id=one[0]) for one in functions()])
def test_an_option_that_is_not_read_before_a_command_returns_is_rejected_there(name: str, function: Any) -> None:
    """The code before a command's first return reads some options; a rule must reject all others in such a call."""

    def names(*nodes: ast.AST) -> set[str]:
        return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}

    (definition,) = ast.parse(inspect.getsource(function)).body
    assert isinstance(definition, ast.FunctionDef)
    body, given = definition.body, {one.arg for one in definition.args.args + definition.args.kwonlyargs}
    assert given <= names(*body)
    for i, statement in enumerate(body):
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Return):
            unread = given - names(*body[:i], statement.test, *statement.body)
            assert not unread or any(all(map(rule.ignores, unread)) for rule in RULES.get(name, ())), unread


@pytest.mark.parametrize("words", [["--seed", "3"], ["--set", "seed=3"]])
def test_a_value_that_an_axis_overrides_is_rejected(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.toml"
    path.write_text(f"{SCENARIO}\n[sweep]\nseed = [1, 2]\n", encoding="utf-8")
    assert main(["sweep", str(path), *words]) == 2
    assert "has no effect on `seed`" in capsys.readouterr().err


SUITE_OPTIONS = {"points": ["--points", "4"], "search": ["--search"], "certificate": ["--certificate"]}


@pytest.mark.parametrize("suite", SUITES.values(), ids=list(SUITES))
def test_a_suite_that_does_not_read_an_option_refuses_it(suite: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    source = inspect.getsource(importlib.import_module(suite.where.partition(":")[0]))
    for name, words in SUITE_OPTIONS.items():
        answers_by_inquiry = name == "certificate" and "answer_all(" in source
        assert (f"request.{name}" in source or answers_by_inquiry) == (name in suite.reads), (suite.name, name)
        if name not in suite.reads:
            assert main(["prove", suite.name, *words]) == 2
            assert f"{words[0]} has no effect" in capsys.readouterr().err
