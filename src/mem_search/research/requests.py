"""A universal query with the moment it was asked, as values that JSON can hold, and back.

What is written is every field that differs from its default, so that a field which comes later
means its default in a request of today.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from mem_search.model import DateRange
from mem_search.search.universal import UniversalQuery

_DEFAULTS = {field.name: field.default for field in fields(UniversalQuery)}


@dataclass(frozen=True, slots=True)
class Asked:
    """A query and when it was asked, in the time zone of whoever did."""

    query: UniversalQuery
    at: datetime

    @classmethod
    def now(cls, query: UniversalQuery, at: datetime | None = None) -> Asked:
        """Asked just now, unless ``at``, aware, says when."""
        return cls(query, at or datetime.now().astimezone())


def dump(asked: Asked) -> dict[str, Any]:
    """As plain values: ``load(dump(asked)) == asked``."""
    query = {
        field.name: _plain(value)
        for field in fields(asked.query)
        if (value := getattr(asked.query, field.name)) != field.default
    }
    zone = getattr(asked.at.tzinfo, "key", "")
    return {"query": query, "asked_at": asked.at.isoformat(), **({"zone": zone} if zone else {})}


def load(values: Mapping[str, Any]) -> Asked:
    """What ``dump`` made."""
    at = datetime.fromisoformat(values["asked_at"])
    if zone := values.get("zone"):
        # With the rules of the zone, not that day's offset: "last month" may have had another.
        at = at.astimezone(ZoneInfo(zone))
    query = {name: _value(name, value) for name, value in values["query"].items()}
    return Asked(UniversalQuery(**query), at)


def _plain(value: object) -> object:
    return asdict(value) if isinstance(value, DateRange) else value


def _value(name: str, value: Any) -> Any:
    match _DEFAULTS.get(name):
        case DateRange():
            return DateRange(**value)
        case tuple():
            return tuple(value)
        case _:
            return value
