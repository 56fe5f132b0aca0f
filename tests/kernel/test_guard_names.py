"""Names of senders, learned from observed DNS answers."""

from __future__ import annotations

import ipaddress
import json
import socket
import struct
import time
from pathlib import Path

import pytest
from tests.kernel.guard_lab import Lab, Namespace, is_held, is_open, send_until

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(60)]

DNS_PORT = 53
QUERY, REPLY = 0x0100, 0x8180
A, AAAA, INTERNET = 1, 28, 1
TTL_S = 300
#: A flow has its name at its first decision.
SETTLED_S = 0.5


def message(number: int, flags: int, name: str, address: str) -> bytes:
    """Return a DNS query for the address of a name, or a reply with this address (RFC 1035 section 4)."""
    packed = ipaddress.ip_address(address).packed
    kind = A if len(packed) == 4 else AAAA
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    question = labels + struct.pack("!HH", kind, INTERNET)
    answer = struct.pack("!HHHIH", 0xC00C, kind, INTERNET, TTL_S, len(packed)) + packed
    is_reply = flags == REPLY
    head = struct.pack("!HHHHHH", number, flags, 1, int(is_reply), 0, 0)
    return head + question + (answer if is_reply else b"")


class Resolver:
    """A name server at the sender, and its clients at the receiver."""

    def __init__(self, lab: Lab, host: str) -> None:
        def bound(namespace: Namespace, to: tuple[str, int]) -> socket.socket:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            made = namespace.within(lambda: socket.socket(family, socket.SOCK_DGRAM))
            made.settimeout(5)
            made.bind(to)
            lab.sockets.append(made)
            return made

        self.server = bound(lab.sender, (host, DNS_PORT))
        self.asker = bound(lab.receiver, ("::" if ":" in host else "0.0.0.0", 0))  # noqa: S104
        self.host = host

    def answer(self, number: int, name: str, address: str) -> None:
        """Send a query for the name and an answer."""
        self.ask(number, name, address)
        self.forge(number, name, address)

    def ask(self, number: int, name: str, address: str) -> None:
        """Send a query for the name."""
        self.asker.sendto(message(number, QUERY, name, address), (self.host, DNS_PORT))
        _, self.who = self.server.recvfrom(1500)

    def forge(self, number: int, name: str, address: str) -> None:
        """Send unsolicited answers."""
        self.server.sendto(message(number, REPLY, name, address), self.who)
        self.asker.recv(1500)


@pytest.mark.parametrize(("host", "sender"), [("10.9.1.2", "10.9.0.1"), ("fd01::2", "fd00::1")])
def test_a_name_that_was_asked_for_is_the_senders(lab: Lab, tmp_path: Path, host: str, sender: str) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[[cap]]\ngroup = 'name'\nservice = 'video.example'\nrate = '1Mbps'\n")
    lab.guard(lab.receiver, "v0", "--config", str(rules), "--dns")
    resolver = Resolver(lab, sender)
    resolver.answer(7, "other.example", sender)
    other = lab.connect(host, 5002)
    send_until(is_open, other)
    time.sleep(SETTLED_S)
    [service] = lab.status(lab.receiver, "v0")["services"]
    assert service["name"] == "other.example"

    resolver.answer(8, "Video.Example", sender)
    resolver.forge(8, "evil.example", sender)  # a second answer to one question
    resolver.forge(9, "evil.example", sender)
    video = lab.connect(host, 5001)
    windows = send_until(is_held, video, other)
    assert is_open(windows[1]), windows
    explained = lab.ask(lab.receiver, "explain", ":5001", "--interface", "v0").stdout
    assert "sent by video.example" in explained


def test_an_answer_to_another_question_teaches_nothing(lab: Lab, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[[cap]]\ngroup = 'name'\nrate = '1Mbps'\n")
    lab.guard(lab.receiver, "v0", "--config", str(rules), "--dns")
    resolver = Resolver(lab, "10.9.0.1")
    long = ".".join(["a" * 63] * 3 + ["b" * 61])
    for number, asked, answers in (
        (7, "good.example", ["other.example", "good.exampl", "good.example.x", "good-example", "aaaa"]),
        (
            8,
            "GOOD.eXample",
            ["\x1bood.example", "good.example\x07", "Good.Example"],
        ),  # the client chooses upper or lower case
        (9, long, [long[:-1] + "c", long[:-1], long]),
    ):
        resolver.ask(number, asked, "10.9.0.1")
        for port, name in enumerate(answers, 100 * number):
            resolver.forge(number, name, "10.9.0.1")
            connection = lab.connect("10.9.1.2", 5000 + port)
            send_until(is_held, connection)
            time.sleep(SETTLED_S)
        explained = json.loads(lab.ask(lab.receiver, "explain", "10.9.1.2", "--interface", "v0", "--json").stdout)
        names = {int(one["flow"]["local"].rpartition(":")[2]) - 5000: one["flow"]["name"] for one in explained}
        learned = [names.get(port) for port in range(100 * number, 100 * number + len(answers))]
        before = {7: None, 8: None, 9: "good.example"}[number]
        right = number != 7
        expected = [before] * (len(answers) - 1) + [asked.lower() if right else before]
        assert learned == expected, (asked, learned)


def test_a_file_counts_more_than_answers_and_filters_leave_no_room(lab: Lab, cap: Path, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("10.9.0.1 ours\n")
    lab.guard(lab.receiver, "v0", "--config", str(cap), "--dns", "--hosts", str(hosts))
    Resolver(lab, "10.9.0.1").answer(7, "theirs.example", "10.9.0.1")
    connection = lab.connect("10.9.1.2")
    send_until(is_held, connection)
    [service] = lab.status(lab.receiver, "v0")["services"]
    assert [flow["name"] for flow in service["flows"]] == ["ours"]

    refused = lab.ask(lab.sender, "run", "--interface", "v0", "--policy", "service", "--dns", "--filters")
    assert (refused.returncode, "--dns needs links" in refused.stderr) == (2, True), refused.stderr
    assert "guard" not in lab.sender.sh("tc filter show dev v0 egress; tc filter show dev v0 ingress")
