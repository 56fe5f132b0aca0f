"""The calls of the pages of commands: forms, command lines, start, stop, and files of results."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse, Response

from fairweir.documents import shipped
from fairweir.errors import ConfigError
from fairweir.studio.body import text_of
from fairweir.studio.folder import Folder
from fairweir.studio.result_files import result_files

if TYPE_CHECKING:
    from fairweir.studio.app import Studio
    from fairweir.studio.commands import Call, CommandPage

#: Patterns of captures.
_CAPTURES: Final = ("pcap", "pcapng", "qlog", "sqlog")
_MAX_SUGGESTED: Final = 200


async def _commands(studio: Studio, _: Mapping[str, Any]) -> Response:
    """Return the names of the commands that have a page, and the commands that were started."""
    return JSONResponse({"names": list(studio.pages), "works": studio.works.documents()})


async def _form(studio: Studio, body: Mapping[str, Any]) -> Response:
    """Return the form of a command, with suggestions for its fields."""
    page = await _page(studio, body)
    wanted = {field.suggests for field in page.fields} - {""}
    suggestions = await asyncio.to_thread(lambda: {one: _SUGGESTIONS[one](studio.folder) for one in wanted})
    return JSONResponse({**page.document(), "suggestions": suggestions})


async def _line(studio: Studio, body: Mapping[str, Any]) -> Response:
    """Return the command line of a filled form."""
    return JSONResponse({"line": (await _call(studio, body)).line})


async def _start(studio: Studio, body: Mapping[str, Any]) -> Response:
    call = await _call(studio, body)
    work = studio.works.start(call, studio.folder.root, is_tied=bool(body.get("is_tied", False)))
    return JSONResponse(work.document())


async def _restart(studio: Studio, body: Mapping[str, Any]) -> Response:
    """Start the same command again; if the command resumes, it continues interrupted work."""
    ended = studio.works.get(body.get("work"))
    return JSONResponse(studio.works.start(ended.call, studio.folder.root, is_tied=ended.is_tied).document())


async def _stop(studio: Studio, body: Mapping[str, Any]) -> Response:
    work = studio.works.get(body.get("work"))
    work.stop()
    return JSONResponse(work.document())


async def _files(studio: Studio, body: Mapping[str, Any]) -> Response:
    """Return the files of results that a command has written so far."""
    output = studio.works.get(body.get("work")).call.output
    files = await asyncio.to_thread(result_files, studio.folder, output)
    return JSONResponse({"files": [vars(file) for file in files]})


async def _page(studio: Studio, body: Mapping[str, Any]) -> CommandPage:
    name = text_of(body, "command")
    if name not in studio.pages:
        raise ConfigError(f"`{name[:60]}` has no page", hint=f"choose {', '.join(studio.pages)}", key="command")
    return await asyncio.to_thread(studio.pages[name])


async def _call(studio: Studio, body: Mapping[str, Any]) -> Call:
    values = body.get("values", {})
    if not isinstance(values, dict):
        raise ConfigError("values are an object", key="values")
    return (await _page(studio, body)).call(values, studio.folder)


def _ccas(_: Folder) -> list[str]:
    from fairweir.ccas.lookup import algorithms

    return list(algorithms())


def _captures(folder: Folder) -> list[str]:
    patterns = [f"{depth}*.{suffix}" for depth in ("", "*/", "*/*/") for suffix in _CAPTURES]
    found = [path.relative_to(folder.root) for pattern in patterns for path in sorted(folder.root.glob(pattern))]
    return [str(path) for path in found if not any(part.startswith(".") for part in path.parts)][:_MAX_SUGGESTED]


_SUGGESTIONS: Final[dict[str, Callable[[Folder], list[str]]]] = {
    "ccas": _ccas,
    "captures": _captures,
    "rules": lambda _: [*shipped.by_name("rules"), *shipped.by_name("controllers")],
    "policies": lambda _: list(shipped.by_name("policies")),
}

CALLS: Final[dict[str, Callable[[Studio, Mapping[str, Any]], Coroutine[Any, Any, Response]]]] = {
    "commands": _commands,
    "form": _form,
    "command-line": _line,
    "start-command": _start,
    "restart-command": _restart,
    "stop-command": _stop,
    "command-files": _files,
}
