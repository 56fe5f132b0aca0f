"""Any file gives a scenario or a ConfigError, never another exception."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairweir.errors import ConfigError
from fairweir.play.sweep import parse_grid
from fairweir.scenario.elements import AnyJitter, AnyLoss
from fairweir.scenario.links import AnyAqm, Link
from fairweir.scenario.model import Flow, Scenario
from fairweir.scenario.overrides import apply, parse_setting

SCALARS = st.one_of(
    st.sampled_from(
        ["24Mbps", "20ms", "1bdp", "5pkts", "64KiB", "2%", "reno", "l", "0s", "1h", "infinite", "", "codel"]
    ),
    st.text(max_size=12),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def models(annotation: Any) -> list[type]:
    found = [annotation] if hasattr(annotation, "model_fields") else []
    return found + [model for inner in getattr(annotation, "__args__", ()) for model in models(inner)]


def tables(*annotations: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Generate tables with the keys of a model, valid or invalid values, and occasionally an unknown key."""
    choices = []
    for model in (model for annotation in annotations for model in models(annotation)):
        fields = model.model_fields  # type: ignore[attr-defined]
        kinds = getattr(fields["kind"].annotation, "__args__", ()) if "kind" in fields else ()
        keys = {name: st.sampled_from(kinds) if name == "kind" else VALUES for name in fields}
        choices.append(st.fixed_dictionaries({}, optional={**keys, "stray": VALUES}))
    return st.one_of(choices)


FLOWS = st.fixed_dictionaries(
    {"cca": VALUES | st.just("reno"), "rtprop": VALUES | st.just("20ms")},
    optional={
        **{name: VALUES for name in Flow.model_fields if name not in {"cca", "rtprop"}},
        "jitter": tables(AnyJitter) | VALUES,
        "loss": tables(AnyLoss) | VALUES,
    },
)
LINKS = st.fixed_dictionaries(
    {"rate": VALUES | st.just("24Mbps")},
    optional={**{name: VALUES for name in Link.model_fields if name != "rate"}, "aqm": tables(AnyAqm) | VALUES},
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "duration": VALUES | st.just("10s"),
        "link": st.dictionaries(st.sampled_from(["l", "m", "ü"]), LINKS | VALUES, max_size=2) | VALUES,
        "flow": st.lists(FLOWS | VALUES, max_size=3) | VALUES,
    },
    optional={name: VALUES for name in Scenario.model_fields if name not in {"duration", "link", "flow"}},
)

FUZZ = settings(max_examples=300, suppress_health_check=list(HealthCheck))


def checked(document: Any) -> None:
    try:
        scenario = Scenario.from_dict(document, source="fuzz.toml")
        scenario.resolve()
        assert Scenario.from_toml(scenario.to_toml()).resolve() == scenario.resolve()
    except ConfigError as error:
        assert error.render().startswith("error: ")


@FUZZ
@given(DOCUMENTS)
def test_documents(document: dict[str, Any]) -> None:
    checked(document)


@FUZZ
@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=3))
def test_any_table(document: dict[str, Any]) -> None:
    checked(document)


@FUZZ
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    try:
        Scenario.from_toml(text, source="fuzz.toml")
    except ConfigError as error:
        assert error.render().startswith("error: ")


@FUZZ
@given(FLOWS)
def test_good_scenarios_with_one_odd_flow(flow: dict[str, Any]) -> None:
    checked({"duration": "10s", "link": {"l": {"rate": "24Mbps"}}, "flow": [flow]})


@FUZZ
@given(st.text(max_size=20), VALUES)
def test_any_override(key: str, value: Any) -> None:
    document = {"duration": "10s", "link": {"l": {"rate": "24Mbps"}}, "flow": [{"cca": "reno", "rtprop": "20ms"}]}
    try:
        checked(apply(document, {key: value}))
    except ConfigError as error:
        assert error.render().startswith("error: ")


@FUZZ
@given(st.text(max_size=20))
def test_any_option(text: str) -> None:
    for parse in (parse_setting, lambda t: parse_grid([t])):
        try:
            parse(text)
        except ConfigError as error:
            assert error.render().startswith("error: ")
