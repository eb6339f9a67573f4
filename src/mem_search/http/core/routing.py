"""A route, which is one line of the URL map, the call that its handler receives, and their count.

``/metrics`` shows the counts, where prometheus-client is installed. There a route is named by its
pattern: no label has a query, an id or a user, and their number is bounded. The package is imported
when somebody asks for metrics: a start need not wait for it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.util import find_spec
from itertools import accumulate
from typing import Any, Final, Literal, TypeVar, get_args

from aiohttp import web
from pydantic import BaseModel

from mem_search.access.callers import Caller, check_may_change
from mem_search.errors import InputError
from mem_search.http.access.browsers import is_unix, viewer_host
from mem_search.http.core.clients import Clients
from mem_search.http.core.lifecycle import Lifecycle
from mem_search.http.core.parameter_types import Zone, zone
from mem_search.http.core.replies import TextReply
from mem_search.http.core.request_context import REQUEST_CONTEXT
from mem_search.model import Record, SearchPage, SearchRequest
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions
from mem_search.runtime import Runtime
from mem_search.search.service import UNLOGGED
from mem_search.settings import Settings

M = TypeVar("M", bound=BaseModel)
ANY_TYPE = "application/octet-stream"
"""The body type of a route that takes bytes of any type."""
COMMAND_LINE = "mem-search"
"""The User-Agent of the command line."""
TIMEZONE, TERMINAL_TIMEZONE = "X-Timezone", "X-Terminal-Timezone"
"""Headers by which our own clients name a zone: that of their settings, and that of a terminal."""


def zone_name(request: web.Request, settings: Settings) -> str:
    """The reader's time zone where the request has no ``tz``; empty for the machine's own.

    A client's setting counts before the worker's, a terminal after it. Raises InputError.
    """
    if name := request.headers.get(TIMEZONE, "") or settings.timezone:
        zone(name)
        return name
    terminal = request.headers.get(TERMINAL_TIMEZONE, "")
    try:
        zone(terminal)
    except InputError:
        return ""  # this machine does not know the terminal's zone
    return terminal


@dataclass(frozen=True, slots=True)
class Call:
    """One request; its parameters and body are parsed and valid."""

    request: web.Request
    lifecycle: Lifecycle
    query: BaseModel | None = None
    body: BaseModel | None = None

    @property
    def runtime(self) -> Runtime:
        """The runtime of the caller's own store. Raises Unavailable while it is being opened."""
        return self.request[REQUEST_CONTEXT].runtime or self.lifecycle.runtime

    @property
    def caller(self) -> Caller:
        """The caller: the owner, a user, or nobody."""
        return self.request[REQUEST_CONTEXT].caller

    def check_may_change(self, what: str = "this") -> None:
        """Check the token of a request that stores something on a route that may only read.

        ``what`` stores it. Raises Unauthorized without a token, Forbidden with one that may only
        read.
        """
        check_may_change(self.caller, what)

    @property
    def flags(self) -> tuple[str, ...]:
        """Suspicious patterns in the question of a remote caller; empty where none was checked."""
        return self.request[REQUEST_CONTEXT].flags

    def parameters(self, model: type[M]) -> M:
        """The query parameters as the model that the route names."""
        assert isinstance(self.query, model)
        return self.query

    def json_body(self, model: type[M]) -> M:
        """The JSON body as the model that the route names."""
        assert isinstance(self.body, model)
        return self.body

    async def search(self, query: SearchRequest, *, current: bool = False) -> SearchPage:
        """Search, and log the search for the surface that called.

        ``current``: for a reply that has no place to say that a replica answered.
        """
        if query.asked_at is None:
            query = replace(query, asked_at=self.now)
        return await self.runtime.search.service.search(query, self.surface, current=current)

    def opened(self, *records: Record) -> None:
        """Note that the caller has opened these records, as a search does not."""
        self.runtime.search.service.log.note_opened(records, self.surface)

    def with_readings(self, page: SearchPage) -> SearchPage:
        """The page with a notice of each date that was read in the caller's zone."""
        read = self.request[REQUEST_CONTEXT].read_as.items()
        said = tuple(f"{name} was read as {moment}" for name, moment in read)
        return replace(page, report=replace(page.report, notices=(*page.report.notices, *said)))

    @property
    def surface(self) -> str:
        """``cli`` for the command line, else ``http``: the surface in the search log.

        UNLOGGED for a caller who may change nothing, because the log is a change, too, and for a
        question that is still being typed (``X-Draft``).
        """
        if not self.caller.may_change or "X-Draft" in self.request.headers:
            return UNLOGGED
        return "cli" if self._is_command_line else "http"

    @property
    def _is_command_line(self) -> bool:
        return self.request.headers.get("User-Agent", "") == COMMAND_LINE

    @property
    def now(self) -> datetime:
        """The current time in the reader's time zone."""
        return datetime.now(zone(self.zone_name))

    @property
    def zone_name(self) -> str:
        """The reader's time zone, as ``zone_name`` of this module has it."""
        return zone_name(self.request, self.lifecycle.settings)

    @property
    def base(self) -> str:
        """The URL by which the caller reached this worker; ``check_place`` has checked its Host.

        The Host of a request by the Unix socket has no port, and the viewer's address ends with
        this worker, so there it is where this worker listens.
        """
        passes = is_unix(self.request.transport) or viewer_host(self.request)
        if passes and self.lifecycle.url:
            return self.lifecycle.url
        secure = self.request.headers.get("X-Forwarded-Proto", "").strip().lower() == "https"
        return f"{'https' if secure else 'http'}://{self.request.headers['Host']}"

    def display(self, tz: Zone | None = None) -> DisplayOptions:
        """How replies show records: times are in ``tz``, or in the reader's time zone."""
        reader_tz = tz or zone(self.zone_name)
        now, command_line = datetime.now(reader_tz), self._is_command_line
        return DisplayOptions(installed_kinds().get, reader_tz, now, command_line=command_line)


