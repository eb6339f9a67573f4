"""No user ever gets a word of another user's records: checked on every route.

The routes come from the map, their parameters and bodies from their models, so that a route
which is added is walked, too. Everybody's records share the words that are asked for and have
one word of their own; no reply may contain the word of another.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from every_route import ENDLESS
from http_worker import Client, lifecycle_of
from people import OWNER, Person, bring_in, join
from pydantic import BaseModel

import mem_search
from mem_search.http.core.routing import Route
from mem_search.http.routes import ROUTES
from mem_search.records.registry import installed_kinds
from mem_search.settings import Settings

KINDS = installed_kinds().names

MARKS = {OWNER.name: "zebrafinch", "ada": "yellowhammer", "bob": "xenopsaurus"}
SHARED = "harbour plan"
VALUES: dict[str, Any] = {
    "query": SHARED, "q": "the harbour plan by the quay", "prefix": "ha", "text": SHARED,
    "question": SHARED,
    "project": "quay", "session_id": "chain", "concept": "how-it-works", "concepts": "how-it-works",
    "file": "harbour.py", "files": "harbour.py", "filePath": "harbour.py",
    "type": "decision", "anchor": "1", "timestamp": "2026-01-02",
    "refs": [f"{kind}:{number}" for number, kind in enumerate(KINDS, start=1)],
    "ids": list(range(1, 12)),
    "id": "local:observation:1",
    "ref": f"{KINDS[1]}:2",
    "as": "csv",
    "searches": [{"query": SHARED}],
    "path": "harbour.py",
    "memorySessionIds": [f"session-{mark}" for mark in MARKS.values()],
}  # fmt: skip
"""What a field of this name is asked with, where its route needs one or knows it."""


def records(mark: str) -> Iterator[dict[str, Any]]:
    """One of each kind, marked wherever a record has words."""
    for number, kind in enumerate((*KINDS, "observation")):
        yield {
            "kind": kind,
            "source_id": f"{mark}-{number}",
            "title": f"Harbour plan {mark} {number}",
            "text": f"The harbour plan of {mark}, by {mark}ing the quay in harbour.py.",
            "created_at": f"2026-01-{number + 1:02}T10:00:00Z",
            "project": f"quay-{mark}" if number % 2 else "quay",
            "session": f"session-{mark}",
            "tags": [f"tag-{mark}"],
            "url": f"https://example.org/{mark}/{number}",
            "links": [{"to": f"{mark}-0", "relation": "cites"}],
            "metadata": _metadata(kind, number, mark),
        }


def _metadata(kind: str, number: int, mark: str) -> dict[str, Any]:
    if kind == "observation":
        return {
            "type": "change" if number else "decision",
            "concepts": ["how-it-works", f"concept-{mark}"],
            "files_modified": [f"src/{mark}/harbour.py", "harbour.py"],
        }
    if kind == "session_summary":
        return {"request": f"What {mark} wanted", "learned": f"That {mark} floats"}
    return {}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The walk asks more than anybody may."""
    return replace(settings, limit_searches=0, limit_research=0)


IDS: set[str] = set()
"""What is in paths as ``{id}``: those of everybody, so that each asks for the others' as well."""
NAMES = ("weekly", "mine", "ada-laptop")
"""What is in paths as ``{name}``: the same for everybody."""


@pytest.fixture
async def people(empty: Client) -> list[Person]:
    """The owner and two users, each with marked records and marked questions."""
    known = [OWNER, await join(empty, "ada"), await join(empty, "bob")]
    IDS.clear()
    IDS.add("1")  # the first document of each
    for person in known:
        mark = MARKS[person.name]
        IDS.add(await bring_in(empty, person, *records(mark)))
        for question in (f"harbour {mark}", f"{mark}less"):
            params = {"query": question, "limit": "1", "mode": "keyword"}
            reply = await empty.get("/api/search", params=params, headers=person.headers)
            assert reply.status == 200
        for method, path, body in traces(mark):
            reply = await empty.request(method, path, json=body, headers=person.headers)
            assert reply.status < 300, await reply.text()
            IDS.update(_ids(await reply.json()))
    return known


