"""The one line by which a record is named in every listing."""

from __future__ import annotations

from mem_search.model import Record
from mem_search.renderers.view import View
from mem_search.renderers.words import cut_to_cost

_TITLE_COST = 120
"""Quarters of a token. With some 25 tokens of frame a line stays under 60 in any script."""


def name_of(record: Record, view: View) -> str:
    """``🟣 Observation #5678 - Added login endpoint``."""
    kind = view.kinds(record.kind)
    title = cut_to_cost(kind.title(record), _TITLE_COST)
    return f"{kind.icon(record)} {kind.label} #{record.number} - {title}"


def index_line(record: Record, view: View) -> str:
    """``🟣 Observation #5678 - Added login endpoint (Nov 17, 5:45 PM)``."""
    return f"{name_of(record, view)} ({view.date(record.created_at)})"
