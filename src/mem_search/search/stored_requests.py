"""Search requests as JSON values and back, for jobs, saved searches and operations.

The whole dataclass is dumped, with a version, so a new field of ``SearchRequest`` needs no line
here. A migration of the store rewrites values of older versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter

from mem_search.model import SearchRequest
from mem_search.text.redaction import redact

VERSION: Final = 1


def dump(request: SearchRequest) -> dict[str, Any]:
    """``request`` as plain values: ``load(dump(request)) == request``.

    It must have ``asked_at``, and no ``filters.demand``: a demand is written in ``text`` or
    ``scope``, and means something else at another time.
    """
    assert request.asked_at is not None
    assert request.filters.demand is None
    zone = getattr(request.asked_at.tzinfo, "key", "")
    return {
        "version": VERSION,
        "search": _adapter().dump_python(replace(request, asked_at=None), mode="json"),
        "asked_at": request.asked_at.isoformat(),
        **({"zone": zone} if zone else {}),
    }


def load(values: Mapping[str, Any]) -> SearchRequest:
    """The request that ``dump`` wrote."""
    at = datetime.fromisoformat(values["asked_at"])
    if zone := values.get("zone"):
        # The rules of the zone, not the offset of that day: "last month" may have another.
        at = at.astimezone(ZoneInfo(zone))
    return replace(_adapter().validate_python(values["search"]), asked_at=at)


def redacted_text(values: Mapping[str, Any]) -> str:
    """The query text of dumped values, without secrets."""
    return redact(values["search"]["text"])[0]


@cache
def _adapter() -> TypeAdapter[SearchRequest]:
    return TypeAdapter(SearchRequest)
