"""A caller of tools with a small store."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from drafts import draft
from mem_search.access.callers import OWNER
from mem_search.mcp.tool import ToolContext
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions
from mem_search.text.dates import from_iso
from mem_search.wiring import Runtime
from runtimes import fill

NOW = datetime(2025, 12, 1, tzinfo=UTC)
LONG = "The token is refreshed under a lock. " * 400


@pytest.fixture
async def context(runtime: Runtime) -> ToolContext:
    """Six records about tokens, one of them long; numbers are 1 to 6 in this order."""
    await fill(
        runtime,
        draft(
            "s1",
            "Tokens are refreshed once.",
            kind="session_summary",
            title="Refresh tokens",
            project="shop",
            session="one",
            created_at=from_iso("2025-11-01T10:00:00Z"),
            metadata={"learned": "Tokens expire early"},
        ),
        draft(
            "o1",
            LONG,
            kind="observation",
            title="Refresh under a lock",
            project="shop",
            session="one",
            tags=("auth", "api"),
            created_at=from_iso("2025-11-02T10:00:00Z"),
            metadata={"type": "bugfix", "concepts": ["gotcha"], "author": "Ada"},
        ),
        draft(
            "p1",
            "How do we keep the token?",
            kind="user_prompt",
            project="shop",
            created_at=from_iso("2025-11-03T10:00:00Z"),
        ),
        draft(
            "n1",
            "A list of papers about tokens.",
            title="Reading list",
            created_at=from_iso("2025-11-04T10:00:00Z"),
            metadata={"folder": "inbox"},
        ),
        draft(
            "w1",
            "OAuth tokens for browsers.",
            kind="website",
            title="OAuth 2.0",
            url="https://example.org/oauth",
            created_at=from_iso("2025-11-05T10:00:00Z"),
            metadata={"domain": "example.org"},
        ),
        draft(
            "e1",
            "Token outage on Monday.",
            kind="email",
            title="Outage",
            created_at=from_iso("2025-11-06T10:00:00Z"),
        ),
    )
    display = DisplayOptions(installed_kinds().get, UTC, NOW)
    return ToolContext(runtime, "http://127.0.0.1:4000", display, OWNER)