Handler = Callable[[Call], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation. ``write`` needs a token; ``early`` answers before the store is open, and
    ``first`` as soon as it searches, before the features are open.

    ``only``: ``owner`` refuses users, because the route reads files of the machine or manages its
    index; ``home`` refuses everything but the home's own token. Other routes answer users from
    their own store. ``research``: each request counts as a step of deep research.

    ``defers``: what it is given is kept until the rules of secrets are compiled; other routes that
    write wait for them.
    ``capture``: adds records, and a program of the owner's needs no token for that. ``login``:
    a link of the body stands for the token. ``private``: it tells what is on the disk, or what
    nobody but the owner may read even where ``neighbours_read`` lets others read the rest.
    ``page`` is the page of the viewer to which a browser is led that opens the address in a tab.
    ``basic``: the token may be the password of HTTP Basic, as in a URL that a service is given.
    ``tagged``: replies have an ETag, and the route answers 304.
    ``waits``: it waits for the store however long that takes to open. ``is_rest``: it is in the
    OpenAPI.
    ``body_type`` is the content type of the body, where there is one; a body without a model
    is read by the handler itself. ``form`` are the fields of a form beside its file. ``successor``
    is the path that replaces a deprecated one. ``response`` is the schema of the JSON reply, or a
    union of several: every route that answers JSON has one. ``other_types`` are content types
    beside ``content_type``; ``errors`` are statuses beyond those that follow from all this.
    ``clients``: those of another program use the route, too, in its way; ``for_clients`` answers
    these, where that program has a route of the same method and path that takes something else.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    tag: str
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    body_type: str = "application/json"
    form: type[BaseModel] | None = None
    write: bool = False
    only: Literal["", "owner", "home"] = ""
    research: bool = False
    basic: bool = False
    early: bool = False
    first: bool = False
    waits: bool = False
    tagged: bool = False
    is_rest: bool = True
    capture: bool = False
    defers: bool = False
    login: bool = False
    private: bool = False
    page: str = ""
    clients: Clients | None = None
    for_clients: Route | None = None
    status: int = 200
    successor: str = ""
    response: Any = None
    content_type: str = "application/json"
    other_types: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()

    @property
    def content_types(self) -> tuple[str, ...]:
        """Every content type of its replies, the usual one first."""
        types = (self.content_type, *self.other_types) if self.content_type else ()
        kinds = get_args(self.response) or (self.response,)
        if any(isinstance(kind, type) and issubclass(kind, TextReply) for kind in kinds):
            types = (*types, "text/plain")
        return tuple(dict.fromkeys(types))

    @property
    def is_for_agents(self) -> bool:
        """Whether the route is for agents, as MCP is."""
        return "mcp" in self.path.split("/")

    @property
    def changes(self) -> bool:
        """Whether the route refuses a token that may only read."""
        return self.write and self.method != "GET"

    @property
    def streams_body(self) -> bool:
        """Whether the handler reads the body itself, in pieces."""
        return self.body is None and self.body_type != "application/json"


ROUTE_TABLE: web.AppKey[Callable[[], tuple[Route, ...]]] = web.AppKey("routes")
"""Gives all routes of the app to the handlers that describe them."""


PACKAGE: Final = "prometheus_client"
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Bounds of the histogram: from a search from memory to one on a busy machine."""


class Measured:
    """What one worker answered, and the gauges of its store; for the thread of the event loop.

    ``on``: the package is installed.
    """

    def __init__(self) -> None:
        self.on = find_spec(PACKAGE) is not None
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._slots: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self._gauges: dict[str, tuple[str, str, Mapping[str, float]]] = {}

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests[method, route, str(status)] += 1
        slots = self._slots.setdefault(route, [0] * (len(_SECONDS) + 1))
        slots[bisect_left(_SECONDS, seconds)] += 1
        self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def set(self, name: str, help_text: str, label: str, values: Mapping[str, float]) -> None:
        """Set a gauge for each value of ``label``; one that is left out is gone."""
        self._gauges[f"mem_search_{name}"] = (help_text, label, values)

    def collect(self) -> Iterator[Any]:
        """All of it as the metrics of Prometheus; its registry calls this."""
        from prometheus_client import core

        requests = core.CounterMetricFamily(
            "mem_search_requests", "Requests answered", labels=("method", "route", "status")
        )
        for labels, count in self._requests.items():
            requests.add_metric(labels, count)
        yield requests
        seconds = core.HistogramMetricFamily(
            "mem_search_request_seconds", "Seconds until the reply began", labels=("route",)
        )
        bounds = (*map(str, _SECONDS), "+Inf")
        for route, slots in self._slots.items():
            up_to = zip(bounds, accumulate(slots), strict=True)
            seconds.add_metric((route,), list(up_to), self._seconds[route])
        yield seconds
        for name, (help_text, label, values) in self._gauges.items():
            gauge = core.GaugeMetricFamily(name, help_text, labels=(label,))
            for value, number in values.items():
                gauge.add_metric((value,), number)
            yield gauge

    def text(self) -> bytes:
        """All of it, and what is known of the process, in the text format of Prometheus."""
        from prometheus_client import (
            CollectorRegistry,
            PlatformCollector,
            ProcessCollector,
            generate_latest,
        )

        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        registry.register(self)
        return bytes(generate_latest(registry))


MEASURED: Final = web.AppKey("measured", Measured)


def pattern_of(request: web.Request) -> str:
    """The pattern of the route that answers; the same for every path that none has."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "none"
