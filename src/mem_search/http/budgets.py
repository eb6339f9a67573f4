"""``max_tokens`` of the answers that are not listings of a search: records, lists, timelines.

The counting is ``renderers.budget``; here is what each answer leaves out first, and how it
says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mem_search.http.parameters import BUDGET
from mem_search.model import Page, Record
from mem_search.renderers import to_json
from mem_search.renderers.budget import fits, fitted_text, most_that, nearest_to, shortened
from mem_search.text import tokens


@dataclass(frozen=True, slots=True)
class Around:
    """The records of a timeline that are shown, as ``text``; ``note`` says what is left out."""

    records: Sequence[Record]
    text: str
    note: str = ""


def cost(value: Any) -> int:
    """Tokens of a plain value as JSON."""
    return tokens.count(_dumped(value))


def first_that_fit(items: Sequence[Any], limit: int | None) -> int:
    """How many of ``items`` from the first on cost at most ``limit`` together, as JSON."""
    if limit is None:
        return len(items)
    return most_that(lambda count: fits(_dumped(items[:count]), limit), len(items))


def page_json(page: Page, limit: int | None) -> dict[str, Any]:
    """``to_json`` with ``tokens_used``, the cost of its results, which is at most ``limit``."""
    said = to_json(page)
    if limit is not None and not fits(_dumped(said["results"]), limit):
        kept = most_that(
            lambda count: fits(_dumped(to_json(shortened(page, count, limit))["results"]), limit),
            len(page.results),
        )
        said = to_json(shortened(page, kept, limit))
    return {**said, "tokens_used": cost(said["results"])}


def record_within(record: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
    """A record whose JSON costs at most ``limit``: its text is cut, then other fields go.

    ``cut`` names what is not whole, and ``note`` says how to see all of it.
    """
    said = dict(record)
    if limit is not None and not fits(_dumped(said), limit):
        said = next(
            (less for less in _lessened(record) if fits(_dumped({**less, "text": ""}), limit)),
            {"note": f"does not fit {BUDGET}={limit}", "text": ""},
        )
        text = said["text"]
        room = most_that(
            lambda count: fits(_dumped({**said, "text": tokens.cut(text, count)}), limit), limit
        )
        said["text"] = tokens.cut(text, room)
    return {**said, "tokens_used": cost(said)}


def _lessened(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The record with fewer and fewer fields; ``text`` is always there, to be cut."""
    note = {"note": f"open it whole: /api/records/{record['ref']}"}
    yield {**record, "cut": ["text"], **note}
    yield {**record, "metadata": {}, "links": [], "cut": ["text", "metadata", "links"], **note}
    least = {name: record[name] for name in ("ref", "text")}
    yield {**least, "cut": ["text", "all others"], **note}
    yield {**least, **note}


def around(
    records: Sequence[Record],
    place: int,
    written: Callable[[Sequence[Record]], str],
    limit: int | None,
) -> Around:
    """As many ``records`` around the one at ``place`` as ``written`` fits; the far ones go."""
    text = written(records)
    if limit is None or fits(text, limit):
        return Around(records, text)

    def shown(count: int) -> Around:
        some = records[nearest_to(place, len(records), count)]
        left = len(records) - count
        note = f"{left} record(s) far from the anchor left out to fit {BUDGET}={limit}"
        return Around(some, f"{written(some)}\n\nNote: {note}", note)

    best = shown(most_that(lambda count: fits(shown(count).text, limit), len(records)))
    if best.records:
        return best
    anchor = records[min(place, len(records) - 1)] if records else None
    text = written([anchor]) if anchor is not None else text
    return replace(best, text=fitted_text(text, limit, best.note))


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
