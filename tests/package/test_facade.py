"""The names of ``import fairweir``."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fairweir


@pytest.mark.parametrize("name", fairweir.__all__)
def test_every_name_of_the_facade_can_be_used(name: str) -> None:
    found = getattr(fairweir, name)
    assert getattr(found, "__name__", "__version__").removeprefix("fairweir.") == name
    assert name in dir(fairweir)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'simulate'"):
        _ = fairweir.simulate


def test_the_facade_loads_nothing_before_it_is_used() -> None:
    code = (
        "import sys, fairweir\n"
        "assert not {'pydantic', 'numpy', 'arro3', 'fairweir.play.run'} & sys.modules.keys()\n"
        "run = fairweir.run(fairweir.dumbbell(['reno'], duration='1s'))\n"
        "assert isinstance(run, fairweir.Run) and callable(fairweir.run) and callable(fairweir.sweep)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
