"""A guard does not modify a live transfer whose headers are signed by TCP-MD5 (RFC 2385).

TCP-AO needs a kernel with CONFIG_TCP_AO; runs of only the BPF program test its option, as well as that of MD5
(crates/guardd/tests/kernel_window.rs).
"""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
import time
from pathlib import Path

import pytest
from tests.kernel.guard_lab import TIMEOUT_S, Lab

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(60), pytest.mark.usefixtures("daemon")]

TCP_MD5SIG = 14
PORT = 5001
SENDER, RECEIVER = "10.9.0.1", "10.9.1.2"
PART = bytes(range(256)) * 1024


def signed(peer: str) -> socket.socket:
    """Return a socket that signs its segments to a peer: struct tcp_md5sig of linux/tcp.h."""
    made = socket.socket()
    key = b"of the receiver's owner"
    address = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton(peer))
    try:
        made.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, address + struct.pack("=BBHI80s", 0, 0, len(key), 0, key))
    except OSError as error:
        made.close()
        pytest.skip(f"not run: no CONFIG_TCP_MD5SIG: {error}")
    return made


def test_a_signed_transfer_passes_untouched(lab: Lab, cap: Path) -> None:
    """The cap would reduce the window to 3 kB; the sender drops an ACK if a single header was changed."""
    received: list[bytes] = []
    listener = lab.receiver.within(lambda: signed(SENDER))
    listener.bind((RECEIVER, PORT))
    listener.listen()
    lab.sockets.append(listener)

    def receive() -> None:
        connection, _ = listener.accept()
        with connection:
            digest = hashlib.sha256()
            while part := connection.recv(1 << 16):
                digest.update(part)
            received.append(digest.digest())

    receiver = threading.Thread(target=receive, daemon=True)
    receiver.start()
    lab.guard(lab.receiver, "v0", "--config", str(cap))
    digest = hashlib.sha256()
    with lab.sender.within(lambda: signed(RECEIVER)) as sender:
        sender.settimeout(20)
        sender.connect((RECEIVER, PORT))
        deadline = time.monotonic() + TIMEOUT_S
        # until the cap holds the flow, and ACKs whose window it would have changed have passed
        while not (seen := lab.status(lab.receiver, "v0"))["kernel"]["authenticated"]:
            assert time.monotonic() < deadline, seen
            sender.sendall(PART)
            digest.update(PART)
        for _ in range(10):
            sender.sendall(PART)
            digest.update(PART)
        sender.shutdown(socket.SHUT_WR)
        receiver.join(20)
    assert received == [digest.digest()]
    assert lab.status(lab.receiver, "v0")["kernel"]["rewritten"] == 0
