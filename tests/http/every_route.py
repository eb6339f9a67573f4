"""What every route takes: parameters and bodies that it knows, and things to name in paths."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from http_worker import Client, lifecycle_of
from people import OWNER, Person, bring_in

from mem_search.features.search_jobs.sql import SearchJobStore
from mem_search.http.core.routing import Route
from mem_search.wiring import Runtime
from patience import PATIENCE

PARAMETERS = {
    "query": "auth", "prefix": "au", "concept": "decision", "filePath": "src/auth.py",
    "type": "feature", "anchor": "1", "refs": "observation:1", "as": "csv",
}  # fmt: skip
SEARCH = {"query": "auth"}
ENDLESS = "text/event-stream"
"""The content type of routes whose reply ends when the client leaves."""

BODIES: dict[str, list[Any]] = {
    "/api/v1/search": [
        SEARCH,
        {**SEARCH, "background": True},
        {**SEARCH, "background": True, "webhook_url": "https://example.org/hook"},
        {**SEARCH, "mode": "deep_research"},
        {**SEARCH, "mode": "deep_research", "background": True},
    ],
    "/api/v1/mcp/search": [SEARCH],
    "/api/v1/mcp/fetch": [{"id": "observation:1"}, {"id": "observation:1", "session_id": "mine"}],
    "/api/v1/saved-searches": [{"name": "new", "search": SEARCH}],
    "/api/v1/saved-searches/{name}": [{"search": SEARCH, "every": "1h"}],
    "/api/v1/scopes/{name}": [{"filter": "project:web"}],
    "/api/v1/shares": [{"scope": "known", "with_user": "eve"}],
    "/api/v2/search/hybrid": [SEARCH],
    "/api/search/batch": [{"searches": [SEARCH]}],
    "/api/mirrors": [{"folder": "/dev/null/mirror"}],
    "/api/mirrors/stop": [{"folder": "/dev/null/mirror"}],
    "/api/reembed": [{"model": "no such model"}],
    "/api/projects/merge": [{"project": "web", "into": "site"}],
    "/api/projects/rename": [{"project": "web", "name": "site"}],
    "/api/v2/search/vector": [SEARCH],
    "/api/records/batch": [{"refs": ["observation:1"]}],
    "/api/observations/batch": [{"ids": [1]}],
    "/api/records": [{"kind": "note", "text": "x"}],
    "/api/records/{ref}": [{"text": "x"}],
    "/documents/upload": [b"--x\r\n\r\n--x--\r\n"],
    "/documents/mail": [b"From: bob@x\nSubject: Oil\n\nThe barrel is empty.\n"],
    "/documents/fetch": [{"url": "http://127.0.0.1/"}],  # which is refused before it is asked
    "/api/forget": [{"refs": ["observation:1"]}],
    "/api/sync": [{}],
    "/api/hooks": [{"hook_event_name": "Stop"}, {"hook_event_name": "SessionStart", "cwd": "/x"}],
    "/api/context/semantic": [{"q": "how do we handle auth here?"}],
    "/api/archive/index": [{"name": "known", "researchPath": "/nowhere"}],
    "/api/archive/check": [SEARCH],
    "/api/archive/search": [{**SEARCH, "includeCitations": True}],
    "/api/unfollow": [{"source": "jsonl", "path": "/nowhere"}],
    "/api/import": [{"path": "/etc/hostname"}],
    "/api/import/upload": [b'{"kind": "note", "text": "x"}'],
    "/api/import/jsonl": [b'{"kind": "note", "text": "x"}'],
    "/api/citations": [{"refs": ["observation:1"]}],
    "/api/v1/tokens": [{"name": "mine"}],
    "/api/viewer/sessions": [{"code": "unknown"}],
    "/api/memory/save": [{"text": "x"}],
    "/api/corpus": [{"name": "known", "project": "web"}],
    "/api/corpus/{name}/query": [{"question": "how do we handle auth?"}],
    "/api/sdk-sessions/batch": [{"memorySessionIds": ["one"]}],
    "/api/tool-uses/batch": [{"ids": ["toolu_1"], "contentSessionId": "one"}],
    "/mcp": [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
         "params": {"name": name, "arguments": arguments}}
        for name, arguments in (
            ("remember", {"text": "x"}),
            ("search", SEARCH), ("timeline", SEARCH), ("fetch", {"id": "observation:1"}),
            ("get_records", {"ids": ["observation:1"]}), ("search_local_knowledge", SEARCH),
            ("search_local_archives", SEARCH),
            ("search_local_knowledge", {**SEARCH, "mode": "deep_research", "session_id": "s"}),
        )
    ],
}  # fmt: skip


async def write_something(client: Client, person: Person = OWNER) -> dict[str, str]:
    """One thing of each sort that a route can change; returns what fills the paths."""

    async def post(path: str, body: Any) -> Any:
        reply = await client.post(path, json=body, headers=person.headers)
        assert reply.status < 300, await reply.text()
        return await reply.json()

    found = await post("/api/v1/search", {**SEARCH, "mode": "deep_research"})
    await post("/api/v1/saved-searches", {"name": "known", "search": SEARCH})
    await post("/api/corpus", {"name": "known", "project": "web"})
    await client.put("/api/v1/scopes/known", json={"filter": "project:web"}, headers=person.headers)
    job = (await post("/api/v1/search", {**SEARCH, "background": True}))["job_id"]
    if person is OWNER:
        await _searched(lifecycle_of(client).runtime)
    else:
        async with lifecycle_of(client).users.lease(person.name) as runtime:
            await _searched(runtime)
    await client.get("/api/search?query=auth", headers=person.headers)
    await bring_in(client, person, {"kind": "note", "source_id": "late", "text": "auth, late"})
    await post("/api/v1/saved-searches/known/run", {})
    return {
        "ref": "observation:1", "number": "1", "name": "known", "job": job,
        "operation": found["operations"][0]["id"], "session": found["session_id"],
        "receipt": "none",
    }  # fmt: skip


async def _searched(runtime: Runtime) -> None:
    async with asyncio.timeout(PATIENCE):
        while await runtime.store.part(SearchJobStore).unfinished():  # noqa: ASYNC110  it asks the store
            await asyncio.sleep(0.01)


def filled(route: Route, known: dict[str, str]) -> str:
    ids = {
        "documents": "number",
        "jobs": "job",
        "operations": "operation",
        "sessions": "session",
        "forget": "receipt",
    }

    def value(match: re.Match[str]) -> str:
        before = route.path[: match.start()].strip("/").rpartition("/")[2]
        return known[ids[before] if match[1] == "id" else match[1]]

    return re.sub(r"{(\w+)}", value, route.path)
