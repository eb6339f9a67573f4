"""A universal query with the moment it was asked, as values that JSON can hold, and back.

The query is written as the body of ``POST /api/v1/search`` (seed 000's
``UniversalSearchRequest``), every field of it: what is kept can be read, and sent again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from mem_search.model import DateRange
from mem_search.search.universal import SNIPPET_LENGTH, UniversalQuery
from mem_search.text import dates


@dataclass(frozen=True, slots=True)
class Asked:
    """A query and when it was asked, in the time zone of whoever did."""

    query: UniversalQuery
    at: datetime


def dump(asked: Asked) -> dict[str, Any]:
    """As plain values: ``load(dump(asked)) == asked``, but for ``stored``, which nobody asks."""
    zone = getattr(asked.at.tzinfo, "key", "")
    return {
        "search": body(asked.query),
        "asked_at": asked.at.isoformat(),
        **({"zone": zone} if zone else {}),
    }


def load(values: Mapping[str, Any]) -> Asked:
    """What ``dump`` made."""
    at = datetime.fromisoformat(values["asked_at"])
    if zone := values.get("zone"):
        # With the rules of the zone, not that day's offset: "last month" may have had another.
        at = at.astimezone(ZoneInfo(zone))
    said = values["search"]
    query = UniversalQuery(
        text=said["query"],
        kinds=tuple(said["content_types"] or ()),
        mode=said["mode"],
        search_type=said["search_type"],
        limit=said["limit"],
        offset=said["offset"],
        created=_range(said, "created"),
        updated=_range(said, "updated"),
        folder=said["folder"] or "",
        domain=said["domain"] or "",
        archived=said["archived"],
        snippet_length=said["snippet_length"] if said["include_snippets"] else None,
        full_content=said["full_content"],
        session_id=said["session_id"] or "",
        parent_operation_id=said["parent_operation_id"] or "",
        max_operations=said["max_operations"],
        scope=said["scope"] or "",
        boosts=tuple(said["boosts"] or ()),
    )
    return Asked(query, at)


def body(query: UniversalQuery) -> dict[str, Any]:
    """The query as the body of a request, complete."""
    length = query.snippet_length
    return {
        "query": query.text,
        "content_types": list(query.kinds) or None,
        "mode": query.mode,
        "search_type": query.search_type,
        "limit": query.limit,
        "offset": query.offset,
        "created_after": _iso(query.created.start),
        "created_before": _iso(query.created.end),
        "updated_after": _iso(query.updated.start),
        "updated_before": _iso(query.updated.end),
        "folder": query.folder or None,
        "domain": query.domain or None,
        "archived": query.archived,
        "include_snippets": length is not None,
        "snippet_length": SNIPPET_LENGTH if length is None else length,
        "full_content": query.full_content,
        "session_id": query.session_id or None,
        "parent_operation_id": query.parent_operation_id or None,
        "max_operations": query.max_operations,
        "scope": query.scope or None,
        "boosts": list(query.boosts) or None,
    }


def _range(said: Mapping[str, Any], name: str) -> DateRange:
    start, end = said[f"{name}_after"], said[f"{name}_before"]
    return DateRange(
        None if start is None else dates.from_iso(start),
        None if end is None else dates.from_iso(end),
    )


def _iso(at: int | None) -> str | None:
    return None if at is None else dates.iso(at)
