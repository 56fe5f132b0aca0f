"""Network namespaces for tests of the receiver's daemon: a sender, a router, a receiver, and the sender's windows."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from fairweir.errors import KernelError
from fairweir.guard.daemon import find_daemon

T = TypeVar("T")
CLONE_NEWNET = 0x40000000
#: Maximum time until a window follows a change, s; an idle machine needs 1 s.
TIMEOUT_S = 10.0
#: The room of a slow pace (crates/guard/src/pace.rs): four quanta of two segments of Ethernet.
HELD = 4 * 2 * 1460
#: The windows of flows without a limit are much larger.
OPEN = 20_000


def missing() -> str:
    """Return the reason why the guard cannot run on this machine; empty if it can."""
    if os.geteuid() != 0:
        return "no root"
    try:
        find_daemon()
    except KernelError as error:
        return error.message
    return ""


_RECEIVER = """
import ctypes, pathlib, socket, sys
name, host, port, cgroup = sys.argv[1:]
PR_SET_NAME = 15
ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())
if cgroup:
    pathlib.Path(cgroup, "cgroup.procs").write_text("0")
listener = socket.create_server((host, int(port)))
print("listens", flush=True)
connection, _ = listener.accept()
while connection.recv(1 << 16):
    pass
"""


class Namespace:
    """A network namespace without a name, which is removed with this object."""

    def __init__(self) -> None:
        def make() -> int:
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.unshare(CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

        self.fd = _on_a_thread(make)
        self.sh("ip link set lo up")

    def within(self, work: Callable[[], T]) -> T:
        """Run `work` in the namespace; its sockets and programs remain in the namespace."""

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
        """Start the daemon, with the program `through` if it is given; return when the daemon observes packets."""
        command = [*through.split(), str(find_daemon()), "run", "--interface", device, *words]

        def start() -> subprocess.Popen[str]:
            with reads.open() as given:
                return subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        child = at.within(start)
        self.children.append(child)
        assert child.stderr is not None
        line = child.stderr.readline()
        assert line.startswith(f"guard of {device}: "), line
        return child

    def ask(self, at: Namespace, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the daemon's program until it exits."""
        command = [str(find_daemon()), *words]
        return at.within(lambda: subprocess.run(command, capture_output=True, text=True, check=False, timeout=20))

    def status(self, at: Namespace, device: str) -> dict[str, Any]:
        """Return the status of a guard."""
        reported: dict[str, Any] = json.loads(self.ask(at, "status", "--interface", device, "--json").stdout)
        return reported

    def flow(self, at: Namespace, device: str, local: str, has: str) -> dict[str, Any]:
        """Return the guard's flow of this local address; wait until its field `has` is known.

        A search for owners that comes before the process accepts the connection finds none; the next is a second later.
        """
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            services = self.status(at, device)["services"]
            [found] = [flow for each in services for flow in each["flows"] if flow["local"] == local]
            if found[has] is not None or time.monotonic() > deadline:
                return dict(found)
            time.sleep(0.1)

    def connect(self, host: str, port: int = 5001) -> socket.socket:
        """Open a connection from the sender to the receiver, which reads all data."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def listen() -> socket.socket:
            listener = socket.create_server((host, port), family=family)
            self.sockets.append(listener)
            return listener

        listener = self.receiver.within(listen)
        threading.Thread(target=_sink, args=(listener,), daemon=True).start()
        return self.dial(host, port)

    def dial(self, host: str, port: int) -> socket.socket:
        """Open a connection from the sender to an existing listener."""
        connection = self.sender.within(lambda: socket.create_connection((host, port), timeout=5))
        connection.setblocking(False)
        self.sockets.append(connection)
        return connection

    def receive_as(self, name: str, host: str, port: int, cgroup: Path | None = None) -> int:
        """Start a process with this name in this control group that listens and reads all data; return its id."""
        command = [sys.executable, "-c", _RECEIVER, name, host, str(port), str(cgroup or "")]
        child = self.receiver.within(lambda: subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        self.children.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "listens\n"
        return child.pid

    def close(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe is not None:
                    pipe.close()
        for each in self.sockets:
            each.close()
        for namespace in (self.sender, self.router, self.receiver):
            namespace.close()


def _sink(listener: socket.socket) -> None:
    with suppress(OSError):
        connection, _ = listener.accept()
        with connection:
            while connection.recv(1 << 16):
                pass


def window(connection: socket.socket) -> int:
    """Return the latest window that the peer advertised, bytes: tcpi_snd_wnd (Linux 5.4)."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int(struct.unpack_from("=I", info, 228)[0])


def send_until(is_reached: Callable[[int], bool], *connections: socket.socket) -> list[int]:
    """Send on all connections until the first connection's window satisfies a condition; return all windows."""
    deadline = time.monotonic() + TIMEOUT_S
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
