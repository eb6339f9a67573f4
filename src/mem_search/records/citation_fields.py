"""The author and dates of a record, from its metadata. Sources use many names for the same fact.
Nothing is guessed: a year alone is not a date, and values of another type are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from mem_search.errors import InputError
from mem_search.text import dates
from mem_search.text.date_words import from_epoch, to_ms

AUTHORS = ("author", "authors", "byline", "creator")
PUBLISHED = (
    "published_at", "published_date", "date_published", "datePublished", "publication_date",
    "published",
)  # fmt: skip
ACCESSED = ("last_opened_at", "last_accessed", "accessed_at", "retrieved_at")
NAMES = frozenset((*AUTHORS, *PUBLISHED, *ACCESSED))

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?:$|[Tt ])")
_MAIL = re.compile(r"(?:\w{3},\s+)?\d{1,2}\s+\w{3}\s+\d{4}\s+\d{2}:\d{2}", re.ASCII)
"""The header ``Date`` of an e-mail (RFC 5322)."""
_LEAST_EPOCH = 100_000_000
"""A smaller number may be a year or a day written without its dashes."""


def words(metadata: Mapping[str, Any], *names: str) -> str:
    """The first of ``names`` that is a text, or a list of texts, on one line; else ""."""
    for name in names:
        if (value := metadata.get(name)) is None:
            continue
        items = value if isinstance(value, list) else [value]
        texts = [" ".join(item.split()) for item in items if isinstance(item, str) and item.strip()]
        if texts:
            return "; ".join(texts)
    return ""


def first_time(metadata: Mapping[str, Any], *names: str) -> int | None:
    """The first of ``names`` that is a date or a time, in milliseconds."""
    for name in names:
        if (value := metadata.get(name)) is not None and (at := _read_time(value)) is not None:
            return at
    return None


def _read_time(value: object) -> int | None:
    try:
        match value:
            case str() if _DAY.match(value.strip()):
                return dates.from_iso(value.strip().upper())
            case str() if _MAIL.match(value.strip()):
                sent = parsedate_to_datetime(value.strip())
                return to_ms(sent if sent.tzinfo else sent.replace(tzinfo=UTC))
            case int() | float() if not isinstance(value, bool) and value >= _LEAST_EPOCH:
                at = from_epoch(value)
                dates.iso(at)  # a time that cannot be formatted is not valid
                return at
    except (ValueError, OverflowError, InputError, TypeError, IndexError):
        return None
    return None
