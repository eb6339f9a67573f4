"""The research routes of ``/api/v1`` answer what OpenAPI says."""

from __future__ import annotations

import asyncio
from typing import Any

from described import faults
from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.http.openapi import describe
from mem_search.http.routes import ROUTES
from mem_search.model import Draft
from runtimes import fill, settled

V1 = {(r.method, r.path): r for r in ROUTES if r.path.startswith("/api/v1/")}
SEARCH = {"query": "auth", "mode": "deep_research", "session_id": "s"}

BACKUP = ("GET", "/api/v1/backup")


async def test_every_reply_has_the_shape_that_is_described(client: Client) -> None:
    asked: set[tuple[str, str]] = set()

    async def ask(method: str, path: str, body: Any = None, **values: Any) -> Any:
        reply = await client.request(method, path.format(**values), json=body, headers=AUTHORIZED)
        told = await reply.json()
        route = V1[method, path.partition("?")[0]]
        assert reply.status == route.status, (method, path, told)
        assert not faults(method, route.path, route.status, "application/json", told)
        asked.add((method, route.path))
        return told

    first = await ask("POST", "/api/v1/search", SEARCH)
    operation = first["operations"][0]["id"]
    await ask("POST", "/api/v1/mcp/search", {"query": "auth"})
    await ask("POST", "/api/v1/mcp/fetch", {"id": first["items"][0]["id"], "session_id": "s"})
    base = "/api/v1/search/operations"
    await ask("GET", base)
    await ask("GET", base + "/{id}", id=operation)
    await ask("POST", base + "/{id}/replay", id=operation)
    await fill(lifecycle_of(client).runtime, Draft("note", "jsonl", "x", "More about auth", "Auth"))
    await settled(lifecycle_of(client).runtime)
    changed = await ask("POST", base + "/{id}/replay", id=operation)
    assert changed["drift"]["appeared"]
    base = "/api/v1/search/sessions"
    await ask("GET", base)
    await ask("GET", base + "/{id}", id="s")
    await ask("POST", base + "/{id}/replay?results=true", id="s")
    await ask("GET", base + "/{id}/export", id="s")
    await ask("DELETE", base + "/{id}", id="s")

    base = "/api/v1/search/jobs"
    job = (await ask("POST", "/api/v1/search", {"query": "auth", "background": True}))["job_id"]
    for _ in range(500):
        if (await ask("GET", base + "/{id}", id=job))["result_payload"] is not None:
            break
        await asyncio.sleep(0.02)
    await ask("GET", base)
    await ask("DELETE", base + "/{id}", id=job)

    base = "/api/v1/saved-searches"
    plan = {"search": {"query": "auth"}}
    await ask("POST", base, {"name": "a", **plan})
    await ask("PUT", base + "/{name}", plan, name="a")
    await fill(lifecycle_of(client).runtime, Draft("note", "jsonl", "y", "Newest auth", "New"))
    ran = await ask("POST", base + "/{name}/run", name="a")
    assert ran["new_count"] == 1
    await ask("GET", base)
    await ask("GET", base + "/{name}", name="a")
    await ask("GET", "/api/v1/notifications")
    number = ran["notification"]
    await ask("POST", "/api/v1/notifications/{number}/read", number=number)
    await ask("DELETE", "/api/v1/notifications/{number}", number=number)
    await ask("DELETE", base + "/{name}", name="a")

    base = "/api/v1/scopes"
    await ask("PUT", base + "/{name}", {"filter": "project:web"}, name="a")
    await ask("GET", base)
    await ask("GET", base + "/{name}", name="a")
    share = await ask("POST", "/api/v1/shares", {"scope": "a", "with_user": "ada"})
    await ask("GET", "/api/v1/shares")
    await ask("DELETE", "/api/v1/shares/{name}", name=share["name"])
    await ask("DELETE", base + "/{name}", name="a")
    await ask("GET", "/api/v1/webhooks/secret")

    for name, user in (("one", "ada"), ("two", "ada")):
        await ask("POST", "/api/v1/tokens", {"name": name, "user": user})
    await ask("GET", "/api/v1/tokens")
    await ask("GET", "/api/v1/users")
    await ask("DELETE", "/api/v1/tokens/{name}", name="one")
    await ask("DELETE", "/api/v1/users/{name}", name="ada")
    # To cancel a job it must not have ended: tests of jobs hold them back to do so.
    # A backup is a file, and no JSON.
    unasked = set(V1) - asked
    assert unasked == {("POST", "/api/v1/search/jobs/{id}/cancel"), BACKUP}, "ask a new route above"


def test_every_v1_operation_says_what_it_answers_and_how_it_fails() -> None:
    paths = describe(ROUTES)["paths"]
    for method, path in V1:
        responses = paths[path][method.lower()]["responses"]
        content = responses[str(V1[method, path].status)]["content"]
        if (method, path) == BACKUP:
            assert list(content) == ["application/zip"]
            continue
        assert {"$ref", "anyOf"} & set(content["application/json"]["schema"]), path
        assert {"401", "403", "422", "500", "503"} <= set(responses)
        assert ("404" in responses) or "{" not in path
