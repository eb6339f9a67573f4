"""A citation as an item of CSL-JSON, from which every style and export is made.

What the citation and its record do not state is omitted, and each style writes "n.d." or "no
author" in its own way. Source of the names and types: the CSL 1.0.2 specification,
appendices III and IV, and its JSON schema (csl-data.json). Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from mem_search.features.citations.authors import Name, name, names
from mem_search.model import Citation, Record
from mem_search.patterns import pattern
from mem_search.records.registry import installed_kinds
from mem_search.renderers.safe_text import one_line
from mem_search.text.addresses import addresses

Item = Mapping[str, Any]
"""One item of CSL-JSON: ``id``, ``type`` and the variables that are known."""

ARCHIVE = "mem-search"

_WEB = pattern(r"(?:https?|ftp)://\S+\Z", re.IGNORECASE)
_DAY = 86_400_000
"""Milliseconds."""


def item(citation: Citation, record: Record, tz: tzinfo) -> dict[str, Any]:
    """The item of ``record``, whose ``citation`` this is; dates are in ``tz``."""
    kind = installed_kinds().get(record.kind)
    url = one_line(citation.url)
    on_web = bool(_WEB.match(url))
    variables: dict[str, Any] = {
        "id": str(record.ref),
        "type": kind.csl_type,
        "title": _title(citation, record),
        "author": names(citation.author),
        "recipient": _recipients(record),
        "issued": (
            {"date-parts": [[*citation.published_in]]}
            if citation.published_in
            else _day(_issued(citation), tz)
        ),
        "accessed": _day(_accessed(citation) if on_web else None, tz),
        "container-title": one_line(citation.domain) if kind.csl_type == "webpage" else "",
        "genre": kind.genre,
        "URL": url if on_web else "",
        "keyword": ", ".join(one_line(tag) for tag in record.tags),
        "call-number": str(record.ref),
        # A reader can follow an address; anything else is found only in this store.
        "archive": "" if on_web else ARCHIVE,
        "archive_location": "" if on_web else str(record.ref),
    }
    return {key: value for key, value in variables.items() if value}


def day_of(date_variable: Mapping[str, Any] | None) -> tuple[int, ...]:
    """(year, month, day) of a date variable, as far as it has them; empty when there is none."""
    return tuple(date_variable["date-parts"][0]) if date_variable else ()


def _title(citation: Citation, record: Record) -> str:
    title = one_line(citation.source_title)
    # Listings put a prompt in quotes; a citation style adds its own.
    if record.kind == "user_prompt" and len(title) > 2 and title[0] == title[-1] == '"':
        title = title[1:-1].strip()
    return title


def _issued(citation: Citation) -> int | None:
    """When it was published. The time when a page was stored says nothing about that."""
    if citation.published_at is not None or citation.source_type == "website":
        return citation.published_at
    return citation.created_at


def _accessed(citation: Citation) -> int | None:
    """When it was last read. A page was read at the latest when it was stored."""
    if citation.accessed_at is None and citation.source_type == "website":
        return citation.created_at
    return citation.accessed_at


def _day(at: int | None, tz: tzinfo) -> dict[str, Any] | None:
    if at is None:
        return None
    day = _date(at, tz)
    return {"date-parts": [[day.year, day.month, day.day]]}


def _date(at: int, tz: tzinfo) -> date:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=at)
    # Midnight in UTC is a date without a time, as pages and headers give it. Converted to a
    # zone west of Greenwich it would become the day before.
    if at % _DAY == 0:
        return moment.date()
    try:
        return moment.astimezone(tz).date()
    except OverflowError:  # the first or last day of the calendar
        return moment.date()


def _recipients(record: Record) -> list[Name]:
    header = record.metadata.get("to") if record.kind == "email" else None
    lines = [header] if isinstance(header, str) else header
    if not isinstance(lines, list):
        return []
    people = addresses([each for each in lines if isinstance(each, str)])
    return [name(display or address) for display, address in people if display or address]
