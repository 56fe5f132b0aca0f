"""A path with a delay between a sender and a guarded receiver, and attackers on it.

Both ends have a TUN device. This program forwards packets between them, and can observe, delay and forge packets.
"""

from __future__ import annotations

import fcntl
import heapq
import itertools
import math
import os
import random
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.kernel.guard_lab import Lab, Namespace

TUNSETIFF, IFF_TUN_WITHOUT_INFO = 0x400454CA, 0x1001
FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
TIMESTAMPS = 8
WINDOW_SCALE = 3
SENDER, RECEIVER = "10.8.0.1", "10.8.0.2"
#: Behind a router.
FORWARDED = "10.9.1.2"
SENDER6, RECEIVER6 = "fd08::1", "fd08::2"
#: Maximum lateness of the path, s; with a lateness of an RTT, the path is not the path that a test needs.
LATE_S = 0.02
#: Maximum number of measurements until one is on time.
ATTEMPTS = 5


def tun(namespace: Namespace, v4: str, v6: str) -> int:
    """Make a TUN device ``t0`` in a namespace; return its descriptor, non-blocking."""

    def make() -> int:
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"t0", IFF_TUN_WITHOUT_INFO))
        return fd

    fd = namespace.within(make)
    namespace.sh(
        f"""ip addr add {v4}/24 dev t0; ip addr add {v6}/64 dev t0 nodad
        ip link set t0 up mtu 1500 txqueuelen 5000"""
    )
    return fd


