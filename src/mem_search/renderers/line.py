"""The one line by which a record is named in every listing."""

from __future__ import annotations

from collections.abc import Sequence

from mem_search.model import Record, Ref
from mem_search.renderers.view import View
from mem_search.renderers.words import cost, cut_to_cost

_TITLE_COST = 120
"""Quarters of a token. With some 25 tokens of frame a line stays under 60 in any script."""

_LEAST_TITLE = 20
"""Of that a title keeps so much beside the longest marks."""


def name_of(record: Record, view: View, beside: str = "") -> str:
    """``🟣 Observation #5678 - Added login endpoint``, so long that ``beside`` fits as well."""
    kind = view.kinds(record.kind)
    title = cut_to_cost(kind.title(record), max(_LEAST_TITLE, _TITLE_COST - cost(beside)))
    return f"{kind.icon(record)} {kind.label} #{record.number} - {title}"


def index_line(record: Record, view: View, similar: Sequence[Ref] = ()) -> str:
    """``🟣 Observation #5678 - Added login endpoint (Nov 17, 5:45 PM)``, and its ``marks``."""
    said = marks(record, similar)
    return f"{name_of(record, view, said)} ({view.date(record.created_at)}){said}"


def marks(record: Record, similar: Sequence[Ref] = ()) -> str:
    """`` [superseded by #14]``, `` [supersedes #9; 3 similar: #7, …]``; empty where there is none.

    ``similar`` are the near-duplicates that are folded under the record.
    """
    said = []
    if record.superseded_by is not None:
        said.append(f"superseded by #{record.superseded_by.number}")
    if older := record.supersedes:
        said.append(f"supersedes {_told(older) if len(older) == 1 else _counted(older, '')}")
    if similar:
        said.append(_counted(similar, " similar"))
    return f" [{'; '.join(said)}]" if said else ""


def _counted(refs: Sequence[Ref], what: str) -> str:
    return f"{len(refs)}{what}: {_told(refs)}"


def _told(refs: Sequence[Ref]) -> str:
    return f"#{refs[0].number}{', …' if len(refs) > 1 else ''}"
