"""A record of every kind with all citable facts, and one of each with none."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import Any

from mem_search.features.citations import reference_files
from mem_search.model import Kind, Record
from mem_search.records.registry import installed_kinds

EVENING = 1_763_401_500_000  # 2025-11-17T17:45:00Z


def record(kind: Kind, number: int, title: str, text: str = "Text.", **values: Any) -> Record:
    at = values.pop("created_at", EVENING)
    known = {"created_at": at, "updated_at": at, **values}
    return Record(number, kind, "jsonl", f"id{number}", title, text, **known)


def item(cited: Record, tz: tzinfo = UTC) -> dict[str, Any]:
    return reference_files.item(installed_kinds().get(cited.kind).citation(cited), cited, tz)


KNOWN = (
    record("observation", 1, "Added login endpoint", metadata={"author": "Ada Lovelace"}),
    record("session_summary", 2, "Implemented JWT authentication", metadata={"author": "Claude"}),
    record("user_prompt", 3, "", "How do we handle auth?", metadata={"author": "Lovelace, Ada"}),
    record("note", 4, "Reading list", metadata={"author": "Ludwig van Beethoven", "folder": "in"}),
    record(
        "website",
        5,
        "JWT handbook",
        url="https://example.org/jwt?a=1&b=2",
        metadata={"author": "Ada Lovelace; Alan Turing", "published_at": "2024-02-01"},
    ),
    record("file", 6, "src/auth.py", metadata={"author": "Martin King, Jr.", "path": "auth.py"}),
    record("conversation", 7, "A talk about auth", metadata={"author": ["Ada Lovelace", "Claude"]}),
    record("memory", 8, "Prefers tabs", metadata={"author": "ada@example.org"}),
    record(
        "email",
        9,
        "Re: budget",
        metadata={
            "from": "Ada Lovelace <ada@example.org>",
            "to": ["Alan Turing <alan@example.org>", "grace@example.org"],
            "date": "Sun, 16 Nov 2025 10:00:00 +0000",
        },
    ),
    record("report", 10, "The state of auth", metadata={"author": "Example Research Institute"}),
)
BARE = (
    record("observation", 11, "Added login endpoint"),
    record("session_summary", 12, "Implemented JWT authentication"),
    record("user_prompt", 13, "", "How do we handle auth?"),
    record("note", 14, "Reading list"),
    record("website", 15, "JWT handbook", url="https://example.org/jwt"),
    record("file", 16, "src/auth.py"),
    record("conversation", 17, "A talk about auth"),
    record("memory", 18, "Prefers tabs"),
    record("email", 19, "Re: budget"),
    record("report", 20, "The state of auth"),
)
