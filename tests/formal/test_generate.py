"""Kernel C generated from rules makes the rule's decisions, runs in the simulator, and compiles for BPF."""

from __future__ import annotations

import ctypes
import json
import random
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from fairweir.audit.jobs import whole_path
from fairweir.ccas.beliefs import CBR_DELAY, CCAC, FAMILIES, BeliefFamily
from fairweir.ccas.generate import controller, decision, decision_header, write_controller
from fairweir.ccas.rule import RULES, Rule, find_rule
from fairweir.cli.main import main
from fairweir.errors import ConfigError
from fairweir.play.run import run
from fairweir.scenario.model import Scenario

BPF = Path(__file__).parents[2] / "bpf"
FILES = sorted(RULES.glob("*.toml"))

#: C that builds a decision's arguments from numbers: beliefs, then R in us, MSS and alpha R in bytes.
WRAPPERS = {
    CCAC: """
u64 decide_{name}(u64 c_l, u64 c_u, u32 qdel_l_us, u32 rtprop_us, u32 mss, u64 alpha_bytes)
{{
	struct beliefs b = {{.c_l = c_l, .c_u = c_u, .qdel_l_us = qdel_l_us, .rtprop_us = rtprop_us}};
	(void)alpha_bytes;
	return {name}_rate(&b, mss);
}}
""",
    CBR_DELAY: """
u64 decide_{name}(u64 c_l_lambda, u64 q_u, u32 unused, u32 rtprop_us, u32 mss, u64 alpha_bytes)
{{
	struct probing s = {{.rate = c_l_lambda, .queue = q_u, .rtprop_us = rtprop_us}};
	(void)unused;
	return {name}_rate(&s, alpha_bytes, mss);
}}
""",
}


def random_rule(rng: random.Random, name: str, family: BeliefFamily) -> Rule:
    """Draw a rule of the template: up to four branches, with conditions on rates, times or data."""
    ccac = family is CCAC
    rates = ["C_L", "C_U", "alpha"] if ccac else ["C_L_lambda", "q_U/R", "alpha"]
    others = [["qdel_L", "R"]] if ccac else [["q_U", "MSS", "C_L_lambda R"]]

    def form(names: list[str]) -> str:
        factors = [Fraction(rng.randint(-12, 12), rng.choice([1, 2, 3, 4])) for _ in names]
        return " + ".join(f"{f} {n}" for f, n in zip(factors, names, strict=True)).replace("+ -", "- ")

    def branch(is_last: bool) -> dict[str, object]:
        conditions = [
            f"{form(rng.choice([rates, *others]))} {rng.choice(['>', '>=', '<', '<='])} 0"
            for _ in range(rng.randint(1, 2))
        ]
        return {"rate": form(rates)} if is_last else {"when": conditions, "rate": form(rates)}

    branches = [branch(False) for _ in range(rng.randint(0, 3))] + [branch(True)]
    return Rule.from_dict({"name": name, "beliefs": family.name, "branch": branches})


@pytest.fixture(scope="module")
def deciders(tmp_path_factory: pytest.TempPathFactory) -> dict[Rule, Callable[..., int]]:
    """Return the compiled decision of the repository's rules and of random ones."""
    rng = random.Random(7)  # noqa: S311
    rules = [Rule.load(file) for file in FILES]
    rules += [random_rule(rng, f"drawn_{i}", rng.choice(list(FAMILIES.values()))) for i in range(60)]
    folder = tmp_path_factory.mktemp("rules")
    source = folder / "rules.c"
    texts = [decision(rule) + WRAPPERS[rule.beliefs].format(name=rule.name) for rule in rules if rule.name != "cc_qdel"]
    texts += [WRAPPERS[rule.beliefs].format(name=rule.name) for rule in rules if rule.name == "cc_qdel"]
    source.write_text("\n".join(['#include "probes.h"\n#include "rule.h"', *texts]), encoding="utf-8")
    compiler = shutil.which("cc") or "gcc"
    flags = ["-std=gnu11", "-O1", "-fPIC", "-shared", "-fwrapv", "-fsanitize=undefined", "-fno-sanitize-recover"]
    library = folder / "rules.so"
    subprocess.run(
        [compiler, *flags, "-Wall", "-Werror", "-I", BPF, "-I", BPF / "compat", source, "-o", library], check=True
    )
    loaded = ctypes.CDLL(str(library))
    functions = {}
    for rule in rules:
        function = getattr(loaded, f"decide_{rule.name}")
        function.argtypes = [ctypes.c_uint64, ctypes.c_uint64, *[ctypes.c_uint32] * 3, ctypes.c_uint64]
        function.restype = ctypes.c_uint64
        functions[rule] = function
    return functions


