"""The studio's web application: a page, and the calls by which it runs scenarios, draws them and stores files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from importlib import resources
from typing import Any, Final, get_args

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from fairweir import __version__
from fairweir.documents import shipped
from fairweir.documents.toml import parse_document
from fairweir.errors import ConfigError, FairweirError
from fairweir.judging.differences import are_identical, differences
from fairweir.play.run import World
from fairweir.play.runs_page import runs_page
from fairweir.play.simulate import is_users
from fairweir.scenario.model import Scenario
from fairweir.show.bundle import bundle
from fairweir.show.frame import encode
from fairweir.show.picture import INTERVALS
from fairweir.studio.access import TooLargeError
from fairweir.studio.body import text_of
from fairweir.studio.command_calls import CALLS as COMMAND_CALLS
from fairweir.studio.commands import Pages
from fairweir.studio.edit import edit, line_of
from fairweir.studio.folder import ChangedOnDiskError, Folder, controllers_of, only_world_of
from fairweir.studio.form import form_of
from fairweir.studio.gallery import CERTIFICATE, EXPERIMENT, groups, text_of_item
from fairweir.studio.jobs import Request, play
from fairweir.studio.lessons import PREFIX, lessons
from fairweir.studio.result_files import send
from fairweir.studio.runs import Runs
from fairweir.studio.windows import SupersededError, Window, Windows
from fairweir.studio.work import Works
from fairweir.studio.workers import DEFAULT_NUMBER, DEFAULT_WAITING, Workers

MAX_SEEDS: Final = 20
#: Limit of the times of a view, s; no run is that long.
MAX_VIEW_S: Final = 1e9
#: Media type of :mod:`fairweir.show.frame`.
FRAME_TYPE: Final = "application/octet-stream"
_STATIC_TYPES: Final = {
    "studio.js": "text/javascript",
    "studio.css": "text/css",
    "commands.js": "text/javascript",
    "gallery.js": "text/javascript",
}
#: Path of a page -> its file in `templates/`.
_PAGES: Final = {"/": "studio.html", "/commands": "commands.html", "/gallery": "gallery.html"}

Call = Callable[["Studio", Mapping[str, Any]], Coroutine[Any, Any, Response]]


class Studio:
    """The state behind the page.

    Parameters
    ----------
    folder : Folder; no other files are read or written
    first : str, name of the scenario that the page opens
    pages : Pages, of commands
    """

    def __init__(self, folder: Folder, first: str, pages: Pages) -> None:
        self.folder, self.first, self.pages = folder, first, pages
        self.works = Works()
        self.workers = Workers(DEFAULT_NUMBER, DEFAULT_WAITING)
        self.windows = Windows()
        self.runs = Runs()

    def application(self) -> Starlette:
        """Return the ASGI application."""

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            await self.workers.start()
            try:
                yield
            finally:
                self.workers.close()
                await self.works.close()

        calls = [
            Route(f"/api/{name}", self._endpoint(call), methods=["POST"])
            for name, call in {**_CALLS, **COMMAND_CALLS}.items()
        ]
        pages = [
            *(Route(path, _page) for path in _PAGES),
            Route("/events", self._events),
            Route("/work", self._work),
            Route("/files/{name:path}", self._file),
            *(Route(f"/{name}", _static) for name in _STATIC_TYPES),
        ]
        return Starlette(routes=[*pages, *calls], lifespan=lifespan)

    def _endpoint(self, call: Call) -> Callable[[HttpRequest], Coroutine[Any, Any, Response]]:
        async def answer(request: HttpRequest) -> Response:
            try:
                body = await request.json()
            except TooLargeError:
                return JSONResponse({"errors": [{"message": "the request is too large"}]}, 413)
            except (ValueError, RecursionError):
                body = None
            if not isinstance(body, dict):
                return JSONResponse({"errors": [{"message": "a call is a JSON object"}]}, 400)
            try:
                return await (_while_awaited(call(self, body), request) if call is _play else call(self, body))
            except SupersededError:
                return JSONResponse({"superseded": True}, 409)
            except (ValueError, OverflowError, RecursionError) as error:
                return JSONResponse({"errors": [{"message": f"a value cannot be used: {error}"[:300]}]}, 422)
            except ChangedOnDiskError as error:
                return JSONResponse({"changed": True, "errors": errors_of(error, "")}, 409)
            except FairweirError as error:
                return JSONResponse({"errors": errors_of(error, str(body.get("text", "")))}, 422)

        return answer

    async def _events(self, request: HttpRequest) -> Response:
        name = request.query_params.get("window", "")
        return StreamingResponse(self.windows.stream(name), media_type="text/event-stream")

    async def _work(self, request: HttpRequest) -> Response:
        """Send the events of a command from the first, or from the last that the browser has received."""
        received = request.headers.get("last-event-id", "0")
        try:
            work = self.works.get(request.query_params.get("id"))
        except ConfigError:
            return Response(status_code=204)  # which ends an EventSource
        first = int(received) if received.isdecimal() else 0
        return StreamingResponse(work.stream(first), media_type="text/event-stream")

    async def _file(self, request: HttpRequest) -> Response:
        return await asyncio.to_thread(send, self.folder, request.path_params["name"])

    def end(self) -> None:
        """End all runs, before the server closes its connections: calls that wait for runs are answered."""
        self.workers.close()
        self.windows.cancel()

    async def run(self, window: Window, request: Request) -> Any:
        """Run a request of a window; a newer one of the same window replaces it."""

        def report(part: float) -> None:
            window.post(kind="progress", part=round(part, 4))

        is_timed = request.world == "kernel"
        return await self.windows.newest(window, lambda: self.workers.run(play, request, report, is_timed=is_timed))


async def _while_awaited(work: Coroutine[Any, Any, Response], request: HttpRequest) -> Response:
    """Do some work while the browser waits for its answer; cancel it when the window is closed or the call aborted."""

    async def until_gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(until_gone())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
        return await task
    except asyncio.CancelledError:
        raise SupersededError from None
    finally:
        gone.cancel()


def errors_of(error: FairweirError, text: str) -> list[dict[str, Any]]:
    """Return an error and the others of the same text, with the lines of their keys."""
    return [
        {"message": one.message, "hint": one.hint, "key": one.key, "line": line_of(text, one.key)}
        for one in (error, *getattr(error, "others", ()))
    ]


async def _page(request: HttpRequest) -> Response:
    page = resources.files("fairweir.studio").joinpath("templates", _PAGES[request.url.path])
    return Response(page.read_bytes(), media_type="text/html")


async def _static(request: HttpRequest) -> Response:
    name = request.url.path.rpartition("/")[2]
    return Response(bundle(name), media_type=_STATIC_TYPES[name])


async def _start(studio: Studio, _: Mapping[str, Any]) -> Response:
    """Return what a new window needs: the first scenario's name, those that can be opened, and the controllers."""
    from fairweir.ccas.lookup import algorithms

    return JSONResponse(
        {
            "first": studio.first,
            "files": await asyncio.to_thread(lambda: list(studio.folder.names())),
            "shipped": list(shipped.by_name("scenarios")),
            "lessons": {f"{PREFIX}{name}": lesson.title for name, lesson in lessons().items()},
            "ccas": {name: row.defaults for name, row in algorithms().items()},
            "worlds": get_args(World),
            "version": __version__,
        }
    )


