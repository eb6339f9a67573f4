"""``/api/v1/scopes``: filters with a name."""

from __future__ import annotations

from aiohttp import web
from pydantic import Field

from mem_search.errors import InputError, NotFound
from mem_search.http.core.parameter_types import NAME
from mem_search.http.core.parameters import Body
from mem_search.http.core.problems import Fault, Invalid
from mem_search.http.core.replies import Deleted, json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.model import requests as stored
from mem_search.records.registry import installed_kinds
from mem_search.renderers.schema import Projection, Time, schema
from mem_search.search.query_understanding import MAX_FILTER_CHARS, demand_of
from mem_search.text.dates import now_ms
from mem_search.text.redaction import refuse_secret


class ScopeBody(Body):
    """The filters of a scope."""

    filter: str = Field(
        max_length=MAX_FILTER_CHARS,
        description="Fields of the query language: project:web -tag:draft",
        examples=["project:web OR tag:work"],
    )


@schema
class Scope(Projection[stored.Scope]):
    """A filter with a name."""

    name: str
    filter: str
    created_at: Time


@schema
class Scopes:
    """All scopes, by name."""

    scopes: list[Scope]


async def put(call: Call) -> web.StreamResponse:
    """Create or replace the scope with the name in the path."""
    name, text = call.request.match_info["name"], call.json_body(ScopeBody).filter.strip()
    faults = []
    if not NAME.fullmatch(name):
        message = "a name has letters, digits, _ . and - and begins with a letter or digit"
        faults.append(Fault(message, parameter="name"))
    try:
        refuse_secret(name)
    except InputError as error:
        faults.append(Fault(error.message, parameter="name"))
    try:
        demand_of(text, call.now, installed_kinds())
    except InputError as error:
        faults.append(Fault(error.message, pointer="/filter"))
    if faults:
        raise Invalid(faults)
    scope = stored.Scope(name, text, now_ms())
    return json_reply(Scope.of(await call.runtime.store.scopes.put(scope)))


async def one(call: Call) -> web.StreamResponse:
    """One scope."""
    name = call.request.match_info["name"]
    scope = await call.runtime.store.scopes.get(name)
    if scope is None:
        raise _nothing(name)
    return json_reply(Scope.of(scope))


async def listed(call: Call) -> web.StreamResponse:
    """All scopes by name."""
    scopes = await call.runtime.store.scopes.listed()
    return json_reply(Scopes(scopes=[Scope.of(each) for each in scopes]))


async def remove(call: Call) -> web.StreamResponse:
    """Delete a scope; searches that name it then report an unknown scope."""
    name = call.request.match_info["name"]
    if not await call.runtime.store.scopes.remove(name):
        raise _nothing(name)
    return json_reply(Deleted(deleted=name))


def _nothing(name: str) -> NotFound:
    return NotFound(
        f"no scope {name[:60]!r}; `mem-search scope list` and GET /api/v1/scopes list them"
    )


# fmt: off
ROUTES = (
    Route("GET", "/api/v1/scopes", listed, "List scopes: filters with a name", "saved", response=Scopes),
    Route("GET", "/api/v1/scopes/{name}", one, "Show a scope", "saved", response=Scope),
    Route("PUT", "/api/v1/scopes/{name}", put, "Create or replace a scope", "saved", body=ScopeBody, write=True, response=Scope),
    Route("DELETE", "/api/v1/scopes/{name}", remove, "Delete a scope", "saved", write=True, response=Deleted),
)
