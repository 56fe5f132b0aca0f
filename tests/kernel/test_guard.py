"""The receiver's daemon in network namespaces: windows as the sender's kernel sees them, and nothing left behind."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from fairweir.errors import KernelError
from fairweir.guard.daemon import find_daemon
from fairweir.run import run
from fairweir.scenario import dumbbell
from fairweir.world_kernel import Guarding, Options

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(60)]

T = TypeVar("T")
CLONE_NEWNET = 0x40000000
#: How long a window may take to follow; a quiet machine needs a second.
PATIENCE_S = 10.0
#: Two segments of Ethernet, rounded up to a unit of 2^10 bytes.
HELD = 3072
#: What nobody holds is far above.
OPEN = 20_000
CAP = "[[cap]]\nrate = '1Mbps'\n"


def missing() -> str:
    """Say what keeps guard from working here, empty if nothing does."""
    if os.geteuid() != 0:
        return "no root"
    try:
        find_daemon()
    except KernelError as error:
        return error.message
    return ""


@pytest.fixture(autouse=True, scope="module")
def daemon() -> None:
    """Without root or the daemon nothing here can run; the summary says so and why."""
    if why := missing():
        pytest.skip(f"not run: {why}")


class Namespace:
    """A network namespace without a name: it ends with this object."""

    def __init__(self) -> None:
        def make() -> int:
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.unshare(CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

        self.fd = _on_a_thread(make)
        self.sh("ip link set lo up")

    def within(self, work: Callable[[], T]) -> T:
        """Run `work` inside; sockets and programs that it starts stay there."""

        def enter() -> T:
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.setns(self.fd, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            return work()

        return _on_a_thread(enter)

    def sh(self, commands: str) -> str:
        done = self.within(lambda: subprocess.run(["sh", "-ec", commands], capture_output=True, text=True, check=False))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        os.close(self.fd)


def _on_a_thread(work: Callable[[], T]) -> T:
    results: list[T] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    [result] = results
    return result


class Lab:
    """A sender at 10.9.0.1 and fd00::1, a receiver at 10.9.1.2 and fd01::2, and a router between them.

    The router's devices are ``left`` (to the sender) and ``right``; the receiver's is ``v0``.
    """

    def __init__(self) -> None:
        self.sender, self.router, self.receiver = Namespace(), Namespace(), Namespace()
        self.children: list[subprocess.Popen[str]] = []
        self.sockets: list[socket.socket] = []
        own, way = f"/proc/{os.getpid()}/fd", self.router
        way.sh(
            f"""ip link add left type veth peer name v0 netns {own}/{self.sender.fd}
            ip link add right type veth peer name v0 netns {own}/{self.receiver.fd}
            ip addr add 10.9.0.254/24 dev left; ip addr add 10.9.1.254/24 dev right
            ip addr add fd00::fe/64 dev left nodad; ip addr add fd01::fe/64 dev right nodad
            ip link set left up; ip link set right up
            echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding"""
        )
        for namespace, net, host in ((self.sender, 0, 1), (self.receiver, 1, 2)):
            namespace.sh(
                f"""ip addr add 10.9.{net}.{host}/24 dev v0; ip addr add fd0{net}::{host}/64 dev v0 nodad
                ip link set v0 up
                ip route add default via 10.9.{net}.254; ip -6 route add default via fd0{net}::fe"""
            )

    def guard(
        self, at: Namespace, device: str, *words: str, through: str = "", reads: Path = Path(os.devnull)
    ) -> subprocess.Popen[str]:
        """Start the daemon, by another program if `through` names one; when this returns, it sees packets."""
        command = [*through.split(), str(find_daemon()), "run", "--interface", device, *words]

        def start() -> subprocess.Popen[str]:
            with reads.open() as given:
                return subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        child = at.within(start)
        self.children.append(child)
        assert child.stderr is not None
        line = child.stderr.readline()
        assert "guards" in line, line
        return child

    def ask(self, at: Namespace, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the daemon's program to its end."""
        command = [str(find_daemon()), *words]
        return at.within(lambda: subprocess.run(command, capture_output=True, text=True, check=False, timeout=20))

    def connect(self, host: str, port: int = 5001) -> socket.socket:
        """A connection from the sender to the receiver, who reads what comes."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def listen() -> socket.socket:
            listener = socket.create_server((host, port), family=family)
            self.sockets.append(listener)
            return listener

        listener = self.receiver.within(listen)
        threading.Thread(target=_sink, args=(listener,), daemon=True).start()
        connection = self.sender.within(lambda: socket.create_connection((host, port), timeout=5))
        connection.setblocking(False)
        self.sockets.append(connection)
        return connection

    def close(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()
            for pipe in (child.stdout, child.stderr):
                if pipe is not None:
                    pipe.close()
        for each in self.sockets:
            each.close()
        for namespace in (self.sender, self.router, self.receiver):
            namespace.close()


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab()
    yield made
    made.close()


def _sink(listener: socket.socket) -> None:
    with suppress(OSError):
        connection, _ = listener.accept()
        with connection:
            while connection.recv(1 << 16):
                pass


def window(connection: socket.socket) -> int:
    """Give the window that the peer has advertised last, bytes: tcpi_snd_wnd (Linux 5.4)."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int(struct.unpack_from("=I", info, 228)[0])


