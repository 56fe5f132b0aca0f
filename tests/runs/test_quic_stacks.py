"""Controllers of QUIC stacks, by the names that commands accept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fairweir.audit.exhibits.family import Subject
from fairweir.ccas.lookup import algorithms, stack_version
from fairweir.documents.filenames import slug
from fairweir.scenario.model import Flow
from fairweir.scenario.resolve import flow_ids

STACKS = sorted(name for name in algorithms() if "/" in name)


def test_three_stacks_are_listed_with_the_versions_of_the_lock_file() -> None:
    packages = {"quinn": "quinn-proto", "noq": "noq-proto", "s2n-quic": "s2n-quic-core"}
    assert {name.split("/")[0] for name in STACKS} == packages.keys()
    lock = Path("Cargo.lock").read_text("utf-8")
    for name in STACKS:
        package = packages[name.split("/")[0]]
        found = re.search(rf'name = "{package}"\nversion = "(.*)"', lock)
        assert found is not None
        assert stack_version(name) == found[1]
    assert stack_version("cubic") is None
    assert stack_version("mine.py:Mine") is None


@pytest.mark.parametrize("name", STACKS)
def test_results_and_laws_have_the_name_of_the_stack(name: str) -> None:
    subject = Subject(name=name, cca=name, buffer="1bdp")
    assert subject.stem == name.replace("/", "-") == slug(name)


@pytest.mark.parametrize("name", [*STACKS, "quiche/bbr2_gcongestion"])
def test_a_flow_of_a_stack_differs_in_its_name_from_one_of_fairweir(name: str) -> None:
    assert flow_ids([_flow(name), _flow("bbr")]) == [[f"{name}-1"], ["bbr-2"]]


def test_a_file_in_a_folder_is_named_without_it() -> None:
    assert flow_ids([_flow("rules/cc_qdel.toml")]) == [["cc_qdel-1"]]


def test_parameters_have_json_defaults() -> None:
    for name in STACKS:
        assert json.dumps(algorithms()[name].defaults) == '{"initial_window_bytes": null, "pacing": "stack"}'


def _flow(cca: str) -> Flow:
    return Flow.model_validate({"cca": cca, "rtprop": "40ms"})