def test_the_c_decides_as_the_rule_does_to_the_byte(deciders: dict[Rule, Callable[..., int]]) -> None:
    """R and data are chosen so that data / R is an integer in bytes/s; then only the rate is rounded."""
    rng = random.Random(11)  # noqa: S311
    branches_taken = set()
    for rule, decide in deciders.items():
        for _ in range(300):
            rtprop_us = rng.choice([10_000, 20_000, 50_000, 100_000, 1_000_000])
            mss = rng.choice([1, 2, 14, 15, 72]) * 100
            rate = 100 * rng.randrange(1, 10 ** rng.randint(2, 9))
            alpha = Fraction(mss * 1_000_000, rtprop_us)
            if rule.beliefs is CCAC:
                second = rng.choice([rate, 2 * rate, 3 * rate // 2, 100 * rng.randrange(1, 10**9)])
                qdel_l_us = rng.choice([0, 0, rtprop_us, rng.randrange(5_000_000)])
                beliefs = {"C_L": Fraction(rate), "C_U": Fraction(second), "qdel_L": Fraction(qdel_l_us)}
                # times are in us, and rates in bytes/s: a rate times R is not in this family's rules
                r = Fraction(rtprop_us)
            else:
                second, qdel_l_us = 100 * rng.randrange(0, 10 ** rng.randint(1, 8)), 0
                beliefs = {"C_L_lambda": Fraction(rate), "q_U": Fraction(second)}
                r = Fraction(rtprop_us, 1_000_000)
            expected = rule.decide({**beliefs, "alpha": alpha, "R": r})
            assert decide(rate, second, qdel_l_us, rtprop_us, mss, mss) == int(expected), rule.to_toml()
            branches_taken.add((rule.name, rule.branch_of({**beliefs, "alpha": alpha, "R": r})))
    assert {(rule.name, i) for rule in map(Rule.load, FILES) for i in range(len(rule.branches))} <= branches_taken


def test_unknown_values_are_above_everything(deciders: dict[Rule, Callable[..., int]]) -> None:
    fast = next(decide for rule, decide in deciders.items() if rule.name == "cc_probe_fast")
    assert fast(10**12, 2**64 - 1, 0, 40_000, 1448, 0) == 2 * 10**12


def test_alpha_is_the_users_but_the_minimum_rate_is_a_packet_in_r(deciders: dict[Rule, Callable[..., int]]) -> None:
    slow = next(decide for rule, decide in deciders.items() if rule.name == "cc_probe_slow")
    packet_rate = 1_000 * 1_000_000 // 40_000
    assert slow(10**6, 5_000, 0, 40_000, 1_000, 5_000) == 2 * 10**6 + 5 * packet_rate
    assert slow(10**6, 10**9, 0, 40_000, 1_000, 5_000) == packet_rate


def test_the_jitter_that_beliefs_allow_for_is_the_rules_own() -> None:
    assert 'P(d_fp, "d", CC_FIXED, CC_FP(2), ' in controller(Rule.load(find_rule("cc_probe_slow_3")))
    assert 'P(d_fp, "d", CC_FIXED, CC_FP(1), ' in controller(Rule.load(find_rule("cc_probe_slow")))


def test_coefficients_beyond_64_bits_are_rejected() -> None:
    huge = Rule.from_dict({"name": "huge", "beliefs": "ccac", "branch": [{"rate": "1/9973 C_L + 4 alpha"}]})
    with pytest.raises(ConfigError, match="coefficients are too large for 64-bit arithmetic: `1/9973 C_L"):
        controller(huge)


def test_one_source_the_algorithms_of_bpf_are_what_their_rules_become() -> None:
    rule = Rule.load(find_rule("cc_qdel"))
    assert (BPF / "cc_qdel.bpf.c").read_text(encoding="utf-8") == controller(rule)
    assert (BPF / "cc_qdel_rate.h").read_text(encoding="utf-8") == decision_header(rule)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_fits_and_clang_takes_it_for_the_kernel(file: Path, tmp_path: Path) -> None:
    text = controller(Rule.load(file))
    assert max(len(line.expandtabs(8)) for line in text.splitlines()) <= 120
    clang = shutil.which("clang")
    if clang is None or not Path("/usr/include/bpf/bpf_helpers.h").exists():
        pytest.skip("no clang or no libbpf headers")
    source = tmp_path / f"{file.stem}.bpf.c"
    source.write_text(text, encoding="utf-8")
    flags = ["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3"]
    subprocess.run([clang, *flags, "-I", BPF, "-c", source, "-o", tmp_path / "object.o"], check=True)


def link(cca: object, buffer: str) -> Scenario:
    flow = {"id": "flow", "cca": cca, "rtprop": "20ms", "jitter": {"kind": "random-aggregation", "max": "20ms"}}
    bottleneck = {"rate": "24Mbps", "buffer": buffer}
    return Scenario.from_dict({"duration": "20s", "warmup": "10s", "link": {"b": bottleneck}, "flow": [flow]})


def test_a_rule_file_is_a_controller_and_cc_qdels_is_cc_qdel() -> None:
    built_in = run(link("cc_qdel", "4bdp")).summary.document
    rule = run(link(str(RULES / "cc_qdel.toml"), "4bdp")).summary.document
    assert {k: v for k, v in rule["flows"][0].items() if k != "cca"} == {
        k: v for k, v in built_in["flows"][0].items() if k != "cca"
    }
    assert rule["links"] == built_in["links"]


def test_the_listings_cc_probe_slow_behaves_as_the_generalised_one_with_k_1() -> None:
    built_in = run(link("cc_probe_slow", "0.25bdp")).summary.document
    rule = run(link(str(RULES / "cc_probe_slow.toml"), "0.25bdp")).summary.document
    assert rule["links"][0]["utilization"] == pytest.approx(built_in["links"][0]["utilization"], rel=0.03)
    assert rule["flows"][0]["rtt_ms"]["mean"] == pytest.approx(built_in["flows"][0]["rtt_ms"]["mean"], rel=0.03)


def test_the_rules_parameters_are_reported_and_checked() -> None:
    cca = {"name": str(RULES / "cc_probe_slow.toml"), "alpha": 1, "d": 2.0}
    assert run(link(cca, "0.25bdp")).summary.document["flows"][0]["throughput_mbps"] > 1
    with pytest.raises(ConfigError, match="theta"):
        run(link({**cca, "theta": 1}, "0.25bdp"))


def test_the_file_is_named_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    slow, three = (Rule.load(find_rule(name)) for name in ("cc_probe_slow", "cc_probe_slow_3"))
    assert write_controller(slow) == write_controller(slow)
    assert write_controller(slow).parent != write_controller(three).parent
    assert write_controller(slow).name == "cc_probe_slow.bpf.c"
    assert not list(tmp_path.rglob("*.part"))
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="generated C cannot be written"):
        write_controller(slow)


def test_the_command_shows_rule_and_c(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "cc_probe_fast"]) == 0
    assert Rule.from_toml(capsys.readouterr().out) == Rule.load(find_rule("cc_probe_fast"))
    assert main(["rule", "cc_probe_fast", "--as", "c"]) == 0
    assert "rule_share(2 * c_l, 1)" in capsys.readouterr().out
    assert main(["rule", "cc_probe_fas"]) == 2
    assert "did you mean `cc_probe_fast`?" in capsys.readouterr().err


