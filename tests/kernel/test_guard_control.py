"""The control socket of the receiver's daemon: permitted clients, verified servers, and attempts to block it."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kernel.guard_lab import Lab, Namespace, is_held, send_until

from fairweir.guard.daemon import find_daemon

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(60), pytest.mark.usefixtures("daemon")]

NOBODY = 65534
HOME = Path("/run/fairweir-guard")
UNPRIVILEGED = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]

#: Connects as fast as possible to the socket at a path and to the former abstract socket; prints the number of
#: attempts.
_FLOOD = """
import socket, sys
names = [sys.argv[1], "\\0fairweir-guard/" + sys.argv[2]]
tried = 0
while True:
    for name in names:
        with socket.socket(socket.AF_UNIX) as one:
            try:
                one.settimeout(0.01)
                one.connect(name)
                one.send(b"status\\n")
            except OSError:
                pass
        tried += 1
        if tried % 1000 == 0:
            print(tried, flush=True)
"""


def place(namespace: Namespace, device: str) -> Path:
    """Return the path of a guard's socket."""
    number = namespace.within(lambda: Path("/proc/thread-self/ns/net").stat().st_ino)
    return HOME / device / f"{number}.{index(namespace, device)}.sock"


def index(namespace: Namespace, device: str) -> int:
    return namespace.within(lambda: socket.if_nametoindex(device))


@pytest.fixture
def flood(lab: Lab) -> Iterator[list[subprocess.Popen[str]]]:
    """Run three processes of another user that connect in a loop."""
    names = [str(place(lab.receiver, "v0")), str(index(lab.receiver, "v0"))]
    words = [*UNPRIVILEGED, sys.executable, "-c", _FLOOD, *names]

    def start() -> list[subprocess.Popen[str]]:
        return [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]

    children = lab.receiver.within(start)
    yield children
    for child in children:
        child.kill()
        child.communicate()


def test_a_flood_by_another_user_delays_no_decision(lab: Lab, cap: Path, flood: list[subprocess.Popen[str]]) -> None:
    lab.guard(lab.receiver, "v0", "--config", str(cap))
    connection = lab.connect("10.9.1.2")
    before = lab.status(lab.receiver, "v0")["decisions"]
    for child in flood:
        assert child.stdout is not None
        for _ in range(5):  # 5,000 attempts each
            assert int(child.stdout.readline()) > 0
    send_until(is_held, connection)
    while (after := lab.status(lab.receiver, "v0")["decisions"])["made"] < before["made"] + 10:
        time.sleep(0.1)
    made, missed = after["made"] - before["made"], after["missed"] - before["missed"]
    assert missed <= made, "of ten decisions in a second most are made, also on a busy machine"


def test_no_other_user_can_take_the_guards_place(lab: Lab, cap: Path) -> None:
    squat = """
import os, socket, sys
path, number = sys.argv[1:]
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\\0fairweir-guard/" + number)
abstract.listen()
for directory in (os.path.dirname(path), os.path.dirname(os.path.dirname(path))):
    try:
        os.makedirs(directory)
    except OSError as error:
        print(type(error).__name__, flush=True)
try:
    socket.socket(socket.AF_UNIX).bind(path)
except OSError as error:
    print(type(error).__name__, flush=True)
print("done", flush=True)
sys.stdin.read()
"""
    path = place(lab.receiver, "v0")
    words = [*UNPRIVILEGED, sys.executable, "-c", squat, str(path), str(index(lab.receiver, "v0"))]
    squatter = lab.receiver.within(
        lambda: subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    )
    lab.children.append(squatter)
    assert squatter.stdout is not None
    said = list(iter(squatter.stdout.readline, "done\n"))
    assert len(said) == 3, said
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))
    assert lab.status(lab.receiver, "v0")["interface"] == "v0"
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (0, 0o600)
    asked = lab.receiver.within(
        lambda: subprocess.run(
            [*UNPRIVILEGED, str(find_daemon()), "status", "--interface", "v0"],
            capture_output=True,
            text=True,
            check=False,
        )
    )
    assert (asked.returncode, "it answers root and its own user" in asked.stderr) == (2, True), asked.stderr
    child.terminate()
    assert child.wait(10) == 0
    assert not path.exists()


