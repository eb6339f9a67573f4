"""``POST /api/search/batch``: several searches in one request, each with a reply of its own.

A search that cannot be answered has its problem in the place of its reply, and the others are
answered. Each counts as one search for rate limits and in the log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, get_origin

from aiohttp import web
from multidict import MultiDict
from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from mem_search.errors import MemSearchError
from mem_search.http.access.authentication import admit
from mem_search.http.core.parameters import Body, KindParameters, SearchParameters
from mem_search.http.core.problems import Problem, problem_within
from mem_search.http.core.reading import pairs_of, read_query
from mem_search.http.core.replies import SearchListing, json_reply
from mem_search.http.core.routing import Call, Handler, Route
from mem_search.http.search import search as search_one
from mem_search.model import Kind
from mem_search.renderers.record_json import ChosenReply, SearchReply
from mem_search.renderers.schema import Absent, schema
from mem_search.renderers.token_budget import page_within

MAX_SEARCHES: Final = 20
"""Searches of a batch."""

AT_ONCE: Final = 2
"""Searches of a batch that run side by side, so that requests of others are not kept waiting."""


class BatchedSearch(SearchParameters):
    """The parameters of ``/api/search``; the reply is JSON."""

    format: Literal["json"] = Field(default="json", description="Each reply is JSON")


class _Described:
    """The schema of a list of searches, made when the API is described and not at the start."""

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, __: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_SEARCHES,
            "items": _described(BatchedSearch),
        }


def _described(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of one search: lists may also be texts with commas, as in a query string.

    Any object is taken, because one that is no search is answered by its problem.
    """
    whole = model.model_json_schema(by_alias=True)
    lists = {
        field.alias or name
        for name, field in model.model_fields.items()
        if get_origin(field.annotation) is tuple
    }
    text = {"type": "string"}
    either = {"anyOf": [text, {"type": "array", "items": text}]}
    properties = {
        name: {
            **(either if name in lists else {}),
            **{key: value for key, value in said.items() if key not in _UNSAID[name in lists]},
        }
        for name, said in whole["properties"].items()
    }
    search = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"anyOf": [search, {"type": "object", "description": "What its problem is said of"}]}


_UNSAID: Final = (("title", "spellings", "default"), ("title", "spellings", "default", "type"))


class BatchBody(Body):
    """Searches with the parameters of ``GET /api/search``, each as a JSON object."""

    searches: Annotated[
        list[dict[str, Any]],
        Field(min_length=1, max_length=MAX_SEARCHES),
        _Described(),
    ] = Field(
        description="Up to 20 searches",
        examples=[[{"query": "rate limit", "limit": 5}, {"query": "auth", "types": ["note"]}]],
    )


@schema
class BatchedReply:
    """What `/api/search` would answer: its status, and the reply or else the problem."""

    status: int
    reply: Absent[ChosenReply | SearchReply] = None
    problem: Absent[Problem] = None


@schema
class BatchReply:
    """One reply for each search, in their order."""

    replies: list[BatchedReply]
    took_ms: float


async def search(call: Call) -> web.StreamResponse:
    """Run the searches, a few at once, and answer when all have ended."""
    started = time.perf_counter()
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(place: int, sent: Mapping[str, Any]) -> BatchedReply:
        async with turns:
            return await _answered(call, f"/searches/{place}", sent)

    searches = call.json_body(BatchBody).searches
    replies = await asyncio.gather(*(one(place, sent) for place, sent in enumerate(searches)))
    took_ms = round((time.perf_counter() - started) * 1000, 3)
    return json_reply(BatchReply(replies=replies, took_ms=took_ms))


async def _answered(call: Call, place: str, sent: Mapping[str, Any]) -> BatchedReply:
    try:
        params = read_query(BatchedSearch, MultiDict(pairs_of(sent, BatchedSearch)), call.now)
        await admit(call.request, params.query)
        page = await call.search(params.search())
    except MemSearchError as error:
        problem = problem_within(call.request, error, place)
        return BatchedReply(status=error.status, problem=problem)
    return BatchedReply(status=200, reply=page_within(page, params.max_tokens, params.fields))


ALIASED: Final[tuple[Kind, ...]] = ("note", "website", "conversation")
"""Kinds with a search at ``/notes/search``, as an app has it that moves to ``/api/v1/search``."""


class SentSearch(Body):
    """The parameters of a search as a JSON object."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return _described(KindParameters)


def sent(kind: Kind) -> Handler:
    """A search among ``kind`` whose parameters are in the body, or in the address."""
    answer = search_one(kind)

    async def answered(call: Call) -> web.StreamResponse:
        given = call.json_body(SentSearch).model_extra or {}
        together = MultiDict([*call.request.query.items(), *pairs_of(given, KindParameters)])
        params = read_query(KindParameters, together, call.now)
        return await answer(replace(call, query=params))

    return answered


# fmt: off
ROUTES = (
    *(Route("POST", f"/{kind}s/search", sent(kind), f"Search {kind}s, best first", "search", KindParameters, body=SentSearch, response=SearchReply | SearchListing | ChosenReply, successor="/api/v1/search") for kind in ALIASED),
    Route("POST", "/api/search/batch", search, "Run several searches, as /api/search does", "search", body=BatchBody, response=BatchReply),
)
