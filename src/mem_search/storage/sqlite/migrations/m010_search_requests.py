"""Stored searches as dumps of ``SearchRequest`` (version 2) instead of bodies of the API."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from mem_search.text import dates

TABLES = ("search_operations", "search_jobs", "saved_searches")


def m010_search_requests(connection: sqlite3.Connection) -> None:
    """Rewrite ``request`` of every research step, background search and saved search."""
    for table in TABLES:
        rows = connection.execute(f"select rowid, request from {table}").fetchall()
        for row, text in rows:
            request = json.loads(text)
            if "query" in request.get("search", {}):
                request = {**request, "version": 2, "search": _search(request["search"])}
                connection.execute(
                    f"update {table} set request = ? where rowid = ?", (json.dumps(request), row)
                )


def _search(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body of ``POST /api/v1/search``, all fields of it, as a request."""
    modes = {"semantic": "vector"}
    return {
        "text": body["query"],
        "filters": {
            "kinds": body["content_types"] or [],
            "created": _range(body, "created"),
            "updated": _range(body, "updated"),
            "archived": body["archived"],
        },
        "mode": modes.get(body["search_type"], body["search_type"]),
        "limit": body["limit"],
        "offset": body["offset"],
        "fold": False,
        "boosts": body.get("boosts") or [],
        "scope": body.get("scope") or "",
        "folder": body["folder"] or "",
        "domain": body["domain"] or "",
        "hide_scratchpad": True,
        "texts": {
            "snippets": body["include_snippets"],
            "snippet_length": body["snippet_length"],
            "full_content": body["full_content"],
        },
        "research": {
            "mode": body["mode"],
            "session_id": body["session_id"] or "",
            "parent_operation_id": body["parent_operation_id"] or "",
            "max_operations": body["max_operations"],
        },
    }


def _range(body: Mapping[str, Any], name: str) -> dict[str, int | None]:
    ends = {"start": body[f"{name}_after"], "end": body[f"{name}_before"]}
    return {end: None if at is None else dates.from_iso(at) for end, at in ends.items()}