async def _open(studio: Studio, body: Mapping[str, Any]) -> Response:
    name = text_of(body, "name")
    if name.startswith(PREFIX):
        lesson = lessons().get(name.removeprefix(PREFIX))
        if lesson is None:
            raise ConfigError(f"no such lesson: `{name}`", hint="`fairweir list lessons` lists them")
        return JSONResponse({"name": name, "text": lesson.to_toml(), "version": "", "lesson": lesson.document()})
    if name.startswith((EXPERIMENT, CERTIFICATE)):
        text = await asyncio.to_thread(text_of_item, studio.folder, name)
        return JSONResponse({"name": name, "text": text, "version": ""})
    opened = await asyncio.to_thread(studio.folder.open, name)
    world = await asyncio.to_thread(only_world_of, opened.text)
    return JSONResponse({"name": opened.name, "text": opened.text, "version": opened.version, "world": world})


async def _gallery(studio: Studio, _: Mapping[str, Any]) -> Response:
    found = await asyncio.to_thread(groups, studio.folder)
    return JSONResponse({"groups": [asdict(group) for group in found]})


async def _save(studio: Studio, body: Mapping[str, Any]) -> Response:
    version = body.get("version")
    if version is not None and not isinstance(version, str):
        raise ConfigError("version is a text")
    name, text = text_of(body, "name"), text_of(body, "text")
    return JSONResponse({"version": await asyncio.to_thread(studio.folder.save, name, text, version)})


