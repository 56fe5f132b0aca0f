"""Serve the studio on this machine until Ctrl-C."""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import uvicorn

from fairweir.errors import ConfigError
from fairweir.studio.access import AccessCheck
from fairweir.studio.app import Studio
from fairweir.studio.commands import Pages
from fairweir.studio.folder import Folder

LOOPBACK: Final = "127.0.0.1"
#: Ports that are tried if none is given, so that the address stays the same where possible.
PORTS: Final = range(8642, 8652)


@dataclass(frozen=True)
class Address:
    """Where the page is served; ``url`` contains the token."""

    host: str
    port: int
    token: str

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self.host}:{self.port}/{self.token}/"


def listen(host: str, port: int | None) -> tuple[socket.socket, int]:
    """Return a socket that listens, and its port.

    Parameters
    ----------
    port : int; None: the first free one of :data:`PORTS`, else any

    Raises
    ------
    ConfigError : the port is in use, or the host is not an address of this machine
    """
    candidates = [port] if port is not None else [*PORTS, 0]
    for candidate in candidates:
        try:
            listener = socket.create_server((host, candidate))
        except OSError as error:
            reason = f"cannot listen on {host}:{candidate}: {(error.strerror or str(error)).lower()}"
            if candidate == candidates[-1] or isinstance(error, socket.gaierror):
                hint = "leave out `--port` for a free one" if port is not None else "check `--host`"
                raise ConfigError(reason, hint=hint, key="--port" if port is not None else "--host") from None
            continue
        return listener, int(listener.getsockname()[1])
    raise AssertionError("unreachable")


def serve(
    folder: Folder, first: str, *, pages: Pages, host: str, port: int | None, on_ready: Callable[[Address], object]
) -> None:
    """Serve the page; return when the process is interrupted.

    Parameters
    ----------
    first : str, name of the scenario that is opened first
    pages : Pages, of commands
    on_ready : called with the address when the page can be opened

    Raises
    ------
    ConfigError : the port is in use
    """
    listener, port = listen(host, port)
    address = Address(host, port, secrets.token_urlsafe(24))
    names = {host, "localhost"} if host == LOOPBACK else {host}
    hosts = frozenset(f"{name}:{port}" for name in names)
    studio = Studio(folder, first, pages)
    application = AccessCheck(studio.application(), address.token, hosts)
    server = _Server(
        uvicorn.Config(
            application,
            log_level="error",
            lifespan="on",
            timeout_graceful_shutdown=1,
            server_header=False,
            access_log=False,
        ),
        lambda: on_ready(address),
        studio.end,
    )
    with listener:
        server.run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], Any], end: Callable[[], Any]) -> None:
        super().__init__(config)
        self._on_ready, self._end = on_ready, end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end()
        # It reports that the streams of events of open pages are closed, as they must be.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)
