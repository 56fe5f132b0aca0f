"""Only requests with the token, to this host and from this page reach the studio."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from fairweir.studio.access import MAX_BODY_BYTES, AccessCheck, TooLargeError

TOKEN = "t0ken"  # noqa: S105
HOST = "127.0.0.1:8642"


async def _behind(scope: Any, receive: Any, send: Any) -> None:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await PlainTextResponse(f"{scope['path']} {len(body)}")(scope, receive, send)


def ask(
    path: str, *, method: str = "GET", headers: dict[str, str] | None = None, bodies: tuple[bytes, ...] = (b"",)
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the answer."""
    given = {"host": HOST} | (headers or {})
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    sent: list[dict[str, Any]] = []
    left = [{"type": "http.request", "body": body, "more_body": i < len(bodies) - 1} for i, body in enumerate(bodies)]

    async def receive() -> Any:
        return left.pop(0)

    async def send(message: Any) -> None:
        sent.append(dict(message))

    asyncio.run(AccessCheck(_behind, TOKEN, frozenset({HOST, "localhost:8642"}))(scope, receive, send))
    answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answered, b"".join(message.get("body", b"") for message in sent[1:])


def test_the_page_is_answered_with_headers_that_restrict_it() -> None:
    status, headers, body = ask(f"/{TOKEN}/api")
    assert (status, body) == (200, b"/api 0")
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/", "/t0ke", "/t0ken2/", "//t0ken/", "/T0KEN/", "/%74%30ken", "/é"])
def test_without_the_token_nothing_is_found(path: str) -> None:
    status, headers, body = ask(path)
    assert status == 404
    assert TOKEN.encode() not in body
    assert "content-security-policy" in headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:8642", "", "127.0.0.1:8643"])
def test_other_host_names_are_refused(host: str) -> None:
    """A name of another site that resolves to this machine (DNS rebinding) is in the Host header."""
    assert ask(f"/{TOKEN}/", headers={"host": host})[0] == 421


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:8642", "http://127.0.0.1:8643"]
)
def test_calls_come_from_the_page_only(origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    assert ask(f"/{TOKEN}/api/play", method="POST", headers=headers)[0] == 403
    assert ask(f"/{TOKEN}/api/play", method="DELETE", headers=headers)[0] == 403
    assert ask(f"/{TOKEN}/api/play", method="POST", headers={"origin": f"http://{HOST}"})[0] == 200


def test_a_large_request_is_not_read_to_its_end() -> None:
    part = bytes(MAX_BODY_BYTES // 2 + 1)
    with pytest.raises(TooLargeError):
        ask(f"/{TOKEN}/api", method="POST", headers={"origin": f"http://{HOST}"}, bodies=(part, part, part))
