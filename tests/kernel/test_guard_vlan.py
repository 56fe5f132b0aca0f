"""Packets with VLAN tags: the test writes and reads the frames, because many kernels have no VLAN devices."""

from __future__ import annotations

import fcntl
import ipaddress
import itertools
import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.kernel.guard_lab import TIMEOUT_S, Lab

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(60)]

TUNSETIFF, IFF_TAP_WITHOUT_INFO = 0x400454CA, 0x1002
ETH_P_ALL = 3
SYN, ACK = 0x02, 0x10
SCALE = 7
SEGMENT = 1448
#: Window scale: windows are in units of 2^SCALE bytes.
WINDOW = 500
#: Two segments of Ethernet.
MIN_UNITS = -(-2 * 1460 // (1 << SCALE))


@dataclass
class Wire:
    """Both ends of a connection over a TAP device: arriving frames are written to it, sent frames are read from it."""

    tap: int
    device: socket.socket
    tags: bytes
    remote: bytes
    local: bytes
    stamp: int = 0

    def arrive(self, flags: int, seq: int, ack: int, payload: int = 0) -> None:
        """Send a packet of the sender."""
        options = _options(flags, 0, self.stamp)
        os.write(self.tap, self._frame(self.remote, self.local, (443, 5001), flags, seq, ack, options, bytes(payload)))

    def leave(self, flags: int, seq: int, ack: int) -> int:
        """Send a packet of the receiver; check its checksum and return its window on the wire."""
        self.stamp += 1
        options = _options(flags, self.stamp, 0)
        sent = self._frame(self.local, self.remote, (5001, 443), flags, seq, ack, options, b"")
        self.device.send(sent)
        start = len(sent) - len(options) - 20
        while True:
            frame = os.read(self.tap, 2000)
            if frame[:start] == sent[:start]:
                break
        segment = frame[start:]
        assert _checksum(_pseudo(self.local, self.remote, len(segment)) + segment) == 0
        [window] = struct.unpack_from("!H", segment, 14)
        return int(window)

    def _frame(
        self,
        source: bytes,
        to: bytes,
        ports: tuple[int, int],
        flags: int,
        seq: int,
        ack: int,
        options: bytes,
        payload: bytes,
    ) -> bytes:
        header = struct.pack("!HHIIBBHHH", *ports, seq, ack, (20 + len(options)) << 2, flags, WINDOW, 0, 0)
        segment = header + options + payload
        checksum = _checksum(_pseudo(source, to, len(segment)) + segment)
        segment = segment[:16] + struct.pack("!H", checksum) + segment[18:]
        if len(source) == 4:
            network = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 0, 0, 64, 6, 0, source, to)
            network = network[:10] + struct.pack("!H", _checksum(network)) + network[12:]
        else:
            network = struct.pack("!IHBB16s16s", 6 << 28, len(segment), 6, 64, source, to)
        kind = 0x0800 if len(source) == 4 else 0x86DD
        return b"\2" * 6 + b"\4" * 6 + self.tags + struct.pack("!H", kind) + network + segment


def _options(flags: int, stamp: int, echo: int) -> bytes:
    """Return the options: timestamps, and in a SYN the window scale."""
    stamps = struct.pack("!BBBBII", 1, 1, 8, 10, stamp, echo)
    return stamps + bytes((3, 3, SCALE, 1)) if flags & SYN else stamps


def _pseudo(source: bytes, to: bytes, length: int) -> bytes:
    return source + to + struct.pack("!II", length, 6)


def _checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@pytest.fixture
def tap(lab: Lab) -> Iterator[int]:
    """Create a TAP device ``tap0`` at the receiver."""

    def make() -> int:
        made = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        fcntl.ioctl(made, TUNSETIFF, struct.pack("16sH22x", b"tap0", IFF_TAP_WITHOUT_INFO))
        return made

    made = lab.receiver.within(make)
    lab.receiver.sh("ip link set tap0 up")
    yield made
    os.close(made)


@pytest.mark.parametrize(
    ("tags", "remote", "local", "vlan"),
    [
        (struct.pack("!HH", 0x8100, 5), "192.0.2.7", "10.0.0.1", 5),
        (struct.pack("!HHHH", 0x88A8, 7, 0x8100, 5), "192.0.2.7", "10.0.0.1", 5),
        (struct.pack("!HH", 0x8100, 0x6005), "2001:db8::7", "fd00::9", 5),
        (b"", "2001:db8::7", "fd00::9", 0),
    ],
    ids=["tagged", "twice", "ipv6, with a priority", "untagged"],
)
def test_tagged_packets_are_measured_and_held(
    lab: Lab, tap: int, cap: Path, tags: bytes, remote: str, local: str, vlan: int
) -> None:
    lab.guard(lab.receiver, "tap0", "--config", str(cap))
    device = lab.receiver.within(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
    device.bind(("tap0", 0))
    lab.sockets.append(device)
    wire = Wire(tap, device, tags, ipaddress.ip_address(remote).packed, ipaddress.ip_address(local).packed)

    wire.arrive(SYN, 1_000, 0)
    assert wire.leave(SYN | ACK, 5_000, 1_001) == WINDOW, "SYNs are left alone"
    seq = 1_001
    windows: list[int] = []
    deadline = time.monotonic() + TIMEOUT_S
    while not windows or windows[-1] > MIN_UNITS:
        assert time.monotonic() < deadline, windows
        wire.arrive(ACK, seq, 5_001, SEGMENT)
        seq += SEGMENT
        windows.append(wire.leave(ACK, 5_001, seq))
        time.sleep(0.005)
    assert windows[0] == WINDOW
    assert all(after >= before - -(-SEGMENT // (1 << SCALE)) for before, after in itertools.pairwise(windows))
    [service] = lab.status(lab.receiver, "tap0")["services"]
    [flow] = service["flows"]
    assert (flow["vlan"], flow["lost"], service["name"]) == (vlan, 0, remote)
    assert json.loads(lab.ask(lab.receiver, "explain", remote, "--interface", "tap0", "--json").stdout)
