"""Shared by the tests of HTTP: the token, the records, the types."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from types import MappingProxyType
from typing import Any, Final

import pytest
from aiohttp import ClientResponse, ClientSession, TraceConfig, TraceRequestEndParams, web
from aiohttp.test_utils import TestClient

from mem_search.daemon.run import origin_of, viewer_socket
from mem_search.http.access.browser_sessions import SESSION
from mem_search.http.core.lifecycle import LIFECYCLE, Lifecycle
from patience import PATIENCE

TOKEN = "a-token-for-tests"
AUTHORIZED: Final[Mapping[str, str]] = MappingProxyType({"Authorization": f"Bearer {TOKEN}"})
"""Read-only: schemathesis adds the headers of its client to a dictionary that it is given."""


Client = TestClient[web.Request, web.Application]

RECORDS: tuple[dict[str, Any], ...] = (
    {
        "kind": "session_summary",
        "source_id": "s1",
        "title": "Implemented JWT authentication",
        "text": "Auth works end to end.",
        "created_at": "2025-11-17T17:30:00Z",
        "project": "web",
        "session": "one",
        "metadata": {"learned": "Tokens expire early", "completed": "The login"},
    },
    {
        "kind": "observation",
        "source_id": "o1",
        "title": "Added login endpoint",
        "text": "The auth endpoint checks the password.",
        "created_at": "2025-11-17T17:45:00Z",
        "project": "web",
        "session": "one",
        "tags": ["api"],
        "metadata": {
            "type": "feature",
            "concepts": ["how-it-works"],
            "files_modified": ["src/auth.py"],
        },
        "links": [{"to": "https://example.org/jwt", "relation": "cites"}],
    },
    {
        "kind": "user_prompt",
        "source_id": "p1",
        "title": "",
        "text": "How do we handle auth?",
        "created_at": "2025-11-17T18:00:00Z",
        "project": "web",
        "session": "one",
    },
    {
        "kind": "observation",
        "source_id": "o2",
        "title": "Chose JWT over sessions",
        "text": "Decided on tokens for auth because of the mobile app.",
        "created_at": "2025-11-18T23:59:59.500Z",
        "project": "web",
        "session": "one",
        "metadata": {"type": "decision", "concepts": ["decision", "trade-off"]},
    },
    {
        "kind": "observation",
        "source_id": "o3",
        "title": "Backend keeps the rate limit",
        "text": "A trade-off that was decided late, with nothing about tokens.",
        "created_at": "2025-11-19T08:00:00Z",
        "project": "api",
        "metadata": {"type": "discovery", "concepts": ["decision"]},
    },
    {
        "kind": "note",
        "source_id": "n1",
        "title": "Reading list",
        "text": "Papers about auth and passwords.",
        "created_at": "2024-02-01T12:00:00Z",
        "metadata": {"folder": "inbox"},
    },
    *(
        {
            "kind": "observation",
            "source_id": f"c{i}",
            "title": f"Changed widget {i}",
            "text": f"The widget number {i} got a new colour.",
            "created_at": f"2025-10-{i + 1:02}T10:00:00Z",
            "project": "ui",
            "metadata": {"type": "change", "concepts": ["what-changed"] if i % 2 else []},
        }
        for i in range(25)
    ),
)

Get = Callable[..., Any]


def lifecycle_of(client: Client) -> Lifecycle:
    """The runtime's holder behind a client."""
    app = client.app
    assert isinstance(app, web.Application)
    return app[LIFECYCLE]


@asynccontextmanager
async def viewer_of(client: Client) -> AsyncIterator[ClientSession]:
    """A client at the origin of the viewer, which the app of ``client`` then has."""
    assert client.server.runner is not None
    replies: list[ClientResponse] = []
    kept = TraceConfig()

    async def keep(session: object, context: object, ended: TraceRequestEndParams) -> None:
        replies.append(ended.response)

    kept.on_request_end.append(keep)
    async with (
        viewer_opened(client.server.runner) as origin,
        ClientSession(origin, trace_configs=[kept]) as session,
    ):
        try:
            yield session
        finally:
            for reply in replies:  # of which some are not read: a test asks for the status alone
                reply.close()


@asynccontextmanager
async def viewer_opened(runner: web.BaseRunner[Any]) -> AsyncIterator[str]:
    """Open the viewer's listener for the app of ``runner``, as the worker's process does."""
    with viewer_socket() as listener:
        assert not isinstance(listener, str), listener
        app = runner.app  # type: ignore[attr-defined]
        app[LIFECYCLE].viewer = origin_of(listener)
        site = web.SockSite(runner, listener)
        await site.start()
        try:
            yield app[LIFECYCLE].viewer
        finally:
            await site.stop()
            app[LIFECYCLE].viewer = ""


PAGE = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
"""What browsers send with a request of our own page."""

TYPED = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
"""What browsers send for an address that a person opens."""


async def logged_in(viewer: ClientSession, client: Client) -> dict[str, str]:
    """The headers of a page of the viewer that a link has logged in."""
    made = await (await client.post("/api/viewer/links", headers=AUTHORIZED)).json()
    code = made["url"].rpartition("/")[2]
    reply = await viewer.post("/api/viewer/sessions", json={"code": code}, headers=PAGE)
    assert reply.status == 201, await reply.text()
    return {SESSION: (await reply.json())["secret"], **PAGE}


async def ended(
    client: Client, job: str, headers: Mapping[str, str] = AUTHORIZED
) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            reply = await client.get(f"/api/jobs/{job}", headers=headers)
            state: dict[str, Any] = await reply.json()
            if state["state"] in ("done", "failed", "cancelled"):
                return state
            await asyncio.sleep(0.02)


@contextmanager
def held_searches(client: Client) -> Iterator[None]:
    """Searches in the background begin, and end only when the block does."""
    research = lifecycle_of(client).runtime.research.operations
    search, released = research.search, asyncio.Event()

    async def held(*args: Any, **values: Any) -> Any:
        await released.wait()
        return await search(*args, **values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(research, "search", held)
        yield
    released.set()
