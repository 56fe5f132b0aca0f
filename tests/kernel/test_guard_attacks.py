"""Remote attacks on a policy, during which the receiver's daemon must limit a flow to its rate."""

from __future__ import annotations

import resource
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from tests.kernel.guard_lab import TIMEOUT_S
from tests.kernel.guard_path import (
    ACK,
    FIN,
    FORWARDED,
    RECEIVER,
    RECEIVER6,
    RST,
    SYN,
    Behind,
    Every,
    OldEchoes,
    Path,
    Segment,
    Tamper,
    Transfer,
    honest,
    reported,
    wide_open,
)

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(60), pytest.mark.usefixtures("daemon")]

CAP_MBPS = 10.0
#: Maximum rate during an attack: a tenth above the cap. Minimum: on a busy machine the relay delays packets, and a flow
#: is slower than its cap.
HELD = (0.3 * CAP_MBPS, 1.1 * CAP_MBPS)
#: Time until a flow is held, and time for which it is measured, s.
WARMUP_S, MEASURED_S = 1.2, 2.0

MakePath = Callable[..., Path]


@pytest.fixture
def path() -> Iterator[MakePath]:
    """Make a path with a guard at the receiver; it ends with the test."""
    made: list[Path] = []

    def make(
        tamper: Tamper = honest,
        rate: str = f"{CAP_MBPS:g}Mbps",
        back: Tamper = honest,
        *,
        is_forwarded: bool = False,
    ) -> Path:
        one = Path(tamper=tamper, back=back, is_forwarded=is_forwarded)
        made.append(one)
        one.lab.guard(one.guarded, "t0", "--policy", "cap", "--rate", rate)
        return one

    yield make
    for one in made:
        one.close()


def assert_held(path: Path, transfer: Transfer, warmup_s: float = WARMUP_S) -> None:
    mbps = transfer.mbps_on_time(MEASURED_S, warmup_s, HELD[1])
    status = reported(path)
    assert HELD[0] < mbps < HELD[1], status
    assert status["kernel"]["beyond"] == 0, "a sender that keeps to its window loses nothing"


@pytest.mark.parametrize("host", [RECEIVER, FORWARDED], ids=["own flow", "forwarded flow"])
def test_a_sender_that_ignores_its_window_is_held(path: MakePath, host: str) -> None:
    """The host's TCP has advertised a large window and would accept all data."""
    one = path(back=wide_open, is_forwarded=host == FORWARDED)
    mbps = Transfer(one, host).mbps_on_time(MEASURED_S, WARMUP_S, HELD[1])
    status = reported(one)
    # The sender interprets the drops as congestion and may be slower than its cap.
    assert mbps < HELD[1], status
    assert status["kernel"]["beyond"] > 0, status


@pytest.mark.parametrize(
    "forge",
    [
        lambda data: data.forge(FIN | ACK),
        lambda data: data.forge(RST | ACK),
        lambda data: data.forge(RST, skip=3000, good=True),
        lambda data: data.forge(SYN),
    ],
    ids=["fin, wrong checksum", "rst, wrong checksum", "rst beyond the window's left edge", "syn, wrong checksum"],
)
def test_a_segment_that_the_receiver_drops_lifts_no_policy(path: MakePath, forge: Callable[[Segment], bytes]) -> None:
    attacker = Every(100, forge)
    one = path(attacker)
    assert_held(one, Transfer(one))
    assert attacker.forged > 10


@pytest.mark.parametrize("options", [b"", b"\x03\x03\x0e\x01"], ids=["without a scale", "with the largest scale"])
def test_a_forged_syn_changes_no_scale_of_a_forwarded_flow(path: MakePath, options: bytes) -> None:
    """With a wrong scale the flow's limit would be far too high or too low."""
    one = path(Every(100, lambda data: data.forge(SYN, skip=5000, options=options)), is_forwarded=True)
    assert_held(one, Transfer(one, FORWARDED))


