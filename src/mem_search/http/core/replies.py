"""Answers: JSON, or the text of a listing in the envelope that existing clients read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web

from mem_search.http.core.parameters import BUDGET
from mem_search.model import Record, SearchPage
from mem_search.renderers import View, fitted, to_json
from mem_search.renderers.token_budget import fits, fitted_text, most_that, nearest_to, shortened
from mem_search.text import token_count


@dataclass(frozen=True, slots=True)
class Around:
    """The records of a timeline that are shown, as ``text``; ``note`` says what is left out."""

    records: Sequence[Record]
    text: str
    note: str = ""


def cost(value: Any) -> int:
    """Tokens of a plain value as JSON."""
    return token_count.count(_dumped(value))


def first_that_fit(items: Sequence[Any], limit: int | None) -> int:
    """How many of ``items`` from the first on cost at most ``limit`` together, as JSON."""
    if limit is None:
        return len(items)
    return most_that(lambda count: fits(_dumped(items[:count]), limit), len(items))


def page_json(page: SearchPage, limit: int | None) -> dict[str, Any]:
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
            lambda count: fits(_dumped({**said, "text": token_count.cut(text, count)}), limit),
            limit,
        )
        said["text"] = token_count.cut(text, room)
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
    view: View,
) -> Around:
    """As many ``records`` around the one at ``place`` as ``written`` fits; the far ones go."""
    text = written(records)
    if limit is None or fits(text, limit):
        return Around(records, text)

    def shown(count: int) -> Around:
        some = records[nearest_to(place, len(records), count)]
        left = len(records) - count
        note = (
            f"{left} record(s) far from the anchor left out to fit {view.parameter(BUDGET, limit)}"
        )
        return Around(some, f"{written(some)}\n\nNote: {note}", note)

    best = shown(most_that(lambda count: fits(shown(count).text, limit), len(records)))
    if best.records:
        return best
    anchor = records[min(place, len(records) - 1)] if records else None
    text = written([anchor]) if anchor is not None else text
    return replace(best, text=fitted_text(text, limit, best.note))


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


TEXT = "text/plain"
JSON = "application/json"


def dumps(value: Any) -> bytes:
    """JSON in UTF-8. Halves of characters, which UTF-8 cannot say, are written as escapes."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode(
        "utf-8", "backslashreplace"
    )


def json_reply(value: Any, status: int = 200) -> web.Response:
    return web.Response(status=status, body=dumps(value), content_type=JSON)


def text_reply(request: web.Request, text: str, **beside: Any) -> web.Response:
    """``text`` bare when plain text is asked for, else in its envelope with ``beside``.

    The envelope says what the text costs, ``tokens_used``.
    """
    if prefers_text(request.headers.get("Accept", "")):
        return web.Response(
            body=(text + "\n").encode("utf-8", "replace"), content_type=TEXT, charset="utf-8"
        )
    if "tokens_used" not in beside:
        beside = {"tokens_used": token_count.count(text), **beside}
    return json_reply({"content": [{"type": "text", "text": text}], **beside})


def page_reply(
    request: web.Request,
    page: SearchPage,
    format: str,  # noqa: A002 - the word callers write
    view: View,
    *,
    title: str = "",
    max_tokens: int | None = None,
) -> web.Response:
    """A page of results in the format asked for, within ``max_tokens``."""
    if format == "json":
        return json_reply(page_json(page, max_tokens))
    shown = fitted(page, format, view, max_tokens, title=title)
    account = to_json(replace(shown.page, results=()))
    beside: Mapping[str, Any] = {
        name: account[name] for name in ("total", "counts_by_type", "folded", "search")
    }
    return text_reply(request, shown.text, tokens_used=shown.tokens, **beside)


def prefers_text(accept: str) -> bool:
    """Whether an Accept header names plain text before JSON; wildcards prefer JSON."""
    return prefers(accept, TEXT, JSON)


def prefers(accept: str, media: str, other: str) -> bool:
    """Whether an Accept header names ``media`` before ``other``; wildcards name neither."""
    weights: dict[str, float] = {}
    for item in accept.split(","):
        named, *parameters = (part.strip().lower() for part in item.split(";"))
        weights[named] = max(weights.get(named, 0.0), _weight(parameters))
    return weights.get(media, 0.0) > weights.get(other, 0.0)


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
