"""Search requests as ``/api/v1`` makes them, in short form."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from mem_search.http.universal_requests import BASE
from mem_search.model import Filters, ResearchPlacement, ResultTexts, SearchRequest


def universal(text: str, **given: Any) -> SearchRequest:
    """Fields of the request and of its filters, texts and research placement, by their names.

    ``mode`` is deep_research or basic, ``search`` the mode of the search; keyword by default.
    """
    search = given.pop("search", "keyword")
    parts = {
        name: replace(
            getattr(BASE, name),
            **{each.name: given.pop(each.name) for each in fields(part) if each.name in given},
        )
        for name, part in (
            ("filters", Filters), ("texts", ResultTexts), ("research", ResearchPlacement)
        )
    }  # fmt: skip
    return replace(BASE, text=text, mode=search, asked_at=datetime.now(UTC), **parts, **given)