async def _play(studio: Studio, body: Mapping[str, Any]) -> Response:
    """Change a scenario's text, check it, run it, and return its course and summary, compared with another run."""
    window = studio.windows.get(text_of(body, "window"))
    window.cancel()  # also if the new text is invalid
    keep = body.get("keep", [])
    if not isinstance(keep, list) or not all(isinstance(run, str) for run in keep):
        raise ConfigError("the runs to keep are a list of ids", key="keep")
    request, form = await asyncio.to_thread(_checked, studio, body)
    played = await studio.run(window, request)
    run = studio.runs.add(played, keep)
    against = body.get("against")
    rows = differences(
        list((studio.runs.get(against) if isinstance(against, str) and against else played).summaries),
        list(played.summaries),
    )
    return _frame(
        {
            "run": run,
            "text": request.text,
            "form": form,
            "world": request.world,
            "is_identical": are_identical(played.summaries),
            "not_judged": played.not_judged,
            "rows": [vars(row) for row in rows],
            "packets": sum(int(one.document.get("packets", 0)) for one in played.summaries),
            "picture": played.picture.document(*_view(body), _intervals(body)),
        }
    )


def _checked(studio: Studio, body: Mapping[str, Any]) -> tuple[Request, list[dict[str, Any]]]:
    text, name = text_of(body, "text"), text_of(body, "name")
    settings = body.get("set", {})
    if not isinstance(settings, dict):
        raise ConfigError("settings are an object")
    text = edit(text, settings) if settings else text
    document = parse_document(text, None)
    base = _base(studio, name)
    studio.folder.check_files(document, base)
    scenario = Scenario.from_dict(document, base=base)
    form = form_of(scenario, document)
    if not body.get("may_run_code", True) and any(is_users(cca) for _, cca in controllers_of(document)):
        raise ConfigError("this scenario contains a controller that is a user's code", hint="press Run to run it")
    world, seeds = body.get("world", "sim"), body.get("seeds", 1)
    if world not in get_args(World):
        raise ConfigError(f"no such world: `{world}`", key="world")
    if not isinstance(seeds, int) or not 1 <= seeds <= MAX_SEEDS:
        raise ConfigError(f"seeds is a number from 1 to {MAX_SEEDS}", key="seeds")
    label = str(body.get("label", ""))[:60] or scenario.name or "run"
    return Request(text, base, world, seeds, label), form


def _base(studio: Studio, name: str) -> Any:
    if name.startswith(EXPERIMENT):
        return shipped.folder("experiments")
    with suppress(ConfigError):
        return studio.folder.open(name).base
    return studio.folder.root


async def _views(studio: Studio, body: Mapping[str, Any]) -> Response:
    """Return a part of the course of some runs."""
    runs = body.get("runs")
    if not isinstance(runs, list) or not all(isinstance(run, str) for run in runs):
        raise ConfigError("runs are a list of ids")
    view, intervals = _view(body), _intervals(body)
    return _frame({"pictures": [studio.runs.get(run).picture.document(*view, intervals) for run in runs]})


async def _share(studio: Studio, body: Mapping[str, Any]) -> Response:
    """Return a page with the courses of runs and their scenarios, which works without the studio."""
    given = body.get("runs")
    if not isinstance(given, list) or not given or not all(isinstance(one, dict) for one in given):
        raise ConfigError("runs are a list of objects", key="runs")
    courses, scenarios = [], []
    for one in given:
        course = studio.runs.get(text_of(one, "run"))
        label = text_of(one, "label")[:60]
        courses.append(replace(course, picture=replace(course.picture, label=label)))
        scenarios.append((label, text_of(one, "text")))
    title = str(body.get("title", "")) or "scenario"
    page = await asyncio.to_thread(runs_page, title, courses, scenarios)
    return Response(page, media_type="text/html")


_CALLS: Final[dict[str, Call]] = {
    "start": _start,
    "open": _open,
    "gallery": _gallery,
    "save": _save,
    "play": _play,
    "views": _views,
    "share": _share,
}


def _view(body: Mapping[str, Any]) -> tuple[float | None, float | None]:
    view = body.get("view")
    if view is None:
        return None, None
    is_view = isinstance(view, list) and len(view) == 2
    if not is_view or not all(isinstance(one, (int, float)) and abs(one) < MAX_VIEW_S for one in view):
        raise ConfigError("a view is two times, s", key="view")
    return float(view[0]), float(view[1])


def _intervals(body: Mapping[str, Any]) -> int:
    intervals = body.get("intervals", INTERVALS)
    return min(max(intervals, 50), 4_000) if isinstance(intervals, int) else INTERVALS


def _frame(document: Mapping[str, Any]) -> Response:
    return Response(encode(document), media_type=FRAME_TYPE)
