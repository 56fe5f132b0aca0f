"""Edits of a scenario's text keep its comments and layout, and errors are at the lines of their keys."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairweir.documents import shipped
from fairweir.errors import ConfigError
from fairweir.scenario.model import Scenario
from fairweir.studio.edit import edit, line_of

TEXT = """\
# a comment
duration = "10s" # another

[link.bottleneck]
rate = "12Mbps"

[[flow]]
cca = "bbr"
rtprop = "10ms"

[[flow]]
cca = { name = "cubic", beta = 0.5 }
rtprop = "20ms"
jitter = { kind = "uniform", max = "5ms" }
"""


def test_a_value_changes_and_the_rest_of_the_text_stays() -> None:
    changed = edit(TEXT, {"link.bottleneck.rate": "24Mbps", "flow.1.jitter.max": "1ms"})
    assert changed == TEXT.replace("12Mbps", "24Mbps").replace('max = "5ms"', 'max = "1ms"')


@pytest.mark.parametrize(
    ("settings", "key", "value"),
    [
        ({"flow.0.cca.cwnd_gain": 2.5}, ("flow", 0, "cca"), {"name": "bbr", "cwnd_gain": 2.5}),
        ({"flow.*.rtprop": "7ms"}, ("flow", 1, "rtprop"), "7ms"),
        ({"flow.1.jitter": None}, ("flow", 1), {"cca": {"name": "cubic", "beta": 0.5}, "rtprop": "20ms"}),
        ({"flow.0.jitter": {"kind": "uniform", "max": "3ms"}}, ("flow", 0, "jitter", "max"), "3ms"),
        ({"link.bottleneck.buffer": "2bdp"}, ("link", "bottleneck", "buffer"), "2bdp"),
        ({"flow.1": None}, ("flow", -1, "rtprop"), "10ms"),
    ],
)
def test_the_changed_text_has_the_value(settings: dict[str, Any], key: tuple[str | int, ...], value: object) -> None:
    changed = edit(TEXT, settings)
    found: Any = tomllib.loads(changed)
    for part in key:
        found = found[part]
    assert found == value
    assert "# a comment" in changed
    assert "# another" in changed
    Scenario.from_toml(changed)


@pytest.mark.parametrize("key", ["flow.7.rtprop", "duration.x.y", "flow.x", "flow.*"])
def test_a_key_that_cannot_be_set_is_an_error(key: str) -> None:
    with pytest.raises(ConfigError):
        edit(TEXT, {key: 1})


def test_a_text_that_is_not_toml_is_an_error() -> None:
    with pytest.raises(ConfigError, match="not TOML"):
        edit("rate = = 3", {"rate": 1})


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("duration", 2),
        ("link.bottleneck.rate", 5),
        ("link.bottleneck.nonsense", 4),
        ("flow.0.rtprop", 9),
        ("flow.1.cca.beta", 12),
        ("flow.1.jitter.max", 14),
        ("flow.1", 11),
        ("warmup", None),
        (None, None),
    ],
)
def test_the_line_of_a_key(key: str | None, line: int | None) -> None:
    assert line_of(TEXT, key) == line


@given(st.sampled_from(sorted(shipped.by_name("scenarios"))), st.sampled_from(["1Mbps", "88Mbps"]))
def test_shipped_scenarios_can_be_edited(name: str, rate: str) -> None:
    text = shipped.by_name("scenarios")[name].read_text(encoding="utf-8")
    document = tomllib.loads(text)
    link = next(iter(document["link"]))
    changed = edit(text, {f"link.{link}.rate": rate, "seed": 7})
    document["link"][link]["rate"] = rate
    document["seed"] = 7
    assert tomllib.loads(changed) == document


@given(st.text(max_size=300), st.text(max_size=30))
def test_no_text_breaks_the_editor(text: str, key: str) -> None:
    line_of(text, key)
    with suppress(ConfigError):
        edit(text, {key: 1})
