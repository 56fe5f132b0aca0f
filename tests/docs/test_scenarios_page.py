"""docs/scenarios.md lists every key with its default, and the examples run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from fairweir import _core
from fairweir.play.run import run
from fairweir.scenario import elements, links, model
from fairweir.scenario.model import Scenario

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "scenarios.md"
EXAMPLES = sorted((ROOT / "scenarios").glob("*.toml"))

#: Heading -> the model that reads the table below it.
MODELS: dict[str, type[BaseModel]] = {
    "Top level": model.Scenario,
    "`[host]`": model.Host,
    "`[link.NAME]`": links.Link,
    "`[link.NAME]` / `shaper`": links.Shaper,
    "`[[flow]]`": model.Flow,
    "`[[flow]]` / `on_off`": model.OnOff,
    "`[[flow]]` / `delayed_ack`": model.DelayedAck,
    "`[[flow]]` / `access`": elements.Access,
    "`[[flow]]` / `policer`": elements.Policer,
}
KINDS: dict[str, tuple[type[BaseModel], ...]] = {
    "`[link.NAME]` / `aqm`": (links.Droptail, links.Red, links.EcnThreshold, links.CoDel, links.DualPi2),
    "`[[flow]]` / `jitter`, `ack_jitter`": (
        elements.ConstantDelay,
        elements.UniformDelay,
        elements.AckAggregation,
        elements.RandomAggregation,
        elements.PeriodicRelease,
        elements.EarlyPacket,
        elements.Trajectory,
        elements.VirtualLink,
    ),
    "`[[flow]]` / `loss`, `ack_loss`": (elements.IidLoss, elements.BurstLoss, elements.PeriodicLoss),
}


def kind_of(model: type[BaseModel]) -> str:
    (kind,) = model.model_fields["kind"].annotation.__args__  # type: ignore[union-attr]
    return str(kind)


def every_model() -> dict[str, type[BaseModel]]:
    kinds = {f'{heading} / `kind = "{kind_of(m)}"`': m for heading, models in KINDS.items() for m in models}
    return MODELS | kinds


def documented() -> dict[str, dict[str, str]]:
    """Heading, under its parents -> key -> default as the page has it."""
    found: dict[str, dict[str, str]] = {}
    above: list[str] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"(#{2,4}) (.*)", line):
            above = [*above[: len(heading[1]) - 2], heading[2]]
            found[" / ".join(above)] = {}
        elif row := re.match(r"\| `(\w+)` \| [^|]+ \| ([^|]+) \| .+ \|$", line):
            found[" / ".join(above)][row[1]] = row[2].strip()
    return found


def default_text(model: type[BaseModel], key: str) -> str:
    field = model.model_fields[key]
    if field.is_required():
        return "required"
    value: Any = field.default
    if key == "delayed_ack":
        value = value.every
    elif key == "aqm":
        value = value.kind
    if value is None:
        return "none"
    shown = {True: "true", False: "false"}[value] if isinstance(value, bool) else value
    return f'`"{shown}"`' if isinstance(shown, str) and not isinstance(value, bool) else f"`{shown}`"


@pytest.mark.parametrize("heading", every_model())
def test_every_key_is_documented_with_its_default(heading: str) -> None:
    model = every_model()[heading]
    expected = {key: default_text(model, key) for key in model.model_fields if key != "kind"}
    assert documented()[heading] == expected


def test_the_page_documents_no_other_tables() -> None:
    tables = {heading for heading, keys in documented().items() if keys}
    assert tables <= set(every_model())


def test_every_kind_of_element_has_a_heading() -> None:
    tables = {
        value
        for module in (elements, links)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseModel) and "kind" in value.model_fields
    }
    assert tables == {model for models in KINDS.values() for model in models}


def test_scenarios_on_the_page_are_scenarios() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        run(Scenario.from_toml(block, source=str(PAGE)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_play_and_say_what_they_show(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert "# Shows: " in text
    loaded = Scenario.load(path)
    assert loaded.name == path.stem
    is_long = _core.parse_time(loaded.duration) > _core.parse_time("12s")
    summary = run(loaded.override({"duration": "12s", "warmup": "11s"}) if is_long else loaded).summary
    assert all(flow.throughput_mbps > 0 for flow in summary.flows)


def test_there_are_examples() -> None:
    assert {"three-rtprops", "ack-aggregation", "parking-lot", "rate-steps", "cellular", "policer"} <= {
        path.stem for path in EXAMPLES
    }
