"""Calls and files that no page sends or writes: each has one answer, which names what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.studio.serving import SCENARIO, Served, descendants, is_alive, serve

DEEP = "[" * 100_000


def call(served: Served, name: str, body: Any) -> tuple[int, str]:
    """Return the status and the messages of a call's answer; a `str` is sent as it is."""
    data = (body if isinstance(body, str) else json.dumps(body)).encode()
    origin = served.url.split("/", 3)
    headers = {"content-type": "application/json", "origin": "/".join(origin[:3])}
    request = urllib.request.Request(f"{served.url}api/{name}", data, headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, " ".join(one["message"] for one in json.loads(error.read())["errors"])


def play(**keys: Any) -> dict[str, Any]:
    return {"window": "w", "name": "one.toml", "text": SCENARIO, **keys}


@pytest.mark.parametrize("body", ["[]", "null", "7", "", DEEP, "{"])
def test_a_body_that_is_no_object_is_refused(served: Served, body: str) -> None:
    assert call(served, "play", body) == (400, "a call is a JSON object")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (play(keep=5), "the runs to keep are a list of ids"),
        (play(keep=None), "the runs to keep are a list of ids"),
        (play(keep=[[1]]), "the runs to keep are a list of ids"),
        (play(view=[10**400, 1]), "a view is two times, s"),
        (play(view=[0, float("nan")]), "a view is two times, s"),
        (play(text=SCENARIO + "\ud800"), "`text` has half of a character"),
        (play(set={f"flow.{'9' * 5_000}.cca": "reno"}), ""),
        (play(text=SCENARIO.replace('"cubic"', '"a\\u0000.py"')), "no NUL"),
        (play(text=SCENARIO.replace('rate = "12Mbps"', 'trace = "a\\u0000b"')), "no NUL"),
        (play(text=SCENARIO.replace('rate = "12Mbps"', 'trace = "loop"')), "a link that leads in a circle"),
        (play(text=SCENARIO.replace('"cubic"', '"loop/x.py"')), "a link that leads in a circle"),
        (play(text='noise = "500h"\n' + SCENARIO), "noise must be at most 1s"),
    ],
)
def test_values_are_refused_with_what_is_wrong(served: Served, body: dict[str, Any], message: str) -> None:
    (served.folder / "loop").unlink(missing_ok=True)
    (served.folder / "loop").symlink_to("loop")
    status, messages = call(served, "play", body)
    assert status == 422
    assert message in messages
    assert messages


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("loop", "a link that leads in a circle"),
        ("loop/x.toml", "a link that leads in a circle"),
        ("a\0b.toml", "no NUL"),
        ("\ud800.toml", "half of a character"),
        ("x" * 300 + ".toml", "file name too long"),
        ("one.toml/x.toml", "not a directory"),
    ],
)
def test_names_of_no_file_are_refused(served: Served, name: str, message: str) -> None:
    (served.folder / "loop").unlink(missing_ok=True)
    (served.folder / "loop").symlink_to("loop")
    for action, keys in (("open", {}), ("save", {"text": "a = 1", "version": ""})):
        status, messages = call(served, action, {"name": name, **keys})
        assert status == 422, (action, messages)
        assert message in messages or action == "open"
    assert call(served, "open", {"name": f"certificate:{name}/slow"})[0] == 422


def test_a_file_that_cannot_be_read_is_one_line_of_the_gallery(served: Served) -> None:
    for kind in ("verdict", "results"):
        folder = served.folder / kind
        folder.mkdir()
        (folder / f"{kind}.json").write_text(DEEP)
    status, answer = call(served, "gallery", {})
    unread = [one["title"] for one in json.loads(answer)["groups"] if "cannot be read" in json.dumps(one)]
    assert (status, sorted(unread)) == (200, ["results/results.json", "verdict/verdict.json"])


def test_ctrl_c_during_a_run_is_silent(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO.replace('"4s"', '"500h"').replace("12Mbps", "1Gbps"))
    served = serve(tmp_path)
    before = (tmp_path / "log").read_text()
    body = play(text=(tmp_path / "one.toml").read_text())
    told = f"call(Served(None, {served.url!r}, None), 'play', {body!r})"
    script = f"from tests.studio.test_hostile_calls import Served, call; {told}"
    asked = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not any(_cpu_s(pid) > 1 for pid in descendants(served.process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    children = descendants(served.process.pid)
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(60) == 0
    asked.wait(60)
    assert (tmp_path / "log").read_text() == before
    while any(map(is_alive, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, children))


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
