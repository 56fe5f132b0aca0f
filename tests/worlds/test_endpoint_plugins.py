"""Plug-ins with a whole stack: the skeleton is built and run; libraries that misbehave are one error each."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import fairweir as fw
from fairweir.ccas.new_plugin import Kind, Language, write_plugin
from fairweir.cli.main import main
from fairweir.errors import CcaError, ConfigError, FairweirError
from fairweir.play import quic

#: A line of the skeleton that every call of send() passes.
IN_SEND = "\tuint64_t block;\n"
#: A line of the skeleton that every call of receive() passes.
IN_RECEIVE = "\t(void)ecn;\n\tif (length == 0)\n"

Build = Callable[..., Path]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def build(*changes: tuple[str, str]) -> Path:
        skeleton = write_plugin("mine", tmp_path, Language.C, Kind.ENDPOINT)
        text = skeleton.files[0].read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        skeleton.files[0].write_text(text)
        made = subprocess.run(["make", "-s", "-C", tmp_path / "mine"], check=False, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        assert made.stderr == "" or changes
        return tmp_path / "mine" / "mine.so"

    return build


def dumbbell(*ccas: object, duration: str = "8s") -> fw.Scenario:
    return fw.dumbbell([str(cca) for cca in ccas], rate="24Mbps", rtprop="20ms", buffer="1bdp", duration=duration)


def test_the_skeleton_fills_the_link_and_repeated_runs_are_equal(build: Build) -> None:
    scenario = dumbbell(build())
    first, second = (fw.run(scenario, on="quic").summary.document for _ in range(2))
    assert first["quic"] == second["quic"]
    (flow,) = first["flows"]
    assert flow["throughput_mbps"] > 23
    assert flow["goodput_mbps"] == pytest.approx(flow["throughput_mbps"] * 1455 / 1500, rel=0.01)
    assert 0 < flow["loss_rate"] < 0.01
    reno = fw.run(dumbbell("quinn/newreno"), on="quic").summary.flows[0]
    assert flow["qdelay_ms"]["mean"] == pytest.approx(reno.qdelay_ms.mean, rel=0.15)


def test_it_shares_a_link_with_a_stack(build: Build) -> None:
    mine, quinn = fw.run(dumbbell(build(), "quinn/newreno", duration="30s"), on="quic").summary.flows
    assert 0.3 < mine.throughput_mbps / quinn.throughput_mbps < 3


@pytest.mark.parametrize(
    ("change", "least", "most"),
    [
        ({"flow.0.app_rate": "4Mbps"}, 3.8, 4.2),
        ({"flow.0.loss": "5%"}, 0.5, 12),
        ({"flow.0.rwnd": "10pkts"}, 4, 6.1),
        ({"flow.0.jitter": {"kind": "uniform", "max": "10ms"}}, 1, 24),
    ],
)
def test_paths_of_all_kinds(build: Build, change: dict[str, object], least: float, most: float) -> None:
    flow = fw.run(dumbbell(build()).override(change), on="quic").summary.flows[0]
    assert least <= flow.throughput_mbps <= most


def test_a_transfer_ends_and_an_application_pauses(build: Build) -> None:
    library = build()
    finite = fw.run(dumbbell(library).override({"flow.0.bytes": "1500000B"}), on="quic").summary.flows[0]
    assert finite.completion_s is not None
    assert 0.5 < finite.completion_s < 1.5
    paused = dumbbell(library).override({"flow.0.on_off": {"on": "500ms", "off": "500ms"}})
    assert 6 < fw.run(paused, on="quic").summary.flows[0].throughput_mbps < 18


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((IN_SEND, IN_SEND + "\tdatagram->payload[datagram->capacity] = 1;\n"), "send() wrote beyond the 1472 B"),
        (("datagram->length = length;", "datagram->length = 1473;"), "wrote a datagram of 1473 B"),
        (("datagram->length = length;", "datagram->length = length; datagram->ecn = 9;"), "the ECN field 9"),
        ((IN_SEND, IN_SEND + "\tif (end->established) return 7;\n"), "send() returned 7"),
        ((IN_SEND, IN_SEND + "\tif (now > 1000000000) abort();\n"), "failed (signal 6), with"),
        ((IN_RECEIVE, IN_RECEIVE.replace("(void)ecn", "*(volatile int *)ecn = 1")), "failed (signal 11), with"),
        ((IN_SEND, IN_SEND + "\tif (now > 1000000000) exit(0);\n"), "printed invalid JSON: ``, with"),
        (("return ((struct end *)state)->timer;", "return 1;"), "asks for a timeout"),
        (("\tend->timer = now + end->rto;\n\tif (!end->established)", "\tif (1) return;\n\tif (0)"), "never sent"),
        ((".abi = FW_ENDPOINT_ABI", ".abi = 2"), "version 2 of the interface"),
        ((".size = sizeof(struct fw_endpoint)", ".size = 8"), "its table has 8 bytes"),
        ((".send = send,", ""), "send is NULL"),
        (('.name = "mine",', ""), "name is NULL"),
        (("return &table;", "(void)table; return 0;"), "returns no table"),
        (("\tif (!end)\n\t\treturn NULL;\n", "\tif (end) return NULL;\n"), "returned NULL"),
    ],
)
def test_a_library_that_misbehaves_is_one_error(build: Build, change: tuple[str, str], message: str) -> None:
    library = build(change, ("#include <stdlib.h>", "#include <stdlib.h>\n#include <unistd.h>"))
    with pytest.raises(FairweirError) as raised:
        fw.run(dumbbell(library), on="quic")
    assert message in str(raised.value)


def test_a_library_that_loops_is_stopped(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quic, "LIMIT_S", 3.0)
    monkeypatch.setattr(quic, "LIMIT_PER_S", 0.0)
    library = build((IN_SEND, IN_SEND + "\twhile (now > 1000000000) { }\n"))
    with pytest.raises(FairweirError):
        fw.run(dumbbell(library), on="quic")


def test_a_fault_of_the_stack_is_the_error(build: Build) -> None:
    fault = 'static const char *fault(void *end) { (void)end; return "out of cheese"; }\n'
    library = build(
        ("const struct fw_endpoint *", fault + "const struct fw_endpoint *"),
        (".send = send,", ".send = send, .fault = fault,"),
    )
    with pytest.raises(FairweirError, match="the sender failed: out of cheese"):
        fw.run(dumbbell(library), on="quic")


def test_a_whole_stack_is_no_controller_of_the_simulator(build: Build) -> None:
    with pytest.raises(CcaError) as raised:
        fw.run(dumbbell(build()))
    assert "a whole transport stack" in str(raised.value)
    assert raised.value.hint == "run it with `--on quic`"


def test_damaged_files_are_one_error(build: Build, tmp_path: Path) -> None:
    whole = build().read_bytes()
    for number, content in enumerate((b"", b"text", whole[:100], whole[: len(whole) // 2])):
        library = tmp_path / f"damaged{number}.so"
        library.write_bytes(content)
        with pytest.raises(FairweirError):
            fw.run(dumbbell(library), on="quic")


def test_the_command_writes_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "plugin", "my_stack", "--kind", "endpoint", "--dir", str(tmp_path), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [Path(file).name for file in made["files"]] == [
        "my_stack.c",
        "Makefile",
        "my_stack.toml",
        "fairweir_endpoint.h",
    ]
    make, runs, _ = (command.split() for command in made["commands"])
    subprocess.run(make, check=True, capture_output=True, timeout=60)
    assert runs[-2:] == ["--on", "quic"]
    assert main([*runs[1:], "--json"]) == 0
    assert all(flow["throughput_mbps"] > 1 for flow in json.loads(capsys.readouterr().out)["flows"])


def test_other_languages_have_no_skeleton_of_a_stack(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no skeleton of a whole stack in rust"):
        write_plugin("mine", tmp_path, Language.RUST, Kind.ENDPOINT)
