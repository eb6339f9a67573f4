"""The query language over HTTP: what it finds, and how the reply says it was read."""

from __future__ import annotations

import pytest
from http_worker import Client, Get


@pytest.mark.parametrize(
    ("query", "sources"),
    [
        ("type:decision", {"o2"}),
        ("is:decision auth", {"o2"}),
        ("kind:prompts", {"p1"}),
        ("+auth +login", {"o1", "s1"}),
        ("+auth -login -tokens kind:note,observation", {"n1"}),
        ("file:auth.py", {"o1"}),
        ("tag:api OR project:api", {"o1", "o3"}),
        ("concept:trade-off", {"o2"}),
        ("auth AND in:2024", {"n1"}),
        ("auth since:2025-11-18", {"o2"}),
        ("+endpont~", {"o1"}),
        ("+passw* kind:note", {"n1"}),
    ],
)
async def test_operators_and_fields_find(get: Get, query: str, sources: set[str]) -> None:
    refs = {
        (await get(f"/api/records/{result['ref']}"))["source_id"]
        for result in (await get("/api/search", query=query, format="json", mode="keyword"))[
            "results"
        ]
    }
    assert refs == sources


async def test_the_reply_says_how_the_query_was_parsed(get: Get) -> None:
    reply = await get("/api/search", query='auth -jwt type:feature "login', tz="UTC")
    assert reply["search"]["analyzed"] == {
        "text": "auth login",
        "words": ["auth", "login"],
        "phrases": [],
        "demanded": "NOT jwt AND type:feature",
        "filters": ["type:feature"],
        "excluded": ["jwt"],
        "near": {"auth": ["authentication"]},  # as one types
        "operators": [],
        "dates": [],
        "readings": [],
        "warnings": ["the quote before “login” is not closed; it is read as text"],
    }
    assert (
        "Note: the quote before “login” is not closed; it is read as text"
        in reply["content"][0]["text"]
    )


async def test_dates_count_from_the_callers_midnight(get: Get) -> None:
    # 2025-11-18T23:59:59.500Z is the next day in Berlin.
    utc = await get("/api/search", query="jwt AND in:2025-11-18", tz="UTC")
    berlin = await get("/api/search", query="jwt AND in:2025-11-19", tz="Europe/Berlin")
    assert utc["total"] == berlin["total"] == 1


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "(",
        ")",
        "AND",
        "NOT",
        "-",
        "type:",
        "before:never",
        "kind:wombat",
        "(((",
        '""',
        "\x00",
        "*",
    ],
)
async def test_nothing_that_is_typed_is_an_error(client: Client, query: str) -> None:
    for route in ("/api/search", "/api/search/unified", "/api/search/notes"):
        reply = await client.get(route, params={"query": query})
        assert reply.status == 200, await reply.text()


async def test_a_question_that_is_only_a_time_finds_all_from_then_newest_first(get: Get) -> None:
    found = await get(
        "/api/search", query="what did we do in November 2025?", format="json", tz="UTC"
    )
    dates = [result["created_at"] for result in found["results"]]
    assert found["total"] == len(dates) > 1
    assert dates == sorted(dates, reverse=True)
    assert all(date.startswith("2025-11-") for date in dates)
    assert found["search"]["analyzed"]["dates"] == [
        {
            "phrase": "in November 2025",
            "start": "2025-11-01T00:00:00.000Z",
            "end": "2025-11-30T23:59:59.999Z",
            "use": "filter",
        }
    ]


async def test_a_time_beside_words_raises_and_says_what_narrows_it(get: Get) -> None:
    found = await get("/api/search", query="auth in November 2020", tz="UTC")
    plain = await get("/api/search", query="auth", tz="UTC")
    assert found["total"] == plain["total"] > 0
    text = found["content"][0]["text"]
    assert (
        'Note: "in November 2020" read as Nov 1-30, 2020; dateStart/dateEnd keep only that' in text
    )
    note = '"in November 2020" read as Nov 1-30, 2020; dateStart/dateEnd keep only that'
    assert note in found["search"]["notices"]
    dates = found["search"]["analyzed"]["dates"]
    assert [date["use"] for date in dates] == ["lift"]
    assert found["search"]["analyzed"]["words"] == ["auth"]


async def test_a_time_that_is_still_to_come_is_told(get: Get) -> None:
    found = await get("/api/search", query="what did we do next week", tz="UTC")
    assert found["total"] == 0
    assert ": which is still to come" in found["content"][0]["text"]


async def test_a_parameter_that_is_no_time_says_what_was_understood(client: Client) -> None:
    reply = await client.get(
        "/api/search", params={"query": "auth", "dateStart": "yesterday evning"}
    )
    problem = await reply.json()
    assert reply.status == 422
    assert "'yesterday' was understood, 'evning' was not" in problem["detail"]


@pytest.mark.parametrize(
    ("parameters", "sources"),
    [
        ([("title", "login")], {"o1"}),
        ([("content", "passwords"), ("folder", "inbox")], {"n1"}),
        ([("is", "decision")], {"o2"}),
        ([("query", "auth"), ("in", "2024")], {"n1"}),
        ([("meta", "folder:in*"), ("meta", "folder:inbox")], {"n1"}),
        ([("meta", "learned:*early"), ("kind", "sessions")], {"s1"}),
        ([("path", "auth.py"), ("before", "2025-11-18")], {"o1"}),
        ([("has", "concepts"), ("after", "2025-11-18")], {"o3"}),
    ],
)
async def test_fields_are_parameters(
    client: Client, parameters: list[tuple[str, str]], sources: set[str], numbers: dict[str, int]
) -> None:
    reply = await client.get("/api/search", params=[*parameters, ("format", "json")])
    assert reply.status == 200, await reply.text()
    refs = {result["ref"].partition(":")[2] for result in (await reply.json())["results"]}
    assert refs == {str(numbers[source]) for source in sources}


async def test_fields_are_named_in_the_listing(client: Client) -> None:
    reply = await client.get("/api/search", params={"query": "auth", "author": "nobody"})
    text = (await reply.json())["content"][0]["text"]
    assert text.startswith('No results found matching "auth" with author=nobody')


async def test_a_parameter_that_cannot_be_read_is_named(client: Client) -> None:
    reply = await client.get("/api/search", params={"is": "maybe", "in": "blursday"})
    assert reply.status == 422
    errors = (await reply.json())["errors"]
    assert [each["parameter"] for each in errors] == ["is", "in"]
    assert errors[0]["detail"].startswith("is:'maybe' has no meaning; choose one of archived, ")


async def test_a_kind_that_is_none_is_named_with_the_nearest(client: Client) -> None:
    reply = await client.get("/api/search", params={"query": "auth", "kind": "nots"})
    assert reply.status == 422
    said = "no kind of record is called 'nots'; did you mean notes?"
    assert (await reply.json())["errors"][0]["detail"] == said


async def test_fields_are_members_of_a_body(client: Client) -> None:
    body = {"query": "auth", "title": "login", "project": ["web", "api"]}
    reply = await client.post("/api/v1/search", json=body)
    assert reply.status == 200, await reply.text()
    assert [hit["title"] for hit in (await reply.json())["items"]] == ["Added login endpoint"]
    reply = await client.post("/api/v1/search", json={"query": "auth", "meta": "learned"})
    assert reply.status == 422
    assert (await reply.json())["errors"][0]["pointer"] == "/meta"
