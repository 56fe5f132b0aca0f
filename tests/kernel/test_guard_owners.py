"""Flows and the processes of the host that receives them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kernel.guard_lab import Lab, is_held, is_open, send_until

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(60)]


@pytest.fixture
def cgroup(daemon: None) -> Iterator[Path]:
    """Return a control group of version 2. Request it before `lab`, whose processes may be in it."""
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    root = next((Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)
    if root is None or not os.access(root, os.W_OK):
        pytest.skip("not run: no control groups of version 2 that may be written")
    made = root / f"fairweir-{os.getpid()}" / "updates.service"
    made.mkdir(parents=True)
    yield made
    made.rmdir()
    made.parent.rmdir()


@pytest.mark.parametrize("group", ["process", "cgroup"])
def test_a_rule_about_a_process_or_its_control_group(cgroup: Path, lab: Lab, tmp_path: Path, group: str) -> None:
    path = f"/{cgroup.parent.name}/{cgroup.name}"
    service = {"process": "greedy", "cgroup": path}[group]
    rules = tmp_path / "rules.toml"
    rules.write_text(f"[[cap]]\ngroup = '{group}'\nservice = '{service}'\nrate = '1Mbps'\n")
    pid = lab.receive_as("greedy", "10.9.1.2", 5001, cgroup)
    lab.guard(lab.receiver, "v0", "--config", str(rules))
    greedy, other = lab.dial("10.9.1.2", 5001), lab.connect("fd01::2", port=5002)
    send_until(is_open, other)
    windows = send_until(is_held, greedy, other)
    assert is_open(windows[1]), windows

    mine = lab.flow(lab.receiver, "v0", "10.9.1.2:5001", has="pid")
    assert (mine["process"], mine["pid"], mine["cgroup"]) == ("greedy", pid, path)
    assert lab.flow(lab.receiver, "v0", "[fd01::2]:5002", has="pid")["pid"] == os.getpid()
    assert service in {each["name"] for each in lab.status(lab.receiver, "v0")["services"]}
    explained = lab.ask(lab.receiver, "explain", ":5001", "--interface", "v0").stdout
    assert f"received by greedy, process {pid}, control group {path}" in explained


def test_forwarded_flows_have_no_process(lab: Lab, cap: Path) -> None:
    lab.guard(lab.router, "left", "--config", str(cap))
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    [service] = lab.status(lab.router, "left")["services"]
    assert [flow["process"] for flow in service["flows"]] == [None]