def send_until(is_reached: Callable[[int], bool], *connections: socket.socket) -> list[int]:
    """Send on all connections until the first one's window is as wanted; give all windows."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for connection in connections:
            with suppress(BlockingIOError):
                connection.send(bytes(20_000))
        time.sleep(0.005)
        if is_reached(window(connections[0])):
            break
    windows = [window(connection) for connection in connections]
    assert is_reached(windows[0]), windows
    return windows


def is_held(bytes_: int) -> bool:
    return bytes_ <= HELD


def is_open(bytes_: int) -> bool:
    return bytes_ > OPEN


@pytest.fixture
def cap(tmp_path: Path) -> Path:
    path = tmp_path / "cap.toml"
    path.write_text(CAP)
    return path


@pytest.mark.parametrize(
    ("host", "how", "code"),
    [("10.9.1.2", signal.SIGINT, 130), ("fd01::2", signal.SIGTERM, 0), ("10.9.1.2", signal.SIGKILL, -9)],
    ids=["ipv4, interrupted", "ipv6, terminated", "ipv4, killed"],
)
def test_a_window_is_held_and_given_back(lab: Lab, cap: Path, host: str, how: signal.Signals, code: int) -> None:
    connection = lab.connect(host)
    send_until(is_open, connection)
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))  # the connection is older than its guard
    send_until(is_held, connection)
    child.send_signal(how)
    assert child.wait(10) == code
    send_until(is_open, connection)
    again = lab.guard(lab.receiver, "v0", "--config", str(cap))
    send_until(is_held, connection)
    assert again.poll() is None


@pytest.mark.parametrize("host", ["10.9.1.2", "fd01::2"])
def test_sockets_are_clamped_and_freed(lab: Lab, cap: Path, host: str) -> None:
    connection = lab.connect(host)
    send_until(is_open, connection)
    child = lab.guard(lab.receiver, "v0", "--config", str(cap), "--clamp")
    send_until(is_held, connection)
    child.send_signal(signal.SIGTERM)
    assert child.wait(10) == 0
    send_until(is_open, connection)


def test_filters_of_a_killed_guard_go_with_the_next_or_by_cleaning(lab: Lab, cap: Path) -> None:
    connection = lab.connect("10.9.1.2")
    for _ in range(2):
        child = lab.guard(lab.receiver, "v0", "--config", str(cap), "--filters")
        send_until(is_held, connection)
        child.kill()
        child.wait()
        assert "guard_egress" in lab.receiver.sh("tc filter show dev v0 egress")
    assert json.loads(lab.ask(lab.receiver, "clean").stdout) == {"removed": 2}
    assert "guard" not in lab.receiver.sh("tc filter show dev v0 egress; tc filter show dev v0 ingress")
    send_until(is_open, connection)


def test_a_gateway_holds_the_hosts_behind_it_with_right_checksums(lab: Lab, cap: Path) -> None:
    lab.receiver.within(lambda: _finish_checksums("v0"))
    lab.guard(lab.router, "left", "--config", str(cap))  # sees the handshake, and has no socket
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    acked_before = _acked(connection)
    send_until(lambda _: _acked(connection) > acked_before + 100_000, connection)
    errors = lab.sender.sh("grep '^Tcp:' /proc/net/snmp").splitlines()
    counts = dict(zip(errors[0].split(), errors[1].split(), strict=True))
    assert counts["InCsumErrors"] == "0"
    status = json.loads(lab.ask(lab.router, "status", "--interface", "left", "--json").stdout)
    assert status["kernel"]["rewritten"] > 0


def _acked(connection: socket.socket) -> int:
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int(struct.unpack_from("=Q", info, 120)[0])


def _finish_checksums(device: str) -> None:
    """Let TCP finish its checksums itself: ETHTOOL_STXCSUM 0."""
    with socket.socket() as any_socket:
        value = ctypes.create_string_buffer(struct.pack("=II", 0x17, 0))
        request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
        fcntl.ioctl(any_socket, 0x8946, request)


def test_a_second_guard_is_refused_and_questions_are_answered(lab: Lab, cap: Path) -> None:
    connection = lab.connect("10.9.1.2")
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))
    send_until(is_held, connection)
    second = lab.ask(lab.receiver, "run", "--interface", "v0", "--policy", "service")
    assert second.returncode == 2
    assert f"`v0` has a guard already, process {child.pid}" in second.stderr
    explained = lab.ask(lab.receiver, "explain", "10.9.1.2:5001", "--interface", "v0")
    assert explained.returncode == 0, explained.stderr
    assert "capped at 1.00 Mbit/s" in explained.stdout
    unknown = lab.ask(lab.receiver, "explain", "10.9.9.9", "--interface", "v0")
    assert (unknown.returncode, "no flow of `v0`" in unknown.stderr) == (2, True)
    elsewhere = lab.ask(lab.sender, "status", "--interface", "v0")
    assert (elsewhere.returncode, "has no guard" in elsewhere.stderr) == (2, True)


def test_only_what_a_rule_is_about_is_held(lab: Lab, tmp_path: Path) -> None:
    config = tmp_path / "one.toml"
    config.write_text("[[cap]]\ngroup = 'local-port'\nservice = 'port 5001'\nrate = '1Mbps'\n")
    lab.guard(lab.receiver, "v0", "--config", str(config))
    held, free = lab.connect("10.9.1.2"), lab.connect("10.9.1.2", port=5002)
    send_until(is_open, free)
    windows = send_until(is_held, held, free)
    assert is_open(windows[1]), windows


def test_a_dry_run_tells_and_leaves_windows_alone(lab: Lab, cap: Path, tmp_path: Path) -> None:
    log, metrics = tmp_path / "log.jsonl", tmp_path / "guard.prom"
    words = ("--config", str(cap), "--dry-run", "--log", str(log), "--metrics", str(metrics), "--json")
    child = lab.guard(lab.receiver, "v0", *words)
    connection = lab.connect("10.9.1.2")
    send_until(lambda _: log.exists() and "hold" in log.read_text(), connection)
    assert is_open(window(connection))
    assert 'fairweir_guard_flows{interface="v0"} ' in metrics.read_text()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=10)
    status = json.loads(out)
    [service] = status["services"]
    assert (service["name"], status["kernel"]["rewritten"], status["dry_run"]) == ("10.9.0.1", 0, True)
    [event] = [json.loads(line) for line in log.read_text().splitlines() if "hold" in line]
    assert event["target_mbps"] == pytest.approx(1.0)
    assert not metrics.exists(), "what no longer runs has no numbers"


def test_policies_are_read_again_and_bad_ones_change_nothing(lab: Lab, cap: Path) -> None:
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    cap.write_text("[[cap]]\nrate = 'fast'\n")
    child.send_signal(signal.SIGHUP)
    assert child.stderr is not None
    assert "keeps its policies" in (line := child.stderr.readline())
    assert "line 2" in line
    send_until(is_held, connection)
    cap.write_text("[service]\n")
    child.send_signal(signal.SIGHUP)
    assert "has new policies" in child.stderr.readline()
    send_until(is_open, connection)


def test_a_forest_beside_its_policy_decides(tmp_path: Path) -> None:
    forest, config = tmp_path / "forest.json", tmp_path / "flow.toml"
    config.write_text("[flow]\nmodel = 'forest.json'\n")
    log = tmp_path / "log.jsonl"
    scenario = dumbbell("cubic", rate="20Mbps", rtprop="20ms", buffer="1bdp", duration="4s", warmup="2s")
    scenario = scenario.override({"flow.*.rwnd": "2MB", "flow.*.delayed_ack": 2})
    outcomes = {}
    for verdict, baseline in (("below", [1, 0, 0]), ("above", [0, 0, 1])):
        forest.write_text(json.dumps({"features": [], "baseline": baseline, "trees": []}))
        played = run(scenario, on="kernel", options=Options(guarding=Guarding(find_daemon(), config, log=log)))
        [flow] = played.summary["flows"]
        outcomes[verdict] = flow["throughput_mbps"]
        assert f"{verdict} its target" in log.read_text()
    assert outcomes["below"] > 15, "what was never above is never held"
    assert outcomes["above"] < 5, "what is always above goes down to two segments"


def test_a_forest_that_is_none_changes_nothing(lab: Lab, tmp_path: Path) -> None:
    forest, config = tmp_path / "forest.json", tmp_path / "flow.toml"
    config.write_text("[flow]\nmodel = 'forest.json'\n")
    words = ("--interface", "v0", "--config", str(config))
    missing = lab.ask(lab.receiver, "run", *words)
    assert (missing.returncode, f"read {forest}, the model of [flow]" in missing.stderr) == (2, True), missing.stderr
    forest.write_text('{"features": [], "baseline": [0, 0, 1], "trees": []}')
    child = lab.guard(lab.receiver, "v0", "--config", str(config))
    forest.write_text('{"features": [], "baseline": [0, 1], "trees": []}')
    child.send_signal(signal.SIGHUP)
    assert child.stderr is not None
    line = child.stderr.readline()
    assert f"keeps its policies: {forest}, the model of [flow]: baseline must have 3 numbers" in line


def test_it_ends_with_its_device(lab: Lab, cap: Path) -> None:
    child = lab.guard(lab.receiver, "v0", "--config", str(cap))
    lab.receiver.sh("ip link set v0 down; ip link set v0 up")
    time.sleep(1.2)
    assert child.poll() is None, "down and up is no end"
    lab.receiver.sh("ip link del v0")
    assert child.wait(10) == 2
    assert child.stderr is not None
    assert "`v0` is gone" in child.stderr.read()


def test_the_units_capabilities_are_enough(lab: Lab, cap: Path) -> None:
    unit = (Path(__file__).parents[2] / "packaging" / "fairweir-guard@.service").read_text()
    [granted] = re.findall(r"^AmbientCapabilities=(.*)$", unit, re.MULTILINE)
    added = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in granted.split())
    cap.parent.chmod(0o755)
    child = lab.guard(
        lab.receiver,
        "v0",
        "--config",
        "/dev/stdin",
        through=f"setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,{added} --ambient-caps={added} "
        f"--bounding-set=-all,{added}",
        reads=cap,
    )
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    child.send_signal(signal.SIGINT)
    assert child.wait(10) == 130


def test_a_rate_is_held_where_the_path_has_a_delay(tmp_path: Path) -> None:
    config = tmp_path / "cap.toml"
    config.write_text("[[cap]]\nrate = '20Mbps'\n")
    scenario = dumbbell("cubic", rate="100Mbps", rtprop="20ms", buffer="1bdp", duration="6s", warmup="3s")
    # A window shrinks as data arrive, and the kernel world's is 1 GB else.
    scenario = scenario.override({"flow.*.rwnd": "2MB", "flow.*.delayed_ack": 2})
    played = run(scenario, on="kernel", options=Options(guarding=Guarding(find_daemon(), config)))
    [flow] = played.summary["flows"]
    assert 15 < flow["throughput_mbps"] < 21
    assert flow["lost_pkts"] == 0, "what is held fills no queue"
    assert played.summary["guard"]["kernel"]["rewritten"] > 100


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--interface", "nosuch0", "--policy", "service"), "no such interface: `nosuch0`"),
        (("--interface", "lo", "--policy", "cap"), "no rate is given"),
        (("--interface", "lo", "--policy", "servise"), "no such policy: `servise`"),
    ],
)
def test_what_cannot_be_is_refused(lab: Lab, words: tuple[str, ...], told: str) -> None:
    done = lab.ask(lab.sender, "run", *words)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr
