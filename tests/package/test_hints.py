"""Hints that Rust code writes reach the user: as an exception's ``hint``, or on a program's stderr."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fairweir import _core
from fairweir.errors import ConfigError, FairweirError, PolicyError
from fairweir.scenario.model import Scenario

CRATES = Path("crates")
#: Errors with hints that do not pass through Python: the programs print them.
PROGRAMS = {
    "KernelError": CRATES / "program/src/refusal.rs",
    "EmuError": CRATES / "program/src/refusal.rs",
    "GuardError": CRATES / "guardd/src/main.rs",
}


def errors() -> set[str]:
    """Return the error types with hints, as crate and name where the name alone is not unique."""
    found = set()
    for file in CRATES.glob("*/src/**/*.rs"):
        for name in re.findall(r"^impl (?:\w+::)?Hint for (\w+)", file.read_text(), re.MULTILINE):
            found.add(f"{file.parts[1]}::{name}" if name == "ConfigError" else name)
    return found


def _run(**changes: object) -> None:
    config = Scenario.load("scenarios/three-rtprops.toml").resolve()
    _core.run(json.dumps({**config, **changes}))


def _trees(text: str) -> None:
    _core.guard_scores(text, b"")


def _replay(policy: str) -> None:
    _core.replay_guarded("no-such-file.pcap", policy, ["192.0.2.1"])


def _missing_source() -> None:
    config = Scenario.load("scenarios/three-rtprops.toml").resolve()
    config["flows"][0]["cca"] = "/nowhere/mine.bpf.c"
    _run(flows=config["flows"])


#: Other error types -> the function that raises them in Python.
RAISED: dict[str, Callable[[], object]] = {
    "ParseError": lambda: _core.parse_rate("10"),
    "path::ConfigError": lambda: _run(duration=0),
    "SimError": lambda: _run(duration=0),
    "BuildError": _missing_source,
    "guard::ConfigError": lambda: _replay("[[cap]]\nrate = 10\n"),
    "ModelError": lambda: _replay("[flow]\nmodel = 'none.json'\n"),
    "TreesError": lambda: _trees('{"features": ["rtt"], "baseline": [0, 0, 0], "trees": []}'),
    "CaptureError": lambda: _core.explain("no-such-file.pcap"),
}


def test_every_error_with_a_hint_is_passed_on() -> None:
    source = (CRATES / "py/src/error.rs").read_text()
    passed = set(re.findall(r"e: &(?:dyn )?(\w+Error)\b", source)) | {
        "path::ConfigError",
        "guard::ConfigError",
        "BuildError",
    }
    assert errors() - passed - PROGRAMS.keys() - {"ModelError"} == set()
    for file in PROGRAMS.values():
        assert re.search(r"\.hint\(\)", file.read_text()), file


@pytest.mark.parametrize("name", RAISED)
def test_the_hint_is_the_exceptions(name: str) -> None:
    with pytest.raises(FairweirError) as raised:
        RAISED[name]()
    assert raised.value.hint, raised.value
    assert raised.value.render().endswith(f"hint: {raised.value.hint}")


def test_an_error_of_policies_has_line_key_and_hint() -> None:
    with pytest.raises(PolicyError, match="line 4") as raised:
        _replay("[[cap]]\nrate = '1Mbps'\n[[cap]]\nrate = 10\n")
    assert raised.value.key == "cap[1].rate"
    assert "docs/guard.md" in str(raised.value.hint)
    with pytest.raises(PolicyError, match="no classifier") as raised:
        _replay("[flow]\nmodel = 'none.json'\n")
    assert raised.value.key == "flow.model"
    with pytest.raises(ConfigError, match="`here` is not an IP address"):
        _core.replay_guarded("no-such-file.pcap", "", ["here"])


def test_arguments_out_of_range_are_errors_of_ours() -> None:
    calls: dict[str, Callable[[], object]] = {
        "probability": lambda: _core.student_t_quantile(3.0, 1.0),
        "degrees": lambda: _core.student_t_quantile(0.0, 0.5),
    }
    for key, call in calls.items():
        with pytest.raises(ConfigError, match=f"{key} is out of range") as raised:
            call()
        assert raised.value.key == key
        assert raised.value.hint
    for file in (CRATES / "py/src").glob("**/*.rs"):
        others = re.search(r"\bexceptions::(?!PyKeyboardInterrupt;)", file.read_text())
        assert file.name == "error.rs" or others is None, file