@pytest.fixture
def many_descriptors() -> Iterator[ExitStack]:
    """Raise this process's limit of descriptors to some thousands; objects on the stack are closed after the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    with ExitStack() as stack:
        yield stack
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_idle_connections_keep_no_flow_out_of_the_table(path: MakePath, many_descriptors: ExitStack) -> None:
    """An address has at most 512 flows in the table; a flow that transfers data replaces an idle flow."""
    one, opened = path(), many_descriptors
    one.receiver.sh("echo 4096 > /proc/sys/net/core/somaxconn; echo 4096 > /proc/sys/net/ipv4/tcp_max_syn_backlog")
    listener = opened.enter_context(
        one.receiver.within(lambda: socket.create_server((RECEIVER, 5002), backlog=4096)),
    )
    idle: list[socket.socket] = []

    def connect() -> None:
        for _ in range(600):
            connection = opened.enter_context(socket.socket())
            connection.setblocking(False)
            connection.connect_ex((RECEIVER, 5002))
            idle.append(connection)

    one.lab.sender.within(connect)
    for _ in idle:
        opened.enter_context(listener.accept()[0])
    for connection in idle:
        connection.send(b"x")
    deadline = time.monotonic() + TIMEOUT_S
    while not (status := reported(one))["table"]["refused"]:
        assert time.monotonic() < deadline, status
        time.sleep(0.05)
    # Until they are known to be idle, each of them has its share of the cap.
    assert_held(one, Transfer(one), warmup_s=3.0)


def test_an_rtt_that_the_sender_claims_widens_no_window(path: MakePath) -> None:
    one = path(OldEchoes(0.5))
    assert_held(one, Transfer(one), warmup_s=2.0)


@pytest.mark.parametrize(
    "headers",
    [(60, (b"\x3c\0\1\4\0\0\0\0" * 15) + b"\x06\0\1\4\0\0\0\0"), (44, b"\x06\0\0\0\0\0\0\7")],
    ids=["16 extension headers", "atomic fragments"],
)
def test_ipv6_headers_hide_no_flow(path: MakePath, headers: tuple[int, bytes]) -> None:
    one = path(Behind(*headers))
    one.lab.sender.sh("ip link set t0 mtu 1300")
    assert_held(one, Transfer(one, RECEIVER6))


def test_a_flow_without_timestamps_is_held(path: MakePath) -> None:
    one = path()
    one.receiver.sh("echo 0 > /proc/sys/net/ipv4/tcp_timestamps")
    assert_held(one, Transfer(one))


def test_a_flow_without_timestamps_that_is_older_than_the_guard_is_held(path: MakePath) -> None:
    one = path()
    one.receiver.sh("echo 0 > /proc/sys/net/ipv4/tcp_timestamps")
    [guard] = one.lab.children
    guard.kill()
    guard.wait()
    transfer = Transfer(one)
    time.sleep(0.3)
    one.lab.guard(one.receiver, "t0", "--policy", "cap", "--rate", "10Mbps")
    assert_held(one, transfer, warmup_s=2.5)


def test_a_sender_that_reconnects_from_its_port_stays_held(path: MakePath) -> None:
    """At two segments the target of the next connection is the same as the last one's."""
    one = path(rate="500kbps")
    listener = one.receiver.within(lambda: socket.create_server((RECEIVER, 5001)))
    received = 0

    def send(seconds: float) -> None:
        nonlocal received
        connection = one.lab.sender.within(
            lambda: socket.create_connection((RECEIVER, 5001), timeout=5, source_address=("", 4000))
        )
        accepted, _ = listener.accept()
        connection.setblocking(False)
        accepted.setblocking(False)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for work in (lambda: connection.send(bytes(1 << 16)), lambda: accepted.recv(1 << 20)):
                try:
                    done = work()
                except BlockingIOError:
                    continue
                received += len(done) if isinstance(done, bytes) else 0
            time.sleep(0.001)
        # Without a FIN the port is free immediately.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        accepted.close()

    with listener:
        send(1.0)
        received = 0
        for _ in range(4):
            send(0.5)
    # Two segments per 20 ms are 1.2 Mbit/s.
    assert received * 8e-6 / 2.0 < 2.5, reported(one)