def test_the_kernel_is_given_the_generated_c(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def ask(words: list[str]) -> dict[str, str]:
        asked.append(list(words))
        return {"name": "cc_probe_qdel", "previous_default": ""}

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("fairweir.play.kernel.find_helper", lambda: None)
    monkeypatch.setattr("fairweir.play.kernel.need_root", lambda _: None)
    monkeypatch.setattr("fairweir.play.kernel.ask", ask)
    file = RULES / "cc_probe_qdel.toml"
    assert main(["kernel", "load", str(file)]) == 0
    assert asked[0][0] == "load"
    source = Path(asked[0][1])
    assert source.name == "cc_probe_qdel.bpf.c"
    assert source.read_text(encoding="utf-8") == controller(Rule.load(file))


def test_a_rule_is_called_by_its_files_name_and_replays_from_anywhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(RULES.parent)
    flow = link("rules/cc_probe_drain.toml", "1bdp").flow[0]
    assert flow.cca.label == "cc_probe_drain"
    assert Path(whole_path("rules/cc_probe_drain.toml")) == RULES / "cc_probe_drain.toml"
    assert main(["list", "rules", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["rules"]
    assert [(row["name"], Path(row["file"])) for row in listed] == [(file.stem, file) for file in FILES]


def test_an_invalid_rule_is_rejected_as_a_controller(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        run(link("none.toml", "1bdp"))
    (tmp_path / "mine.toml").write_text('name = "mine"\nbeliefs = "ccac"\n[[branch]]\nrate = "C_V"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="rate has an unknown name `C_V`") as caught:
        run(link(str(tmp_path / "mine.toml"), "1bdp"))
    assert caught.value.hint == "did you mean `C_U`?"