def checksum(data: bytes) -> int:
    """Compute the Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Segment:
    """A TCP segment over IPv4 or IPv6, without extension headers."""

    packet: bytes
    at: int = field(init=False)

    def __post_init__(self) -> None:
        self.at = 40 if self.packet[0] >> 4 == 6 else (self.packet[0] & 15) * 4

    @property
    def seq(self) -> int:
        return int(struct.unpack_from("!I", self.packet, self.at + 4)[0])

    @property
    def ack(self) -> int:
        return int(struct.unpack_from("!I", self.packet, self.at + 8)[0])

    @property
    def flags(self) -> int:
        return int(self.packet[self.at + 13])

    @property
    def window(self) -> int:
        return int(struct.unpack_from("!H", self.packet, self.at + 14)[0])

    @property
    def header(self) -> int:
        return (self.packet[self.at + 12] >> 4) * 4

    @property
    def payload(self) -> int:
        return len(self.packet) - self.at - self.header

    def option(self, wanted: int) -> int:
        """Return the position of an option; 0 if there is none."""
        at, end = self.at + 20, self.at + self.header
        while at < end and self.packet[at]:
            if self.packet[at] == wanted:
                return at
            at += 1 if self.packet[at] == 1 else max(self.packet[at + 1], 1)
        return 0

    def finished(self) -> bytes:
        """Return the packet with correct checksums."""
        packet = bytearray(self.packet)
        v6 = packet[0] >> 4 == 6
        if not v6:
            packet[10:12] = b"\0\0"
            packet[10:12] = struct.pack("!H", checksum(bytes(packet[: self.at])))
        addresses = packet[8:40] if v6 else packet[12:20]
        packet[self.at + 16 : self.at + 18] = b"\0\0"
        segment = bytes(packet[self.at :])
        pseudo = bytes(addresses) + struct.pack("!II", len(segment), 6)
        packet[self.at + 16 : self.at + 18] = struct.pack("!H", checksum(pseudo + segment))
        return bytes(packet)

    def forge(
        self, flags: int, *, skip: int = 0, payload: bytes = b"", options: bytes = b"", good: bool = False
    ) -> bytes:
        """Return a segment of the same connection, `skip` bytes behind it, with a wrong or a `good` checksum."""
        seq = (self.seq + self.payload + skip) & 0xFFFFFFFF
        tcp = bytearray(self.packet[self.at : self.at + 20])
        struct.pack_into("!I", tcp, 4, seq)
        tcp[12], tcp[13] = (20 + len(options)) // 4 << 4, flags
        body = bytes(tcp) + options + payload
        ip = bytearray(self.packet[: self.at])
        if ip[0] >> 4 == 6:
            struct.pack_into("!H", ip, 4, len(body))
        else:
            struct.pack_into("!H", ip, 2, self.at + len(body))
        packet = bytearray(Segment(bytes(ip) + body).finished())
        if not good:
            packet[self.at + 16] ^= 0x55
        return bytes(packet)


#: An attacker: function of a packet in transit that returns the packets to deliver instead, in order.
Tamper = Callable[[bytes, float], list[bytes]]


def honest(packet: bytes, _: float) -> list[bytes]:
    """Deliver a packet unchanged."""
    return [packet]


class Lossy:
    """Lose packets at random, independently of each other; the same ones for the same `seed`."""

    def __init__(self, rate: float, seed: int) -> None:
        self.rate, self.random = rate, random.Random(seed)  # noqa: S311 - not for secrets

    def __call__(self, packet: bytes, _: float) -> list[bytes]:
        return [] if self.random.random() < self.rate else [packet]


#: Maximum distance of two ACKs that left at the same time, on two processors of a busy machine, s.
TOGETHER_S = 0.005


class Edges:
    """Measure how far the right edges of windows sent to the sender move back, bytes."""

    def __init__(self, tamper: Tamper = honest) -> None:
        self.tamper, self.scale = tamper, 0
        self.ack, self.edge, self.moved = -1, 0, 0.0
        #: Maximum distance of a right edge below an earlier right edge, bytes.
        self.right_back = 0
        #: The same maximum for ACKs that acknowledge at least one unit of the window.
        self.right_back_of_units = 0
        #: Number of ACKs, and of ACKs that a newer ACK has overtaken. Either their packets are acknowledged already, so
        #: that their windows are ignored (RFC 9293 §3.10.7.4), or it is of the same packets, at about the same time.
        self.acks = self.overtaken = 0

    def __call__(self, packet: bytes, now: float) -> list[bytes]:
        segment = Segment(packet)
        if segment.flags & SYN:
            at = segment.option(WINDOW_SCALE)
            self.scale = packet[at + 2] if at else 0
        elif segment.flags & ACK and not segment.flags & RST:
            self._note(segment.ack, segment.window << self.scale, now)
        return self.tamper(packet, now)

    def _note(self, ack: int, window: int, now: float) -> None:
        self.acks += 1
        if self.ack >= 0:
            acked = _distance(self.ack & 0xFFFFFFFF, ack)
            if acked < 0:
                self.overtaken += 1
                return
            back = self.edge - (self.ack + acked + window)
            if acked == 0 and back >= 1 << self.scale and now < self.moved + TOGETHER_S:
                self.overtaken += 1
                return
            self.right_back = max(self.right_back, back)
            if acked >= 1 << self.scale:
                self.right_back_of_units = max(self.right_back_of_units, back)
            ack = self.ack + acked
        if ack + window > self.edge:
            self.edge, self.moved = ack + window, now
        self.ack = max(self.ack, ack)


def _distance(a: int, b: int) -> int:
    """Return how far sequence number `b` lies behind `a`."""
    return (b - a + (1 << 31)) % (1 << 32) - (1 << 31)


class Every:
    """Forge a segment after a data segment periodically; period in ms."""

    def __init__(self, ms: float, forge: Callable[[Segment], bytes]) -> None:
        self.period, self.forge, self.next = ms / 1e3, forge, 0.0
        self.forged = 0

    def __call__(self, packet: bytes, now: float) -> list[bytes]:
        segment = Segment(packet)
        if segment.payload == 0 or now < self.next:
            return [packet]
        self.next = now + self.period
        self.forged += 1
        return [packet, self.forge(segment)]


class Path:
    """A sender and a receiver with `one_way_s` between them, and a device ``t0`` to guard where the data arrive.

    `tamper` is applied to packets that arrive, `back` to packets that the receiver sends.
    `guarded` has that device: the receiver, or with `is_forwarded` a router before it; it is at FORWARDED then.
    """

    def __init__(
        self, one_way_s: float = 0.01, tamper: Tamper = honest, back: Tamper = honest, *, is_forwarded: bool = False
    ) -> None:
        self.lab = Lab()
        self.receiver = self.lab.receiver
        self.guarded = self.lab.router if is_forwarded else self.receiver
        self.tampers = [back, tamper]
        self.one_way_s = one_way_s
        self.fds = [tun(self.lab.sender, SENDER, SENDER6), tun(self.guarded, RECEIVER, RECEIVER6)]
        if is_forwarded:
            self.lab.sender.sh(f"ip route add {FORWARDED} via {RECEIVER} dev t0 src {SENDER}")
        self.stop = threading.Event()
        #: Maximum lateness of a packet due to this program, s.
        self.late_s = 0.0
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self._move, daemon=True)
        self.thread.start()

    def _move(self) -> None:
        try:
            self._relay()
        except Exception as error:  # noqa: BLE001 - told by close()
            self.error = error

    def _relay(self) -> None:
        waiting: list[tuple[float, int, int, bytes]] = []
        order = itertools.count()
        while not self.stop.is_set():
            now = time.monotonic()
            wait = min(0.05, max(0.0, waiting[0][0] - now)) if waiting else 0.05
            ready, _, _ = select.select(self.fds, [], [], wait)
            now = time.monotonic()
            for source in ready:
                to = self.fds[source == self.fds[0]]
                for _ in range(64):
                    try:
                        packet = os.read(source, 2000)
                    except BlockingIOError:
                        break
                    tamper = self.tampers[to == self.fds[1]]
                    out = tamper(packet, now) if _is_tcp(packet) else [packet]
                    for each in out:
                        heapq.heappush(waiting, (now + self.one_way_s, next(order), to, each))
            while waiting and waiting[0][0] <= now:
                due, _, to, packet = heapq.heappop(waiting)
                self.late_s = max(self.late_s, time.monotonic() - due)
                with suppress(BlockingIOError, OSError):
                    os.write(to, packet)

    def close(self) -> None:
        self.stop.set()
        self.thread.join()
        for fd in self.fds:
            os.close(fd)
        self.lab.close()
        assert self.error is None, self.error


def _is_tcp(packet: bytes) -> bool:
    return packet[6 if packet[0] >> 4 == 6 else 9] == 6


@dataclass
class Transfer:
    """A transfer from the sender to the receiver, measured at the receiver, until it is closed."""

    path: Path
    host: str = RECEIVER
    port: int = 5001
    #: Maximum size of a segment with its options, bytes; 0 for the device's maximum.
    maxseg: int = 0
    received: int = 0
    sender: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = self.path.receiver.within(lambda: socket.create_server((self.host, self.port), family=family))
        self.sender = self.path.lab.sender.within(self._dial)
        connection, _ = listener.accept()
        listener.close()
        self.path.lab.sockets += [self.sender, connection]
        threading.Thread(target=self._receive, args=(connection,), daemon=True).start()
        threading.Thread(target=self._send, daemon=True).start()

    def _dial(self) -> socket.socket:
        connection = socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET)
        if self.maxseg:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.maxseg)
        connection.settimeout(5)
        connection.connect((self.host, self.port))
        return connection

    def _send(self) -> None:
        with suppress(OSError):
            while True:
                self.sender.sendall(bytes(1 << 16))

    def _receive(self, connection: socket.socket) -> None:
        with suppress(OSError):
            while data := connection.recv(1 << 16):
                self.received += len(data)

    def mbps(self, seconds: float, after: float = 0.0) -> float:
        """Return the throughput at the receiver over `seconds`, after a delay of `after` seconds."""
        time.sleep(after)
        before, start = self.received, time.monotonic()
        time.sleep(seconds)
        return (self.received - before) * 8e-6 / (time.monotonic() - start)

    def mbps_on_time(self, seconds: float, after: float, limit: float) -> float:
        """Measure until neither the path nor the guard was late meanwhile; on a machine too noisy, nothing is judged.

        A pause of the machine shows in one measurement. A flow above `limit` in all of them is not held, and its own
        packets make the path late.
        """
        time.sleep(after)
        slowest = math.inf
        for _ in range(ATTEMPTS):
            before = reported(self.path)["decisions"]["missed"]
            self.path.late_s = 0.0
            mbps = self.mbps(seconds)
            missed = reported(self.path)["decisions"]["missed"] - before
            if self.path.late_s < LATE_S and missed == 0:
                return mbps
            slowest = min(slowest, mbps)
        if slowest > limit:
            return slowest
        return pytest.skip(f"not judged: a packet was late by {self.path.late_s:.3f} s, {missed} decisions missed")


def reported(path: Path) -> dict[str, Any]:
    """Return the status of the guard at the receiver."""
    return path.lab.status(path.guarded, "t0")


class OldEchoes:
    """A sender that echoes the receiver's timestamps `lag_s` late, so that the RTT seems longer by `lag_s`."""

    def __init__(self, lag_s: float) -> None:
        self.lag_s = lag_s
        self.seen: list[tuple[float, bytes]] = []

    def __call__(self, packet: bytes, now: float) -> list[bytes]:
        segment = Segment(packet)
        at = segment.option(TIMESTAMPS)
        if not at:
            return [packet]
        self.seen.append((now, packet[at + 6 : at + 10]))
        while len(self.seen) > 1 and self.seen[1][0] <= now - self.lag_s:
            self.seen.pop(0)
        return [Segment(packet[: at + 6] + self.seen[0][1] + packet[at + 10 :]).finished()]


def wide_open(packet: bytes, _: float) -> list[bytes]:
    """Deliver an ACK with the maximum window, for a sender that ignores the true window."""
    segment = Segment(packet)
    if segment.flags & SYN:
        return [packet]
    at = segment.at + 14
    return [Segment(packet[:at] + b"\xff\xff" + packet[at + 2 :]).finished()]


class Behind:
    """A sender of IPv6 with extension headers between the IP header and the TCP header."""

    def __init__(self, kind: int, headers: bytes) -> None:
        self.kind, self.headers = kind, headers

    def __call__(self, packet: bytes, now: float) -> list[bytes]:
        if packet[0] >> 4 != 6:
            return [packet]
        length = struct.pack("!H", len(packet) - 40 + len(self.headers))
        return [packet[:4] + length + bytes([self.kind]) + packet[7:40] + self.headers + packet[40:]]
