"""The migration of searches that were stored as bodies of the API."""

from __future__ import annotations

import json

from old_stores import store_before

from mem_search.http.universal_requests import BASE
from mem_search.model import DateRange, Filters, ResearchPlacement, ResultTexts
from mem_search.search.stored_requests import load
from mem_search.storage.sqlite import migrations

BODY = {
    "query": "auth", "content_types": ["note"], "mode": "deep_research",
    "search_type": "semantic", "limit": 7, "offset": 2,
    "created_after": "2025-11-17T17:45:00.250Z", "created_before": None,
    "updated_after": None, "updated_before": None, "folder": None, "domain": "example.org",
    "archived": False, "include_snippets": True, "snippet_length": 80, "full_content": True,
    "session_id": "s", "parent_operation_id": None, "max_operations": 3, "scope": "work",
    "boosts": ["recency"],
}  # fmt: skip
BEFORE = {"search": BODY, "asked_at": "2026-01-02T03:04:05+00:00"}


def test_a_stored_body_becomes_the_request_that_it_meant() -> None:
    with store_before("m010_search_requests", ()) as connection:
        for name, request in (("old", BEFORE), ("fetch", {"ref": "note:1"})):
            connection.execute(
                "insert into search_jobs(id, request, surface, webhook_url, created_at)"
                " values(?, ?, 'http', '', 1)",
                (name, json.dumps(request)),
            )
        migrations.migrate(connection)
        rows = dict(connection.execute("select id, request from search_jobs").fetchall())
    assert json.loads(rows["fetch"]) == {"ref": "note:1"}
    request = load(json.loads(rows["old"]))
    assert request.asked_at is not None
    assert request.asked_at.isoformat() == BEFORE["asked_at"]
    assert (request.text, request.mode, request.limit, request.offset) == ("auth", "vector", 7, 2)
    assert request.filters == Filters(
        kinds=("note",), created=DateRange(1_763_401_500_250), archived=False
    )
    assert request.texts == ResultTexts(True, 80, True)
    assert request.research == ResearchPlacement("deep_research", "s", "", 3)
    assert (request.scope, request.domain, request.boosts) == ("work", "example.org", ("recency",))
    assert (request.fold, request.hide_scratchpad) == (BASE.fold, BASE.hide_scratchpad)
