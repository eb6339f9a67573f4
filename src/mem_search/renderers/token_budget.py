"""Token budgets of replies: how many whole records fit, and how to continue.

Tokens are counted by ``text.token_count`` over what is returned: the text of a listing, or the
JSON of the results. Records are left out from the end, so that the next page begins with what was
left out. A full listing cuts its last record; a
record that is opened and the texts of MCP tools are cut as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from mem_search.model import Record, Result, SearchPage
from mem_search.renderers.record_json import (
    SOME_FIELDS,
    ChosenReply,
    RecordExcerpt,
    SearchReply,
    SearchResult,
    WholeRecord,
)
from mem_search.renderers.schema import as_subclass, dumped, to_json, to_json_with, to_values
from mem_search.text import token_count

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

MIN_TEXT_TOKENS: Final = 50
"""Fewest tokens of a shortened text; fewer texts are better than only beginnings."""


def fits(text: str, limit: int) -> bool:
    """Whether ``text`` costs at most ``limit`` tokens; reads no further than that."""
    return token_count.cut(text, limit) == text


def most_that(holds: Callable[[int], bool], most: int) -> int:
    """The largest number up to ``most`` for which ``holds``, by bisection; 0 for none."""
    if holds(most):
        return most
    low, high = 0, most - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _query_parameter(name: str, value: object) -> str:
    return f"{name}={value}"


def shortened(
    page: SearchPage,
    kept: int,
    limit: int,
    shown: int | None = None,
    parameter: Callable[[str, object], str] = _query_parameter,
) -> SearchPage:
    """The page with its first ``kept`` results, and a notice that says how to go on.

    ``shown`` counts one more when a further result is shown in part; ``parameter`` writes a
    parameter as the reader would (``DisplayOptions.parameter``).
    """
    shown = kept if shown is None else shown
    most = parameter("max_tokens", limit)
    following = parameter("offset", page.request.offset + shown)
    notice = f"{shown} of {page.total} shown to fit {most}; next: {following}"
    if not shown:
        notice = f"no result fits {most}; ask for more tokens at {following}"
    return replace(
        page,
        results=page.results[:kept],
        report=replace(page.report, notices=(*page.report.notices, notice)),
    )


def fitted_text(text: str, limit: int, step: str) -> str:
    """``text``, or its beginning and ``step``, which says how to see the rest."""
    if fits(text, limit):
        return text
    part = most_that(lambda count: fits(cut_text(text, count, step), limit), limit)
    return token_count.cut(cut_text(text, part, step), limit)


def nearest_to(place: int, count: int, most: int) -> slice:
    """``most`` of ``count`` items around the one at ``place``, evenly on both sides."""
    start = max(0, min(place - most // 2, count - most))
    return slice(start, start + most)


def cut_text(text: str, limit: int, step: str) -> str:
    """The beginning of ``text``, at most ``limit`` tokens, and the next step."""
    return f"{token_count.cut(text, limit)}\n\nCut to fit; {step}"


def open_command(result: Result) -> str:
    """How to open a result, from the command line and over HTTP."""
    ref = result.record.ref
    return f"mem-search get {ref} (HTTP: /api/records/{ref})"


def cost(values: Any) -> int:
    """Tokens of plain values as JSON."""
    return token_count.count(dumped(values))


def first_that_fit(items: Sequence[Any], limit: int | None) -> tuple[int, int]:
    """How many of ``items`` from the first on fit into ``limit``, and their cost as JSON."""
    values = [to_values(item) for item in items]
    kept = len(values)
    if limit is not None:
        kept = most_that(lambda count: fits(dumped(values[:count]), limit), kept)
    return kept, cost(values[:kept])


def page_within(
    page: SearchPage, limit: int | None, names: Collection[str] = ()
) -> SearchReply | ChosenReply:
    """The page as a reply that says what its results cost, which is at most ``limit``.

    With ``names`` results have only these fields.
    """
    reply, written = _page_within(page, limit, names)
    return as_subclass(ChosenReply, reply, results=json.loads(written)) if names else reply


def page_json(page: SearchPage, limit: int | None, names: Collection[str] = ()) -> bytes:
    """``page_within`` as JSON. What was counted is what is sent: results are written once."""
    reply, written = _page_within(page, limit, names)
    return to_json_with(reply, "results", written)


def _page_within(
    page: SearchPage, limit: int | None, names: Collection[str]
) -> tuple[SearchReply, str]:
    """The reply, and its results as JSON."""
    reply = SearchReply.of(page)

    def first(count: int) -> str:
        results = reply.results[:count]
        if names:
            values = to_values(results, list[SearchResult])
            return dumped([SOME_FIELDS.of(each, names) for each in values])
        return to_json(results, list[SearchResult]).decode()

    kept = len(reply.results)
    written = first(kept)
    if limit is not None and not fits(written, limit):
        kept = most_that(lambda count: fits(first(count), limit), kept)
        written = first(kept)
        reply = SearchReply.of(shortened(page, kept, limit))
    reply.tokens_used = token_count.count(written)
    return reply, written


def record_within(record: WholeRecord, limit: int | None) -> WholeRecord | RecordExcerpt:
    """A record whose JSON costs at most ``limit``: its text is cut, then other fields go.

    ``cut`` names what is not whole, and ``note`` says how to see all of it.
    """
    shown: WholeRecord | RecordExcerpt = record
    if limit is not None and not fits(dumped(to_values(record)), limit):
        shown = next(
            (
                less
                for less in _lessened(record)
                if fits(dumped(to_values(replace(less, text=""))), limit)
            ),
            RecordExcerpt(note=f"does not fit max_tokens={limit}", text=""),
        )
        values, text = to_values(shown), shown.text
        room = most_that(
            lambda count: fits(dumped({**values, "text": token_count.cut(text, count)}), limit),
            limit,
        )
        shown = replace(shown, text=token_count.cut(text, room))
    return replace(shown, tokens_used=cost(to_values(shown)))


def _lessened(record: WholeRecord) -> Iterator[WholeRecord | RecordExcerpt]:
    """The record with fewer and fewer fields; ``text`` is always there, to be cut."""
    note = f"open it whole: /api/records/{record.ref}"
    yield replace(record, cut=["text"], note=note)
    cut = ["text", "metadata", "links"]
    yield replace(record, metadata={}, links=[], cut=cut, note=note)
    least = RecordExcerpt(ref=record.ref, text=record.text, note=note)
    yield replace(least, cut=["text", "all others"])
    yield least


@dataclass(frozen=True, slots=True)
class Around:
    """The shown records of a timeline, also as ``text``; ``note`` says what is left out."""

    records: Sequence[Record]
    text: str
    note: str = ""


def around(
    records: Sequence[Record],
    place: int,
    written: Callable[[Sequence[Record]], str],
    limit: int | None,
    parameter: Callable[[str, object], str] = _query_parameter,
) -> Around:
    """As many ``records`` around the one at ``place`` as fit when ``written``.

    ``parameter`` is as in ``shortened``.
    """
    text = written(records)
    if limit is None or fits(text, limit):
        return Around(records, text)

    def shown(count: int) -> Around:
        some = records[nearest_to(place, len(records), count)]
        left = len(records) - count
        most = parameter("max_tokens", limit)
        note = f"{left} record(s) far from the anchor left out to fit {most}"
        return Around(some, f"{written(some)}\n\nNote: {note}", note)

    best = shown(most_that(lambda count: fits(shown(count).text, limit), len(records)))
    if best.records:
        return best
    anchor = records[min(place, len(records) - 1)] if records else None
    text = written([anchor]) if anchor is not None else text
    return replace(best, text=fitted_text(text, limit, best.note))


@dataclass(frozen=True, slots=True)
class FittedItems(Generic[T]):
    """``items`` in order; ``cut`` are the places of shortened ones, ``left`` counts the rest."""

    items: list[T]
    left: int
    cut: tuple[int, ...] = ()


def fit_texts(items: Sequence[T], name: str, limit: int) -> FittedItems[T]:
    """The reply models ``items`` with as much of their texts ``name`` as there is room for.

    Short texts stay whole and long ones are cut to the same length, so that one long text does
    not silence the others. Items go from the end where there is no room for ``MIN_TEXT_TOKENS``
    tokens of each; the first stays as long as it fits without its text.
    """
    texts: list[str] = [getattr(item, name) for item in items]
    bare = [{**to_values(item), name: ""} for item in items]
    costs = [cost(text) if text else 0 for text in texts]

    def begun(count: int) -> bool:
        some = sum(min(each, MIN_TEXT_TOKENS) for each in costs[:count])
        return cost(bare[:count]) + some <= limit

    kept = most_that(begun, len(bare)) or int(bool(bare) and fits(dumped(bare[:1]), limit))
    costs = costs[:kept]
    room = limit - cost(bare[:kept])
    share = most_that(
        lambda most: sum(min(each, most) for each in costs) <= room, max(costs, default=0)
    )
    cut = tuple(place for place, each in enumerate(costs) if each > share)
    shown = list(items[:kept])
    for place in cut:
        changed: Any = {name: _within(texts[place], share)}
        shown[place] = replace(shown[place], **changed)
    return FittedItems(shown, len(items) - kept, cut)


def nearest(items: Sequence[T], place: int, limit: int) -> FittedItems[T]:
    """As many of the reply models ``items`` around the one at ``place`` as fit."""
    values = [to_values(item) for item in items]

    def some(count: int) -> slice:
        return nearest_to(place, len(items), count)

    kept = most_that(lambda count: fits(dumped(values[some(count)]), limit), len(items))
    return FittedItems(list(items[some(kept)]), len(items) - kept)


def _within(text: str, room: int) -> str:
    """The beginning of ``text`` that costs at most ``room`` as JSON, which has more signs."""
    length = most_that(lambda count: fits(dumped(token_count.cut(text, count)), room), room)
    return token_count.cut(text, length)