def test_a_killed_guards_socket_is_replaced_and_a_living_ones_is_not(lab: Lab, cap: Path) -> None:
    path = place(lab.receiver, "v0")
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))
    again = lab.ask(lab.receiver, "run", "--interface", "v0", "--config", str(cap))
    assert (again.returncode, f"has a guard already, process {child.pid}" in again.stderr) == (2, True), again.stderr
    child.kill()
    child.wait()
    assert path.exists()
    asked = lab.ask(lab.receiver, "status", "--interface", "v0")
    assert (asked.returncode, "`v0` has no guard" in asked.stderr) == (2, True), asked.stderr
    lab.guard(lab.receiver, "v0", "--config", str(cap))
    assert lab.status(lab.receiver, "v0")["interface"] == "v0"


def test_a_directory_that_others_could_have_made_is_rejected(lab: Lab, cap: Path) -> None:
    # The name is unique, because the directory is shared by all users who run tests on this machine.
    name = f"s{os.getpid()}"
    lab.receiver.sh(f"ip link add {name} type veth peer name {name}p")
    directory = HOME / name
    HOME.mkdir(exist_ok=True)
    directory.mkdir()
    try:
        os.chown(directory, NOBODY, NOBODY)
        refused = lab.ask(lab.receiver, "run", "--interface", name, "--config", str(cap))
        assert (refused.returncode, f"{directory} belongs to user {NOBODY}" in refused.stderr) == (2, True)
        os.chown(directory, 0, 0)
        directory.chmod(0o777)
        for words in (("run", "--config", str(cap)), ("status",)):
            refused = lab.ask(lab.receiver, words[0], "--interface", name, *words[1:])
            assert (refused.returncode, "can be written by others (mode 777)" in refused.stderr) == (2, True)
    finally:
        shutil.rmtree(directory)


_IMPOSTOR = r"""
import os, socket, sys
path, user = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
os.chmod(path, 0o777)
if int(user):
    os.setresgid(int(user), int(user), int(user))
    os.setresuid(int(user), int(user), int(user))
listener.listen()
print("listens", flush=True)
while True:
    connection, _ = listener.accept()
    connection.recv(512)
    connection.send(sys.stdin.readline().encode("latin-1"))
    connection.close()
"""


@pytest.mark.parametrize("user", [NOBODY, 0], ids=["another user", "root"])
def test_only_root_may_answer_and_answers_are_escaped(lab: Lab, cap: Path, user: int) -> None:
    lab.guard(lab.receiver, "v0", "--config", str(cap))
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    hostile = lab.status(lab.receiver, "v0")
    hostile["services"][0]["name"] = "\x1b]0;PWN\x07\x9b2J\u202e"
    hostile["interface"] = "v0\nroot: all is well"
    name = f"t{os.getpid()}"
    lab.receiver.sh(f"ip link add {name} type veth peer name {name}p")
    path = place(lab.receiver, name)
    path.parent.mkdir()
    try:
        words = [sys.executable, "-c", _IMPOSTOR, str(path), str(user)]
        impostor = lab.receiver.within(
            lambda: subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        lab.children.append(impostor)
        assert impostor.stdout is not None
        assert impostor.stdin is not None
        assert impostor.stdout.readline() == "listens\n"
        impostor.stdin.write((json.dumps(hostile) + "\n") * 2 + "\x1b[2J not JSON\n")
        impostor.stdin.close()
        shown = lab.ask(lab.receiver, "status", "--interface", name)
        if user:
            assert shown.returncode == 2
            assert f"a process of user {NOBODY} answers for the guard of `{name}`" in shown.stderr
            return
        assert "\\x1b]0;PWN\\x07\\x9b2J\\u202e" in shown.stdout
        assert "guard of v0\\x0aroot: all is well for" in shown.stdout
        document = lab.ask(lab.receiver, "status", "--interface", name, "--json").stdout
        assert json.loads(document)["services"][0]["name"] == "\x1b]0;PWN\x07\x9b2J\u202e"
        broken = lab.ask(lab.receiver, "status", "--interface", name)
        assert broken.returncode == 2
        for text in (shown.stdout, document, broken.stderr):
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), text
    finally:
        shutil.rmtree(path.parent)
