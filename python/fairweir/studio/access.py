"""Access to the studio's page: only with the token in the address, only from this machine's browser."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Maximum size of a request, bytes: a scenario's text in JSON.
MAX_BODY_BYTES: Final = 16 << 20

_HEADERS: Final = {
    # Styles: the editor and the figures add some of their own.
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    b"img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class AccessCheck:
    """Reject requests without the token, to another host name, or from another origin.

    A page of another site can make a browser send requests to this machine. It knows neither the token nor, if it has
    its name resolve to 127.0.0.1, can it change the Host header.

    Parameters
    ----------
    app : the application to protect; it sees paths without the token
    token : str, the first part of every path
    hosts : the accepted values of the Host header, with the port
    """

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or answer it with an error."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        prefix = f"/{self.token}"
        inner = {**scope, "path": scope["path"].removeprefix(prefix) or "/", "raw_path": b"", "root_path": ""}
        await self.app(inner, _limited(receive), _with_headers(send))

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        host = headers.get(b"host", b"").decode("latin-1")
        if host not in self.hosts:
            return PlainTextResponse("unknown host\n", 421)
        first = scope["path"].removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(first.encode(), self.token.encode()):
            return PlainTextResponse("open the address that `fairweir studio` printed\n", 404)
        if scope["method"] not in ("GET", "HEAD"):
            origin = headers.get(b"origin", b"").decode("latin-1")
            if origin != f"http://{host}":
                return PlainTextResponse("request from another origin\n", 403)
        return None


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message.get("headers", ())}
            added = [(name, value) for name, value in _HEADERS.items() if name not in given]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return wrapped


class TooLargeError(Exception):
    """A request is larger than the limit."""


def _limited(receive: Receive) -> Receive:
    read = 0

    async def wrapped() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > MAX_BODY_BYTES:
            raise TooLargeError
        return message

    return wrapped
