"""Public functions accept words for enums, and reject wrong types and paths with one error that names the argument."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

import fairweir
from fairweir.audit.exhibits.registry import FAMILIES
from fairweir.audit.runner import run_audit
from fairweir.cli.main import main
from fairweir.documents.arguments import enum_parameters, words_for_enums
from fairweir.errors import CcaError, ConfigError
from fairweir.formal.beliefs import Expiry
from fairweir.formal.verdicts.subjects import find_subject
from fairweir.judging.interval import Scale, interval
from fairweir.judging.outcome import combine
from fairweir.play.run import run
from fairweir.play.sweep import sweep
from fairweir.scenario.dumbbell import dumbbell
from fairweir.scenario.model import Scenario

#: Commands get their words checked by typer; the exact judges must share no code with what they judge; suites of lemmas
#: are called by name.
NOT_PUBLIC = ("fairweir.cli", "fairweir.formal.exact", "fairweir.game.exact", "fairweir.formal.lemmas")

Point = tuple[str, Callable[..., Any]]


def _public() -> Iterator[Point]:
    """Return all public functions and methods with a StrEnum parameter."""
    for found in pkgutil.walk_packages(fairweir.__path__, "fairweir."):
        if found.name.endswith("__main__") or found.name.startswith(NOT_PUBLIC):
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            members = [(name, value)]
            if inspect.isclass(value):
                members = [(f"{name}.{key}", getattr(one, "__func__", one)) for key, one in vars(value).items()]
                members = [(key, one) for key, one in members if not key.rpartition(".")[2].startswith("_")]
            for key, one in members:
                if inspect.isfunction(one) and enum_parameters(one):
                    yield f"{module.__name__}.{key}", one


PUBLIC = dict(_public())


def test_the_functions_that_take_words_are_found() -> None:
    assert {
        "fairweir.audit.runner.run_audit",
        "fairweir.formal.verdicts.subjects.find_subject",
        "fairweir.formal.solving.solve.ask",
        "fairweir.formal.verdicts.verify.verify",
        "fairweir.judging.interval.interval",
        "fairweir.judging.outcome.combine",
    } <= set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_function_takes_the_text_of_an_enum_and_refuses_other_words(name: str) -> None:
    function = PUBLIC[name]
    parameters = inspect.signature(function).parameters
    for argument, (_, is_many) in enum_parameters(function).items():
        # The text before the wrong word is never examined.
        others = {other: None for other, one in parameters.items() if one.default is one.empty and other != argument}
        with pytest.raises(ConfigError, match=f"^{argument} cannot be `nonsense`") as caught:
            function(**others, **{argument: ["nonsense"] if is_many else "nonsense"})
        assert caught.value.hint


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


@words_for_enums
def _takes(size: Size, others: Sequence[Size] = (), *, maybe: Size | None = None) -> Any:
    return size, others, maybe


def test_words_become_members_before_they_are_used() -> None:
    # Identity is checked, not equality, because a StrEnum equals its text.
    taken = _takes("small", ["large", Size.SMALL], maybe="large")  # type: ignore[list-item, arg-type]
    assert taken[0] is Size.SMALL
    assert [one is two for one, two in zip(taken[1], Size.__members__.values(), strict=True)] == [False, False]
    assert taken[1] == [Size.LARGE, Size.SMALL]
    assert taken[2] is Size.LARGE
    assert _takes(size=Size.SMALL) == (Size.SMALL, (), None)
    assert _takes("large", others="small")[1] == [Size.SMALL]  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="others cannot be `huge`") as caught:
        _takes("large", ("small", "huge"))  # type: ignore[arg-type]
    assert caught.value.hint == "known are small, large"


def test_an_audit_takes_words() -> None:
    family = next(iter(FAMILIES))
    with pytest.raises(ConfigError, match="depth cannot be `quik`") as caught:
        run_audit(["reno"], depth="quik", only=[family])  # type: ignore[arg-type]
    assert caught.value.hint == "did you mean `quick`?"
    # A single name must not be split into its letters.
    found = run_audit("reno", depth="quick", only="finite-flows", seeds=2, workers=1)
    assert (found.depth, [cca.cca for cca in found.ccas]) == ("quick", ["reno"])


def test_words_do_what_members_do() -> None:
    for scale in Scale:
        assert interval([1.0, 2.0, 3.0], scale.value) == interval([1.0, 2.0, 3.0], scale)  # type: ignore[arg-type]
    assert combine(iter(["holds", "fails"])).value == "fails"  # type: ignore[arg-type]
    any_start = find_subject("cc_qdel", "any", Expiry.AT_END.value)  # type: ignore[arg-type]
    assert "may be stale" in any_start.assumes
    assert "time out at its end" in any_start.assumes


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ({"rtprop": 0.04}, "rtprop cannot be `0.04`", 'write it with its unit: "40ms"'),
        ({"rtprop": ["10ms", 20]}, "rtprop cannot be `20`", 'write it with its unit: "40ms"'),
        ({"rtprop": None}, "rtprop cannot be `None`", "write it with its unit"),
        ({"ccas": 3}, "ccas cannot be `3`", 'write "bbr"'),
        ({"ccas": ["bbr", None]}, "ccas cannot be `None`", 'write "bbr"'),
        ({"flows": "many"}, "flows cannot be `many`", "write [{"),
        ({"flows": {"start": "1s"}}, "", ""),
        ({"rate": 48}, "link rate has no unit: `48`", 'write it with its unit and in quotes: "96Mbps"'),
        ({"duration": 30}, "duration has no unit: `30`", "write it with its unit"),
        ({"seed": "one"}, "seed must be a whole number: `one`", ""),
    ],
)
def test_a_dumbbell_of_wrong_types(arguments: dict[str, Any], message: str, hint: str) -> None:
    given = {"ccas": "reno", "duration": "2s", **arguments}
    if not message:
        assert dumbbell(**given).flow[0].start == "1s"
        return
    with pytest.raises(ConfigError) as caught:
        dumbbell(**given)
    assert caught.value.message == message
    assert hint in (caught.value.hint or "")


TINY = {
    "duration": "1s",
    "link": {"bottleneck": {"rate": "2Mbps", "buffer": "1bdp"}},
    "flow": [{"cca": "reno", "rtprop": "10ms"}],
}


def test_run_takes_paths_names_and_documents(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(TINY)
    (tmp_path / "tiny.toml").write_text(scenario.to_toml(), encoding="utf-8")
    played = [
        run(given).summary.document["flows"]
        for given in (scenario, TINY, tmp_path / "tiny.toml", f"{tmp_path}/tiny.toml")
    ]
    assert all(flows == played[0] for flows in played)
    assert Scenario.of("agree/policer").name == "policer"
    assert sweep(TINY, {"seed": [1]}, str(tmp_path / "out"), workers=1).is_complete


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scenario": 3}, "scenario cannot be `3`"),
        ({"scenario": "none.toml"}, "scenario cannot be read: no such file or directory"),
        ({"interval": 0.1}, "interval must be a text with a unit: `0.1`"),
        ({"on": "kernal"}, "on cannot be `kernal`"),
        ({"seed": "x"}, "seed must be a whole number: `x`"),
        ({"seed": -1}, "seed must be at least 0: `-1`"),
    ],
)
def test_run_with_wrong_types(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run(**{"scenario": TINY, **arguments})
    assert caught.value.message == message


def test_a_record_is_shown_in_a_line() -> None:
    record = run({**TINY, "flow": [{**TINY["flow"][0], "count": 9}]}, interval="100ms")  # type: ignore[index]
    assert len(repr(record)) < 250
    assert repr(record).startswith("<Run 'scenario' in sim: reno-1 ")
    assert repr(record).endswith(", and 3 more Mbit/s; recorded: series>")


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        (
            "cubic:beta=0.5",
            "not a congestion controller: `cubic:beta=0.5`",
            "parameters go in braces: `cubic{beta=0.5}`",
        ),
        (
            "cubic:Foo",
            "not a congestion controller: `cubic:Foo`",
            "`cubic` is a built-in controller: write only its name",
        ),
        (
            "yours.bpf.c:Foo",
            "not a congestion controller: `yours.bpf.c:Foo`",
            "kernel C has no classes: write `yours.bpf.c`",
        ),
        ("mine.toml:Foo", "not a congestion controller: `mine.toml:Foo`", "a rule has no classes: write `mine.toml`"),
        (
            "no_such.module:Foo",
            "no Python module `no_such.module`",
            "for a file write its path with `.py`: `mine.py:MyCca`",
        ),
        (
            "cubic{beta=}",
            "parameters are not TOML: `{beta=}`",
            'write `cubic{beta=0.5}` or `copa{min_rtt_window="5s"}`',
        ),
        ('cubic{name="reno"}', 'two names for one controller: `cubic{name="reno"}`', "write a name"),
        ("{beta=0.5}", "a controller without a name: `{beta=0.5}`", 'write {name="cubic", beta=0.5}'),
    ],
)
def test_a_name_that_is_no_controller(name: str, message: str, hint: str) -> None:
    with pytest.raises(CcaError) as audited:
        run_audit([name], depth="quick", workers=1)
    # The error must not name a file, a scenario or a key that the user did not write.
    assert (str(audited.value), "frozen" in str(audited.value)) == (message, False)
    assert (audited.value.hint or "").startswith(hint)
    with pytest.raises(ConfigError) as caught:
        run(dumbbell(name, duration="1s"))
    assert caught.value.message == message


def test_an_audit_of_no_controller_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["audit", "cubik", "--quick"]) == 2
    assert not list(tmp_path.iterdir())


def test_parameters_in_a_name() -> None:
    table = dumbbell('cubic{beta=0.5, hystart="off"}').flow[0].cca
    assert (table.name, table.params) == ("cubic", {"beta": 0.5, "hystart": "off"})
    assert table == dumbbell({"name": "cubic", "beta": 0.5, "hystart": "off"}).flow[0].cca
    assert table == dumbbell('{name="cubic", beta=0.5, hystart="off"}').flow[0].cca
    found = run_audit(["reno{}", "cubic{beta=0.5}"], depth="quick", only="finite-flows", seeds=2)
    assert [cca.cca for cca in found.ccas] == ["reno{}", "cubic{beta=0.5}"]
    with pytest.raises(CcaError, match=r"unknown field `bta`.*\(cubic\{bta=0.5\}\)$"):
        run_audit(["cubic{bta=0.5}"], depth="quick", only="finite-flows", seeds=2)
