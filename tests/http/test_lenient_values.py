"""One table of values × parameters × surfaces: what clients mean is what is read.

Every parameter of every route and every argument of every tool is in it, because the models say
which they are; a new one needs no line here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest
from aiohttp import FormData
from http_worker import AUTHORIZED, Client
from multidict import MultiDict
from pydantic import BaseModel, ValidationError

from mem_search.errors import InputError
from mem_search.features.batch.http import SentSearch
from mem_search.features.documents.uploads import UploadForm
from mem_search.features.record_changes.http import NewRecordBody, RecordPatch
from mem_search.features.weighted.requests import HybridBody
from mem_search.http.core.parameters import SearchParameters, spellings
from mem_search.http.core.reading import read_query
from mem_search.http.routes import ROUTES
from mem_search.http.universal_requests import UniversalSearchRequest
from mem_search.mcp.searching import KnowledgeArguments, UnifiedArguments
from mem_search.mcp.server import TOOLS, UNLISTED
from mem_search.text.dates import from_iso
from mem_search.validation import reading

BERLIN = datetime(2025, 12, 1, tzinfo=ZoneInfo("Europe/Berlin"))
SAMPLES: dict[str, Any] = {
    "as": "csv", "code": "x" * 20, "filter": "project:web", "hook_event_name": "Stop",
    "id": "note:6", "ids": [6], "into": "web", "kind": "note", "memorySessionIds": ["s"],
    "path": "/tmp/a", "query": "auth", "ref": "note:6", "refs": ["note:6"],
    "search": {"query": "auth"}, "searches": [{"query": "auth"}], "source": "files",
    "url": "https://example.org/a",
}  # fmt: skip
"""Values of what a request cannot do without, by name; any other text is ``x``."""


def models(*of: str) -> dict[str, type[BaseModel]]:
    """Name → model of the routes: those of ``query``, ``form`` or ``body``."""
    found = (getattr(route, each) for route in ROUTES for each in of)
    return {f"{m.__module__.removeprefix('mem_search.')}.{m.__name__}": m for m in found if m}


QUERIES, BODIES = models("query", "form"), models("body")
TOOL_ARGUMENTS = {tool.name: tool.arguments for tool in (*TOOLS, *UNLISTED)}


def needed(model: type[BaseModel]) -> dict[str, Any]:
    """The fields that ``model`` cannot do without."""
    names = {field.alias or name for name, field in model.model_fields.items()
             if field.is_required()}  # fmt: skip
    return {name: SAMPLES.get(name, "x") for name in names}


def asked(model: type[BaseModel], **sent: str) -> BaseModel:
    given = {k: ",".join(map(str, v)) if isinstance(v, list) else v
             for k, v in needed(model).items()}  # fmt: skip
    return read_query(model, MultiDict(given | sent), BERLIN)


def _whole_numbers(found: dict[str, type[BaseModel]]) -> Iterator[Any]:
    for place, model in found.items():
        for name, field in model.model_fields.items():
            kinds = (field.annotation, *get_args(field.annotation))
            if int in kinds and not any("Before" in type(m).__name__ for m in field.metadata):
                bounds = {type(m).__name__: m for m in field.metadata}
                least = bounds["Ge"].ge if "Ge" in bounds else 0
                yield pytest.param(model, field.alias or name, max(1, least), id=f"{place}-{name}")


def whole_numbers(found: dict[str, type[BaseModel]]) -> list[Any]:
    return list(_whole_numbers(found))


@pytest.mark.parametrize(("model", "name", "number"), whole_numbers(QUERIES))
def test_a_whole_number_in_a_query_string_may_be_written_in_each_usual_way(
    model: type[BaseModel], name: str, number: int
) -> None:
    plain = asked(model, **{name: str(number)})
    exponent = "1e0" if number == 1 else f"{number / 10:g}e1"
    for text in (f"{number}.0", exponent, f'"{number}"', f" {number} ", f"+{number}"):
        assert asked(model, **{name: text}) == plain, text
    for text in (f"{number}.5", "1e400", "nan", "x"):
        with pytest.raises(InputError, match=name):
            asked(model, **{name: text})


@pytest.mark.parametrize("place", QUERIES)
def test_what_is_empty_in_a_query_string_is_absent(place: str) -> None:
    model = QUERIES[place]
    for name, field in model.model_fields.items():
        if not field.is_required():
            for word in spellings(name, field):
                assert asked(model, **{word: ""}) == asked(model), word
            if int in (field.annotation, *get_args(field.annotation)) and not any(
                "Before" in type(m).__name__ for m in field.metadata
            ):
                assert asked(model, **{field.alias or name: "null"}) == asked(model), name


@pytest.mark.parametrize("place", [p for p, m in BODIES.items() if m is not SentSearch])
def test_null_in_a_body_is_absent(place: str) -> None:
    model = BODIES[place]
    absent = model.model_validate(needed(model), context=reading(BERLIN))
    for name, field in model.model_fields.items():
        if not field.is_required() and model is not RecordPatch:  # where null empties a field
            sent = {**needed(model), field.alias or name: None}
            assert model.model_validate(sent, context=reading(BERLIN)) == absent, name


@pytest.mark.parametrize("name", TOOL_ARGUMENTS)
def test_null_and_empty_arguments_of_a_tool_are_absent_and_names_may_be_in_camel_case(
    name: str,
) -> None:
    model = TOOL_ARGUMENTS[name]
    absent = model.model_validate(needed(model))
    for argument, field in model.model_fields.items():
        first, *others = argument.split("_")
        camel = first + "".join(word.title() for word in others)
        if not field.is_required():
            for word, nothing in ((argument, None), (argument, ""), (camel, None)):
                assert model.model_validate({**needed(model), word: nothing}) == absent, word


@pytest.mark.parametrize(("model", "name", "number"), whole_numbers({**BODIES, **TOOL_ARGUMENTS}))
def test_a_whole_number_in_json_may_have_a_fraction_of_zero(
    model: type[BaseModel], name: str, number: int
) -> None:
    def read(value: Any) -> BaseModel:
        return model.model_validate({**needed(model), name: value}, context=reading(BERLIN))

    assert read(float(number)) == read(number)
    with pytest.raises(ValidationError):
        read(number + 0.5)


def test_an_argument_in_both_ways_of_writing_is_refused() -> None:
    with pytest.raises(ValidationError):
        KnowledgeArguments.model_validate({"query": "x", "search_type": "hybrid",
                                           "searchType": "keyword"})  # fmt: skip


DATES = {
    "2025-11-01": "2025-10-31T23:00:00Z",
    "2025-11-01T10:00:00": "2025-11-01T09:00:00Z",
    "2025-11-01 10:00:00": "2025-11-01T09:00:00Z",
    "2025-11-01T10:00:00.123456": "2025-11-01T09:00:00.123Z",
    "2025-07-01T10:00:00": "2025-07-01T08:00:00Z",
    "2025-11-01T10:00:00Z": "2025-11-01T10:00:00Z",
    "2025-11-01T10:00:00+03:00": "2025-11-01T07:00:00Z",
}
"""A date as clients write it → the moment, where the caller is in Berlin."""


def read_body_of(model: type[BaseModel], name: str, value: Any, **more: Any) -> Any:
    context = reading(BERLIN, {})
    got = getattr(model.model_validate({**needed(model), **more, name: value}, context=context),
                  name)  # fmt: skip
    assert ("+" in value or value.endswith("Z")) == (not context["read_as"]), value
    return got


DATE_READERS = {
    "GET": lambda text: getattr(asked(SearchParameters, dateStart=text), "date_start"),  # noqa: B009
    "upload": lambda text: getattr(asked(UploadForm, created_at=text), "created_at"),  # noqa: B009
    "v1 created": lambda text: read_body_of(UniversalSearchRequest, "created_after", text),
    "v1 updated": lambda text: read_body_of(UniversalSearchRequest, "updated_after", text),
    "records": lambda text: read_body_of(NewRecordBody, "created_at", text),
    "records updated": lambda text: read_body_of(NewRecordBody, "updated_at", text),
    "changes": lambda text: read_body_of(RecordPatch, "created_at", text),
    "search_local_knowledge": lambda text: read_body_of(KnowledgeArguments, "created_after", text),
    "search_local_knowledge updated": lambda text: read_body_of(
        KnowledgeArguments, "updated_after", text
    ),
    "search_unified": lambda text: (
        UnifiedArguments.model_validate(
            {"dateRange": {"start": text}}, context=reading(BERLIN)
        ).date_range.start
    ),
}


@pytest.mark.parametrize("surface", DATE_READERS)
@pytest.mark.parametrize("text", DATES)
def test_a_date_without_an_offset_is_of_the_zone_of_the_caller(surface: str, text: str) -> None:
    assert DATE_READERS[surface](text) == from_iso(DATES[text])


@pytest.mark.parametrize("text", ["2025-13-01", "2025-11-01T25:00:00", "01.11.2025", "soon", "1"])
@pytest.mark.parametrize("surface", [each for each in DATE_READERS if each != "GET"])
def test_what_is_no_date_is_refused_on_every_surface(surface: str, text: str) -> None:
    if surface == "search_unified" and text == "1":
        return  # seconds since 1970, as the contract has it
    with pytest.raises((ValidationError, InputError)):
        DATE_READERS[surface](text)


def test_a_day_that_ends_a_range_counts_whole() -> None:
    last = from_iso("2025-11-01T22:59:59.999Z")
    assert read_body_of(UniversalSearchRequest, "created_before", "2025-11-01") == last
    assert getattr(asked(SearchParameters, dateEnd="2025-11-01"), "date_end") == last  # noqa: B009
    assert HybridBody.model_validate({"query": "x", "end_date": "2025-11-01"}).end_date == from_iso(
        "2025-11-01T23:59:59.999Z"  # of that contract: UTC
    )


@pytest.mark.parametrize(
    "sent",
    [
        [("types", "notes"), ("types", "files")],
        [("types[]", "notes"), ("types[]", "files")],
        [("types[0]", "notes"), ("types[1]", "files")],
        [("types", "notes,files")],
        [("types", '["notes", "files"]')],
        [("kinds[]", "notes"), ("kinds", "files")],
    ],
)
def test_a_list_may_be_written_in_each_usual_way(sent: list[tuple[str, str]]) -> None:
    read = read_query(SearchParameters, MultiDict(sent), BERLIN)
    assert read.types == ("note", "file")


def test_a_range_may_be_an_object() -> None:
    plain = read_query(
        SearchParameters,
        MultiDict({"dateRange[start]": "2025-11-01", "dateRange[end]": "2025-11-02"}), BERLIN,
    )  # fmt: skip
    as_json = json.dumps({"start": "2025-11-01", "end": "2025-11-02"})
    assert read_query(SearchParameters, MultiDict(dateRange=as_json), BERLIN) == plain
    for odd in ('{"start": 1, "until": 2}', "{}", "[]", "{", '{"start": {"a": 1}}'):
        with pytest.raises(InputError):
            read_query(SearchParameters, MultiDict(dateRange=odd), BERLIN)


@pytest.mark.parametrize(
    ("weights", "stands"),
    [((0.4, 0.4, 0.2), True), ((0.333, 0.333, 0.333), True), ((0.3333, 0.3333, 0.3334), True),
     ((0.34, 0.34, 0.34), False), ((0.333, 0.333, 0.332), False)],
)  # fmt: skip
def test_weights_sum_to_one_within_a_thousandth(
    weights: tuple[float, float, float], stands: bool
) -> None:
    sent = dict(zip(("bm25_weight", "vector_weight", "graph_weight"), weights, strict=True))
    if stands:
        assert HybridBody.model_validate({"query": "x", **sent})
        return
    with pytest.raises(ValidationError, match=f"these sum to {sum(weights):.3g}"):
        HybridBody.model_validate({"query": "x", **sent})


# The same over HTTP, where a surface adds something of its own.


async def test_a_reply_says_as_which_moment_a_date_was_read(client: Client) -> None:
    zone = {"X-Timezone": "Europe/Berlin"}
    sent = {"query": "auth", "created_after": "2020-11-01", "limit": 5.0, "search_type": None}
    reply = await client.post("/api/v1/search", json=sent, headers=zone)
    said = "2020-11-01T00:00:00+01:00"
    assert reply.headers["X-Mem-Search-Read-As"] == f"created_after={said}"
    assert f"created_after was read as {said}" in (await reply.json())["search"]["notices"]
    stored = await client.post(
        "/api/records",
        json={"kind": "note", "text": "a note", "created_at": "2025-07-01T10:00:00"},
        headers={**AUTHORIZED, **zone},
    )
    assert (await stored.json())["created_at"] == "2025-07-01T08:00:00.000Z"
    form = FormData({"file": "words", "created_at": "2025-07-01", "tags": "a"})
    form.add_field("tags", "b")
    sent_file = await client.post("/documents/upload", data=form(), headers=AUTHORIZED | zone)
    assert sent_file.status == 415  # a form without a file in parts is none
    form = FormData()
    form.add_field("file", b"some words", filename="a.txt", content_type="text/plain")
    for name, value in (("created_at", "2025-07-01"), ("tags", "a"), ("tags", "b")):
        form.add_field(name, value)
    taken = await client.post("/documents/upload", data=form, headers=AUTHORIZED | zone)
    assert taken.status == 202, await taken.text()
    assert taken.headers["X-Mem-Search-Read-As"] == "created_at=2025-07-01T00:00:00+02:00"


@pytest.mark.parametrize(
    "path", ["/api/search/?query=auth", "/api/search/notes/?query=auth", "/api/health/",
             "/api/records/note:6/", "/docs/", "/api/search//?query=auth"],
)  # fmt: skip
async def test_a_slash_at_the_end_of_a_path_means_nothing(client: Client, path: str) -> None:
    reply = await client.get(path)
    assert reply.status == 200, await reply.text()


async def test_a_slash_at_the_end_opens_nothing_else(client: Client) -> None:
    assert (await client.get("/nothing/")).status == 404
    assert (await client.delete("/api/records/note:6/")).status == 401
    refused = await client.delete("/api/search/")
    assert refused.status == 405
    assert "GET" in refused.headers["Allow"]


CURL = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": CURL}, 200),
        ({"Content-Type": CURL, "Origin": "http://evil.example"}, 403),
        ({"Content-Type": CURL, "Referer": "http://evil.example/"}, 401),
        ({"Content-Type": CURL, "Sec-Fetch-Site": "none"}, 401),
        ({"Content-Type": CURL, "User-Agent": "Mozilla/5.0"}, 401),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
    ],
)
async def test_json_without_its_type_is_read_from_programs_alone(
    client: Client, headers: dict[str, str], status: int
) -> None:
    reply = await client.post("/api/v1/search", data='{"query": "auth"}', headers=headers)
    assert reply.status == status, await reply.text()


async def test_a_browser_with_a_token_has_to_say_that_it_sends_json(client: Client) -> None:
    headers = {**AUTHORIZED, "Content-Type": CURL, "User-Agent": "Mozilla/5.0"}
    reply = await client.post("/api/v1/search", data='{"query": "auth"}', headers=headers)
    assert reply.status == 415


async def test_what_is_no_json_and_has_no_type_is_told_to_have_one(client: Client) -> None:
    reply = await client.post("/api/v1/search", data="query=auth", headers={"Content-Type": CURL})
    assert reply.status == 415
    assert "Content-Type application/json" in (await reply.json())["detail"]
