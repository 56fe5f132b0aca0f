"""The receiver's daemon as a service: its privileges after startup, and its metrics over HTTP."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.kernel.guard_lab import TIMEOUT_S, Lab, is_held, is_open, send_until

from fairweir.guard.daemon import find_daemon

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(60)]

CAP_NET_ADMIN = 1 << 12
NOBODY = 65534
PORT = 9465
SERVICE = 'fairweir_guard_service_target_bits_per_second{interface="v0",service="10.9.0.1"}'


def capabilities(pid: int) -> dict[str, set[int]]:
    """Return each set of capabilities; it must be equal in all threads of the process."""
    sets: dict[str, set[int]] = {}
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        for name, value in re.findall(r"^Cap(\w+):\s+([0-9a-f]+)$", status.read_text(), re.MULTILINE):
            sets.setdefault(name, set()).add(int(value, 16))
    return sets


def works_to_its_end(lab: Lab, child: subprocess.Popen[str], rules: Path) -> None:
    """Check that the daemon holds a flow, rereads its policies, and undoes all changes."""
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    rules.write_text("[service]\n")
    child.send_signal(signal.SIGHUP)
    assert child.stderr is not None
    assert "policies reloaded" in child.stderr.readline()
    send_until(is_open, connection)
    rules.write_text("[[cap]]\nrate = '1Mbps'\n")
    child.send_signal(signal.SIGHUP)
    send_until(is_held, connection)
    child.send_signal(signal.SIGTERM)
    assert child.wait(10) == 0
    send_until(is_open, connection)


@pytest.mark.parametrize(
    ("how", "left"), [((), 0), (("--clamp",), 0), (("--filters",), CAP_NET_ADMIN)], ids=["links", "clamps", "filters"]
)
def test_a_guard_that_runs_has_given_up_its_rights(
    lab: Lab, cap: Path, tmp_path: Path, how: tuple[str, ...], left: int
) -> None:
    log, metrics = tmp_path / "log.jsonl", tmp_path / "guard.prom"
    files = ("--config", str(cap), "--log", str(log), "--metrics", str(metrics))
    child = lab.guard(lab.receiver, "v0", *files, "--metrics-listen", f"127.0.0.1:{PORT}", *how)
    assert "fairweir_guard_flows" in scraped(lab)  # its thread runs
    nothing = {0}
    assert capabilities(child.pid) == {"Inh": nothing, "Prm": {left}, "Eff": {left}, "Bnd": nothing, "Amb": nothing}
    assert "NoNewPrivs:\t1\n" in Path(f"/proc/{child.pid}/status").read_text()
    works_to_its_end(lab, child, cap)
    assert "release" in log.read_text()
    assert not metrics.exists()
    filters = lab.receiver.sh("tc filter show dev v0 egress; tc filter show dev v0 ingress")
    assert "guard" not in filters


def test_the_units_capabilities_are_enough(lab: Lab, cap: Path, request: pytest.FixtureRequest) -> None:
    unit = (Path(__file__).parents[2] / "packaging" / "fairweir-guard@.service").read_text()
    [granted] = re.findall(r"^AmbientCapabilities=(.*)$", unit, re.MULTILINE)
    added = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in granted.split())
    cap.parent.chmod(0o755)
    # A name that no other test has, as the directory is shared with all who run tests here.
    device = f"u{os.getpid()}"
    lab.receiver.sh(
        f"""ip link set v0 down; ip link set v0 name {device}
        ip link set {device} up; ip route add default via 10.9.1.254"""
    )
    made = Path("/run", re.findall(r"^RuntimeDirectory=(.*)$", unit, re.MULTILINE)[0].replace("%i", device))
    refused = lab.ask(lab.receiver, "status", "--interface", device)
    assert "has no guard" in refused.stderr
    made.mkdir(parents=True)
    os.chown(made, NOBODY, NOBODY)
    request.addfinalizer(lambda: shutil.rmtree(made))
    child = lab.guard(
        lab.receiver,
        device,
        "--config",
        "/dev/stdin",
        through=f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --inh-caps=-all,{added} "
        f"--ambient-caps={added} --bounding-set=-all,{added}",
        reads=cap,
    )
    nothing = {0}
    sets = capabilities(child.pid)
    del sets["Bnd"]  # only CAP_SETPCAP could lower this limit
    assert sets == {"Inh": nothing, "Prm": nothing, "Eff": nothing, "Amb": nothing}
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    [service] = lab.status(lab.receiver, device)["services"]
    assert [flow["pid"] for flow in service["flows"]] == [os.getpid()], "it finds other users' processes"
    child.send_signal(signal.SIGINT)
    assert child.wait(10) == 130


def test_a_user_without_privileges_learns_which_are_missing(lab: Lab) -> None:
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
    command = [*drop, str(find_daemon()), "run", "--interface", "lo", "--policy", "service"]
    done = lab.receiver.within(lambda: subprocess.run(command, capture_output=True, text=True, check=False))
    assert done.returncode == 2
    assert "the guard needs CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN, which this process lacks" in done.stderr


def scraped(lab: Lab, path: str = "/metrics", method: str = "GET") -> str:
    """Query the endpoint in the receiver's namespace; return its text, or the status if it rejects the request."""

    def ask() -> str:
        asking = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
        asking.request(method, path)
        answer = asking.getresponse()
        body = answer.read().decode()
        asking.close()
        assert answer.headers["Connection"] == "close"
        return body if answer.status == http.client.OK else str(answer.status)

    return lab.receiver.within(ask)


def test_metrics_are_served_whatever_clients_do(lab: Lab, cap: Path, tmp_path: Path) -> None:
    metrics = tmp_path / "guard.prom"
    listen = f"127.0.0.1:{PORT}"
    child = lab.guard(lab.receiver, "v0", "--config", str(cap), "--metrics", str(metrics), "--metrics-listen", listen)
    assert scraped(lab, "/") == "404"
    assert scraped(lab, method="POST") == "405"

    def hostile() -> list[socket.socket]:
        clients = [socket.create_connection(("127.0.0.1", PORT)) for _ in range(150)]
        with suppress(ConnectionError):
            clients[1].sendall(b"GET /metrics HTTP/1.1\r\nA: " + b"a" * (1 << 20))
        clients[2].sendall(b"GET /metrics HT")
        return clients

    # Decisions continue: a new flow is held, and the socket of `status` answers.
    clients = lab.receiver.within(hostile)
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    assert lab.status(lab.receiver, "v0")["services"]
    deadline = time.monotonic() + TIMEOUT_S
    while SERVICE not in (text := scraped(lab)):  # behind all of them
        assert time.monotonic() < deadline, text
        time.sleep(0.2)
    names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    assert names == set(re.findall(r"^# TYPE (\S+)", metrics.read_text(), re.MULTILINE))
    for client in clients:
        client.close()
    assert len(list(Path(f"/proc/{child.pid}/task").iterdir())) == 2, "one thread answers"

    taken = lab.ask(lab.receiver, "run", "--interface", "lo", "--policy", "service", "--metrics-listen", listen)
    assert taken.returncode == 2
    assert f"--metrics-listen {listen}: Address already in use" in taken.stderr
