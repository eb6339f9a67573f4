"""What a route is: one line of the map, and what its handler is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel

from mem_search import records
from mem_search.http.opening import OPENING, Opening
from mem_search.http.timezones import Zone, zone
from mem_search.model import Page, SearchQuery
from mem_search.renderers import View
from mem_search.wiring import Runtime

M = TypeVar("M", bound=BaseModel)
COMMAND_LINE = "mem-search"
"""The User-Agent of the command line."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, its parameters and body already read and checked."""

    request: web.Request
    query: BaseModel | None = None
    body: BaseModel | None = None

    @property
    def opening(self) -> Opening:
        return self.request.app[OPENING]

    @property
    def runtime(self) -> Runtime:
        """Raises Unavailable while the store is being opened."""
        return self.opening.runtime

    def asked(self, model: type[M]) -> M:
        """The query parameters, as the model that the route names."""
        assert isinstance(self.query, model)
        return self.query

    def sent(self, model: type[M]) -> M:
        """The body, as the model that the route names."""
        assert isinstance(self.body, model)
        return self.body

    async def search(self, query: SearchQuery) -> Page:
        """Ask as whoever called, the command line or another program."""
        if query.asked_at is None:
            query = replace(query, asked_at=self.now)
        return await self.runtime.front.search(query, self.surface)

    @property
    def surface(self) -> str:
        """The word for who called."""
        return "cli" if self.request.headers.get("User-Agent", "") == COMMAND_LINE else "http"

    @property
    def now(self) -> datetime:
        """The moment of asking, in the worker's own time zone."""
        return datetime.now(zone(self.opening.settings.timezone))

    @property
    def base(self) -> str:
        """Where the caller reached this worker; its Host was checked (``guard``)."""
        return f"{self.request.scheme}://{self.request.host}"

    def view(self, tz: Zone | None = None) -> View:
        """How the caller sees times; the worker's own time zone where none is asked for."""
        seen_from = tz or zone(self.opening.settings.timezone)
        return View(kinds=records.by_name, tz=seen_from, now=datetime.now(seen_from))


Handler = Callable[[Call], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation. ``write`` needs the token; ``early`` answers before the store is open.

    ``waits`` does not refuse while the store is being opened; ``is_rest`` is in the OpenAPI.
    ``body_type`` is the content type of the body, where there is one; a body without a model
    is read by the handler itself. ``successor`` is the path that replaces a deprecated one;
    ``answers`` describes the reply, ``replies`` are further content types beside ``reply``.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    tag: str
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    body_type: str = "application/json"
    write: bool = False
    early: bool = False
    waits: bool = False
    is_rest: bool = True
    status: int = 200
    successor: str = ""
    answers: type[BaseModel] | None = None
    reply: str = "application/json"
    replies: tuple[str, ...] = ()

    @property
    def reads_itself(self) -> bool:
        """Whether the handler takes the body as it comes, in pieces."""
        return self.body is None and self.body_type != "application/json"