def traces(mark: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(method, path, body) of what else leaves something behind, as far as there are routes."""
    known = {route.path for route in ROUTES}
    question = {"query": f"harbour plan {mark}"}
    search = "/api/v1/search"
    yield "POST", search, {**question, "mode": "deep_research", "session_id": "chain"}
    if "/api/v1/search/jobs" in known:
        yield "POST", search, {**question, "background": True}
    if "/api/corpus" in known:
        yield "POST", "/api/corpus", {"name": "mine", "description": mark, "project": "quay"}
    if "/api/v1/scopes/{name}" in known:
        yield "PUT", "/api/v1/scopes/mine", {"filter": f"tag:tag-{mark}"}
    if "/api/v1/saved-searches" in known:
        yield "POST", "/api/v1/saved-searches", {"search": question, "name": "weekly"}
        yield "POST", "/api/v1/saved-searches/weekly/run", {}


def _ids(value: Any, name: str = "") -> Iterator[str]:
    """Every id in a reply that is no record's."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _ids(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _ids(inner, name)
    elif name in ("id", "job_id", "session_id") and isinstance(value, str) and ":" not in value:
        yield value


def ways(
    model: type[BaseModel] | None, values: dict[str, Any] = VALUES
) -> Iterator[dict[str, Any]]:
    """With the required fields; with each other one that is known beside them; with all."""
    if model is None:
        yield {}
        return
    known = {
        field.alias or name: values.get(field.alias or name, values.get(name))
        for name, field in model.model_fields.items()
    }
    required = {
        field.alias or name for name, field in model.model_fields.items() if field.is_required()
    }
    needed = {name: known[name] for name in required if known[name] is not None}
    others = {name: value for name, value in known.items() if value is not None}
    yield needed
    for name in others.keys() - required:
        yield {**needed, name: others[name]}
    yield others


def requests(route: Route) -> Iterator[tuple[str, dict[str, str], dict[str, Any] | None]]:
    """(path, query, body): each way to ask that is tried of a route."""
    paths = [
        route.path.format(ref=f"{kind}:{number}", number=number, id=each, name=name)
        for number, kind in enumerate(KINDS, start=1)
        for each in sorted(IDS)
        for name in NAMES
    ]
    for path in dict.fromkeys(paths):
        for query in ways(route.query):
            for body in ways(route.body, VALUES | {"mode": "deep_research"}):
                params = {
                    name: ",".join(map(str, value)) if isinstance(value, list) else str(value)
                    for name, value in query.items()
                }
                yield path, params, body if route.body else None


async def ask(client: Client, person: Person, route: Route) -> list[tuple[int, str]]:
    """(status, all that is said, headers too) for each way to ask."""
    said = []
    for number, (path, query, body) in enumerate(requests(route)):
        reply = await client.request(
            route.method,
            path,
            params=query,
            json=body,
            headers={**person.headers, "Accept": ("application/json", "text/plain")[number % 2]},
            allow_redirects=False,
        )
        text = (await reply.read()).decode("utf-8", "replace")
        said.append((reply.status, f"{dict(reply.headers)} {text}"))
    return said


async def export(client: Client, person: Person) -> str:
    return await (await client.get("/api/export", headers=person.headers)).text()


ENDING = [route for route in ROUTES if route.content_type != ENDLESS]
READING = [route for route in ENDING if route.method == "GET" or not route.write]
CHANGING = [route for route in ENDING if route not in READING]


async def test_no_reply_to_one_contains_a_word_of_another(
    empty: Client, people: list[Person]
) -> None:
    told: set[str] = set()
    for route, person in itertools.product(READING, people):
        own = MARKS[person.name]
        for status, said in await ask(empty, person, route):
            assert status < 500, (route, person, said)
            for mark in set(MARKS.values()) - {own}:
                assert mark not in said.lower(), (str(person), route.method, route.path)
            if own in said.lower():
                told.add(f"{route.method} {route.path} {person}")
    # The walk means something: all but a few routes tell each of them of their own records.
    told_everybody = {
        route.path
        for route in READING
        if all(f"{route.method} {route.path} {person}" in told for person in people)
    }
    silent = {route.path for route in READING if route.path not in told_everybody}
    assert silent <= SILENT, (
        "walk these with values that find something: add to VALUES; what shows no record: to SILENT"
    )


SILENT = {
    *(route.path for route in ROUTES if route.early),
    "/metrics",  # of the worker, and for its owner alone
    "/api/search/commits",  # these users have none
    "/api/mirrors",  # as archives
    "/api/archives",  # folders of the machine, which this one has none of
    "/api/archive/related",  # these records cite nothing
    "/api/search/slow",  # which ones were slow is up to the machine
    "/api/v2/search/stats",
    "/api/stats",
    "/api/jobs",
    "/api/jobs/{id}",
    "/api/processing-status",
    "/api/learned",  # numbers alone
    "/api/settings",
    "/api/viewer/settings",
    "/api/viewer/sessions",  # browsers, which nobody has here
    "/api/chroma/status",
    "/api/sync/status",
    "/api/onboarding/explainer",
    "/api/context/costs",  # of hooks, which nobody has here
    "/api/settings/dependency-health",
    "/api/mcp/status",
    "/api/logs",
    "/api/instructions",
    "/api/tool-uses",  # out of transcripts, which nobody has here
    "/api/tool-uses/batch",
    "/api/ledger",
    "/api/why",  # what became of files, which nobody has here
    "/documents",  # by a name that was sent; test_http_documents.py asks as others
    "/documents/{id}/original",
    "/api/corpus/{name}/prime",  # names the corpus
    "/api/corpus/{name}/reprime",
    "/api/forget",  # counts only
    "/api/v1/backup",  # a file, for the owner alone
    "/api/forget/{id}",
    "/api/v1/tokens",
    "/api/v1/shares",
    "/api/v1/users",
    "/api/v1/notifications",
    "/api/v1/webhooks/secret",
    "/mcp",  # its messages are no fields
}
"""Routes that need not tell anything out of records."""


async def test_what_one_changes_leaves_the_others_as_they_were(
    empty: Client, people: list[Person]
) -> None:
    owner, ada, bob = people
    before = {person.name: await export(empty, person) for person in (owner, bob)}
    for route in CHANGING:
        if not route.streams_body:
            for status, said in await ask(empty, ada, route):
                assert status < 500, (route, said)
                assert not any(MARKS[p.name] in said.lower() for p in (owner, bob)), route.path
    assert {person.name: await export(empty, person) for person in (owner, bob)} == before
    assert len(before["bob"].splitlines()) == len(KINDS) + 1
    left = [line for line in (await export(empty, ada)).splitlines() if '"forgotten"' not in line]
    assert len(left) < len(KINDS) + 1  # her own are gone
    reply = await empty.get("/api/search/popular", headers=bob.headers)
    assert MARKS["bob"] in await reply.text()


async def test_a_job_is_visible_only_to_its_user(empty: Client) -> None:
    ada, bob = await join(empty, "ada"), await join(empty, "bob")
    job = await bring_in(empty, ada, *records("yellowhammer"))
    assert (await empty.get(f"/api/jobs/{job}", headers=ada.headers)).status == 200
    for other in (bob, OWNER):
        assert (await empty.get(f"/api/jobs/{job}", headers=other.headers)).status == 404
        cancelled = await empty.post(f"/api/jobs/{job}/cancel", headers=other.headers)
        assert cancelled.status == 404
        listed = await (await empty.get("/api/jobs", headers=other.headers)).json()
        assert listed == {"jobs": []}


async def test_what_touches_the_machine_is_not_for_users(empty: Client) -> None:
    ada = await join(empty, "ada")
    only = [route for route in ROUTES if route.only]
    assert {route.path for route in only} == {
        "/api/hooks",
        "/api/logs",
        "/api/sessions/init",
        "/api/sessions/observations",
        "/api/sessions/summarize",
        "/api/sessions/session-end",
        "/api/sessions/complete",
        "/api/sync",
        "/api/viewer/settings",
        "/api/viewer/links",
        "/api/viewer/sessions",
        "/api/viewer/sessions/{id}",
        "/metrics",
        "/api/unfollow",
        "/api/import",
        "/api/archive/index",
        "/api/archives",
        "/api/archives/{name}",
        "/api/mirrors",
        "/api/mirrors/stop",
        "/api/index/audit",
        "/api/index/rebuild",
        "/api/reembed",
        "/api/compress",
        "/api/v1/backup",
        "/api/v1/tokens",
        "/api/v1/tokens/{name}",
        "/api/v1/users",
        "/api/v1/users/{name}",
    }, "add a new route with only= here"
    for route in only:
        path = route.path.format(name="ada", id="x")
        reply = await empty.request(route.method, path, json={}, headers=ada.headers)
        assert (reply.status, (await reply.json())["code"]) == (403, "forbidden"), route


async def test_a_user_without_records_finds_nothing_not_everything(
    empty: Client, people: list[Person]
) -> None:
    new = await join(empty, "eve")
    reply = await (
        await empty.get("/api/search", params={"query": SHARED}, headers=new.headers)
    ).json()
    assert reply["total"] == 0
    stats = await (await empty.get("/api/stats", headers=new.headers)).json()
    assert stats["records"]["total"] == 0
    assert "/" not in stats["database"]["path"]
    assert lifecycle_of(empty).users.open == ["ada", "bob", "eve"]


def test_no_handler_asks_the_store_of_the_machine_by_another_way() -> None:
    """``Call.runtime`` is whose who asks; ``Opening.runtime`` is always the person's."""
    root = Path(mem_search.__file__).parent
    known = {"http/core/lifecycle.py", "http/core/dispatch.py", "http/core/routing.py"}
    for file in [
        each for part in ("http", "mcp", "features") for each in (root / part).rglob("*.py")
    ]:
        if file.relative_to(root).as_posix() not in known:
            used = re.findall(r"opening\.runtime|OPENING\]\.runtime", file.read_text())
            assert not used, file


def test_every_kind_is_walked() -> None:
    assert {record["kind"] for record in records("m")} == set(KINDS)
    assert all(installed_kinds().named(kind) for kind in KINDS)
