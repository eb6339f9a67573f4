"""A token that is limited to a scope sees no word of a record outside, on any route.

Records inside and outside share the words that are asked for and have one word of their own.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from http_worker import AUTHORIZED, Client, lifecycle_of
from people import OWNER, Person, bring_in, join
from test_http_isolation import ENDING, IDS, KINDS, SHARED, records, requests

from mem_search.http.core.routing import Route
from mem_search.model import Condition, Filters, SearchRequest
from mem_search.runtime import within_scope

INSIDE, OUTSIDE = "zebrafinch", "xenopsaurus"
COUNT = len(KINDS) + 1
MCP = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
async def guest(empty: Client) -> Person:
    """Somebody with a token for the records of one tag, beside as many others."""
    hidden = {"kind": "note", "text": f"A plan of {OUTSIDE}, about the harbour.", "title": OUTSIDE}
    await bring_in(
        empty,
        OWNER,
        *records(INSIDE),
        *records(OUTSIDE),
        {**hidden, "source_id": "later", "links": [{"to": f"{INSIDE}-0", "relation": "cites"}]},
        {
            **hidden,
            "source_id": "newer",
            "links": [{"to": f"{INSIDE}-1", "relation": "supersedes"}],
        },
    )
    for name, text in (("mine", f"tag:tag-{INSIDE}"), ("theirs", f"tag:tag-{OUTSIDE}")):
        put = await empty.put(f"/api/v1/scopes/{name}", json={"filter": text}, headers=AUTHORIZED)
        assert put.status == 200
    for question in (f"harbour {OUTSIDE}", f"{OUTSIDE}less"):
        asked = await empty.get("/api/search", params={"query": question}, headers=AUTHORIZED)
        assert asked.status == 200
    saved = {"name": "weekly", "search": {"query": OUTSIDE}}
    assert (
        await empty.post("/api/v1/saved-searches", json=saved, headers=AUTHORIZED)
    ).status == 201
    IDS.clear()
    IDS.add("1")
    return await join(empty, "", "guest", scope="mine")


async def told(client: Client, guest: Person, method: str, path: str, **sent: Any) -> str:
    reply = await client.request(
        method, path, headers={**guest.headers, **sent.pop("headers", {})},
        allow_redirects=False, **sent,
    )  # fmt: skip
    text = (await reply.read()).decode("utf-8", "replace")
    assert reply.status < 500, (path, text)
    return f"{reply.status} {dict(reply.headers)} {text}"


async def walked(client: Client, guest: Person, route: Route) -> list[str]:
    """What the route says to each way to ask; to one where it refuses such tokens."""
    said: list[str] = []
    for path, query, body in requests(route):
        said.append(await told(client, guest, route.method, path, params=query, json=body))
        if said[-1].startswith("403") and "limited to the scope" in said[-1]:
            break
    return said


async def test_no_route_tells_a_word_of_a_record_outside(empty: Client, guest: Person) -> None:
    answering = set()
    for route in ENDING:
        if route.streams_body:
            continue
        for said in await walked(empty, guest, route):
            assert OUTSIDE not in said.lower(), (route.method, route.path, said[:500])
            if INSIDE in said.lower():
                answering.add(route.path)
    # The walk means something: these tell of what is inside.
    assert answering >= {
        "/api/search", "/api/search/unified", "/api/search/notes", "/api/search/export",
        "/api/search/batch", "/api/v1/search", "/api/v1/mcp/search", "/api/v1/mcp/fetch",
        "/api/v2/search/hybrid", "/api/v2/search/vector", "/api/timeline", "/api/records/{ref}",
        "/api/records/batch", "/api/observations", "/api/observation/{number}", "/api/graph/{ref}",
        "/api/graph/export", "/api/citations", "/api/export", "/api/suggest", "/v/{ref}",
    }  # fmt: skip


@pytest.mark.parametrize(
    "question",
    [SHARED, "harbour OR zebra", "xenops*", "*psaurus", "xenopsaurs~", "xenopsaurs", "scope:theirs",
     "-scope:mine harbour", "NOT tag:tag-zebrafinch", "project:quay-xenops*",
     "title:xenopsaurs~", "title:xenops*", "file:src/xenops*",
     "tag:tag-xenops*", "harbour -zebra"],
)  # fmt: skip
async def test_no_question_leads_out(empty: Client, guest: Person, question: str) -> None:
    facets = "kind,project,tag,source,type,month"
    said = [
        await told(empty, guest, "GET", "/api/search", params={"query": question, **more})
        for more in (
            {"facets": facets, "limit": "100"}, {"mode": "keyword"}, {"mode": "vector"},
            {"explain": "true", "as_words": "all"},
        )
    ]  # fmt: skip
    said.append(await told(empty, guest, "GET", "/api/search/related", params={"query": question}))
    for tool in ("search", "search_local_knowledge", "search_unified", "search_local_archives",
                 "timeline"):  # fmt: skip
        call = {"name": tool, "arguments": {"query": question}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        said.append(await told(empty, guest, "POST", "/mcp", json=message, headers=MCP))
    assert not [each for each in said if OUTSIDE in each.lower()]


async def test_what_is_counted_and_opened_is_inside(empty: Client, guest: Person) -> None:
    async def get(path: str, **params: Any) -> Any:
        reply = await empty.get(path, params=params, headers=guest.headers)
        return await reply.json()

    found = await get("/api/search", query=SHARED, facets="project", limit="100", fold="false")
    assert found["total"] == COUNT
    assert {each["value"] for each in found["facets"]["project"]["values"]} == {
        "quay", f"quay-{INSIDE}",
    }  # fmt: skip
    exported = await empty.get("/api/export", headers=guest.headers)
    assert len((await exported.text()).splitlines()) == COUNT
    every = await (await empty.get("/api/export", headers=AUTHORIZED)).text()
    assert len(every.splitlines()) == 2 * COUNT + 2
    for number in range(1, 2 * COUNT + 3):
        status = (await empty.get(f"/api/observation/{number}", headers=guest.headers)).status
        assert status in (200, 404)
    listed = await get("/api/observations", limit="100")
    assert listed["total"] == 2
    inside = await get(f"/api/records/{listed['items'][0]['ref']}")
    assert inside["superseded_by"] is None
    around = await get(f"/api/graph/{listed['items'][1]['ref']}", depth="5")
    assert all(INSIDE in node["title"].lower() for node in around["nodes"])
    assert (await get("/api/suggest", prefix="xeno"))["completions"] == []
    refs = [f"{kind}:{number}" for kind in KINDS for number in range(1, 2 * COUNT + 3)]
    for method, params in (
        ("tools/call", {"name": "get_records", "arguments": {"ids": refs[:50]}}),
        ("resources/list", {}),
    ):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        said = await told(empty, guest, "POST", "/mcp", json=message, headers=MCP)
        assert INSIDE in said.lower()
        assert OUTSIDE not in said.lower()
    assert (await get("/api/search", query="zebraf*"))["total"] == COUNT
    words = (await get("/api/suggest", prefix="zebraf"))["completions"]
    assert "zebrafinch" in [each["text"] for each in words]


async def test_a_word_outside_is_as_unknown_as_none(empty: Client, guest: Person) -> None:
    async def about(word: str) -> Any:
        params = {"query": f"harbour {word}"}
        reply = await empty.get("/api/search", params=params, headers=guest.headers)
        said = json.loads((await reply.text()).replace(word, "WORD"))
        how = said["search"]
        return said["total"], how["notices"], how["suggestions"], how["analyzed"]

    assert await about(OUTSIDE) == await about("yenopsaurux")


async def test_a_scoped_token_only_reads_and_ends_with_its_scope(
    empty: Client, guest: Person
) -> None:
    listed = await (await empty.get("/api/v1/tokens", headers=AUTHORIZED)).json()
    (token,) = listed["tokens"]
    assert (token["scope"], token["read_only"]) == ("mine", True)
    note = {"kind": "note", "text": "x"}
    assert (await empty.post("/api/records", json=note, headers=guest.headers)).status == 403
    body = {"name": "other", "scope": "nothing"}
    refused = await empty.post("/api/v1/tokens", json=body, headers=AUTHORIZED)
    assert (refused.status, (await refused.json())["field"]) == (422, "scope")
    wider = {"filter": "project:quay"}
    await empty.put("/api/v1/scopes/mine", json=wider, headers=AUTHORIZED)
    reply = await empty.get("/api/search", params={"query": OUTSIDE}, headers=guest.headers)
    assert (await reply.json())["total"] > 0
    await empty.delete("/api/v1/scopes/mine", headers=AUTHORIZED)
    reply = await empty.get("/api/search", params={"query": SHARED}, headers=guest.headers)
    assert (reply.status, "is gone" in await reply.text()) == (403, True)


async def test_the_token_of_a_user_is_limited_to_a_scope_of_theirs(empty: Client) -> None:
    ada = await join(empty, "ada")
    await bring_in(empty, ada, *records(INSIDE), *records(OUTSIDE))
    scope = {"filter": f"tag:tag-{INSIDE}"}
    assert (await empty.put("/api/v1/scopes/mine", json=scope, headers=ada.headers)).status == 200
    guest = await join(empty, "ada", "guest", scope="mine")
    said = await told(empty, guest, "GET", "/api/search", params={"query": SHARED})
    assert INSIDE in said.lower()
    assert OUTSIDE not in said.lower()


async def test_a_user_shows_another_one_a_scope_or_a_saved_search_until_it_is_taken_back(
    empty: Client,
) -> None:
    ada, bob, eve = [await join(empty, name) for name in ("ada", "bob", "eve")]
    await bring_in(empty, ada, *records(INSIDE), *records(OUTSIDE))
    await bring_in(empty, bob, {"kind": "note", "source_id": "own", "text": "harbour of bob"})
    scope, tag = {"filter": f"tag:tag-{INSIDE}"}, f"tag:tag-{INSIDE}"
    await empty.put("/api/v1/scopes/mine", json=scope, headers=ada.headers)
    saved = {"name": "weekly", "search": {"query": f"plan {tag}"}}
    await empty.post("/api/v1/saved-searches", json=saved, headers=ada.headers)
    for what in ({"scope": "mine"}, {"saved_search": "weekly"}):
        body = {**what, "with_user": "bob"}
        reply = await empty.post("/api/v1/shares", json=body, headers=ada.headers)
        share = await reply.json()
        assert (reply.status, share["giver"], share["with_user"]) == (201, "ada", "bob")
        shown = {"headers": {"X-Mem-Search-Share": share["name"]}, "params": {"query": SHARED}}
        said = await told(empty, bob, "GET", "/api/search", **shown)
        assert INSIDE in said.lower()
        assert OUTSIDE not in said.lower()
        assert "harbour of bob" not in said
        note, header = {"kind": "note", "text": "x"}, {"X-Mem-Search-Share": share["name"]}
        for path, sent in (("/api/records", note), ("/api/v1/shares", body)):
            refused = await empty.post(path, json=sent, headers={**bob.headers, **header})
            assert refused.status == 403
        for person in (eve, ada, OWNER):
            assert (await told(empty, person, "GET", "/api/search", **shown)).startswith("403")
        bare = await empty.get("/api/search", params={"query": SHARED}, headers=header)
        assert bare.status == 401
        listed = [
            await (await empty.get("/api/v1/shares", headers=each.headers)).json()
            for each in (ada, bob, eve)
        ]
        assert [(len(each["given"]), len(each["received"])) for each in listed] == [
            (1, 0), (0, 1), (0, 0),
        ]  # fmt: skip
        limited = await join(empty, "bob", f"limited-{share['name']}", scope="mine")
        assert (await told(empty, limited, "GET", "/api/search", **shown)).startswith("403")
        place = f"/api/v1/shares/{share['name']}"
        assert (await empty.delete(place, headers=eve.headers)).status == 404
        assert (await empty.delete(place, headers=ada.headers)).status == 200
        assert (await told(empty, bob, "GET", "/api/search", **shown)).startswith("403")


@pytest.mark.parametrize(
    ("body", "field"),
    [({"with_user": "bob"}, "scope"), ({"with_user": "bob", "scope": "none"}, "scope"),
     ({"with_user": "bob", "scope": "a", "saved_search": "b"}, "scope"),
     ({"with_user": "../x", "scope": "a"}, "with_user"), ({"scope": "a"}, "with_user"),
     ({"with_user": "bob", "scope": "a", "expires": "soon"}, "expires")],
)  # fmt: skip
async def test_what_cannot_be_shared_is_named(
    empty: Client, body: dict[str, str], field: str
) -> None:
    reply = await empty.post("/api/v1/shares", json=body, headers=AUTHORIZED)
    assert (reply.status, (await reply.json())["errors"][0]["pointer"]) == (422, f"/{field}")


async def test_what_nobody_has_narrowed_is_refused(empty: Client, guest: Person) -> None:
    runtime = lifecycle_of(empty).runtime
    request = SearchRequest(SHARED)
    scoped = await within_scope(runtime, "mine", datetime.now(UTC))
    page = await scoped.search.service.search(request, "")
    assert page.total == COUNT
    every = range(1, 2 * COUNT + 3)
    inside = await scoped.search.store.read(lambda snapshot: snapshot.records(every))
    assert len(inside) == COUNT
    kept = Filters(demand=Condition("kind:note", (Filters(kinds=("note",)),)))
    (notes,) = (await scoped.store.records.page(kept, "date_desc", 9, 0))[1:]
    assert notes == 1
    for ask in (
        lambda: scoped.store.search_log, lambda: scoped.store.tokens, lambda: scoped.ingest,
        lambda: scoped.store.records.named, lambda: scoped.research.saved_searches,
        lambda: scoped.store.part(object), lambda: scoped.store.something_new,
    ):  # fmt: skip
        with pytest.raises(Exception, match="limited to the scope mine"):
            ask()
    with pytest.raises(Exception, match="limited to the scope mine"):
        await scoped.search.store.read(lambda snapshot: snapshot.something_new())  # type: ignore[attr-defined]


async def test_the_heading_of_a_list_names_no_filter_where_only_the_scope_narrows(
    empty: Client, guest: Person
) -> None:
    for query in ("harbour", "zzqq"):
        reply = await empty.get("/api/search", params={"query": query}, headers=guest.headers)
        heading = (await reply.json())["content"][0]["text"].splitlines()[0]
        assert heading.rstrip(":").endswith(f'matching "{query}"'), heading
