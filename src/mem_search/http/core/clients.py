"""Clients of another program that use routes of ours, as that program's worker takes them.

A package brings a ``Mount`` (``http.mounts``): routes of its own, and where it has clients a
``Clients`` that the shared ones ask who sends a request, and how it is meant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from aiohttp import web
from multidict import MultiMapping
from pydantic import BaseModel

from mem_search.model import SearchRequest

if TYPE_CHECKING:
    from mem_search.http.core.routing import Call, Route

IGNORED: Final = "X-Mem-Search-Ignored"
"""The header that names the parameters that were left out."""


@dataclass(frozen=True, slots=True)
class Tolerated:
    """A request as the other program would take it.

    ``ignored`` are the parameters that were left out, percent-encoded. ``search`` answers a search
    in the other program's form, where the client wants that.
    """

    ignored: tuple[str, ...] = ()
    search: Callable[[Call, SearchRequest], Awaitable[web.StreamResponse]] | None = None


class Clients(Protocol):
    """The clients of one program."""

    shared: frozenset[str]
    """Paths of the routes with parameters that both programs have."""

    def is_one(self, request: web.Request) -> bool:
        """Whether the request may come from such a client."""
        ...

    def read_query(
        self, request: web.Request, model: type[BaseModel]
    ) -> tuple[MultiMapping[str], Tolerated]:
        """The parameters that ``model`` has, each within its bounds."""
        ...

    def read_body(self, request: web.Request, model: type[BaseModel], body: Any) -> Any:
        """The fields of the JSON ``body`` that ``model`` has."""
        ...


@dataclass(frozen=True, slots=True)
class Mount:
    """What a package brings.

    ``routes`` is called with the first request for one that is not there from the start, so that a
    start imports nothing for it. A route that is called like one of ours answers ``clients`` in its
    place.
    """

    routes: Callable[[], Iterable[Route]]
    clients: Clients | None = None
