"""Answers that keep to a number of tokens: whole records, as many as fit, and how to go on.

Tokens are counted by ``text.tokens`` over what is returned: the text of a listing, or the JSON
of the results. Records are left out from the end, of a dated list the least relevant ones, so
that the next page begins with what was left out. Only a full listing cuts a record, its last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mem_search.model import Result, SearchPage
from mem_search.renderers.header import heading, notes
from mem_search.renderers.view import View
from mem_search.text import token_count

_WORTH_CUTTING_FOR = 60
"""Tokens; in less room than that a part of a record says nothing."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """``text`` costs ``tokens``; ``page`` has the results that are in it."""

    text: str
    page: SearchPage
    tokens: int


def fits(text: str, limit: int) -> bool:
    """Whether ``text`` costs at most ``limit``; reads no further than that."""
    return token_count.cut(text, limit) == text


def most_that(holds: Callable[[int], bool], most: int) -> int:
    """The largest number up to ``most`` for which ``holds``, if it does for smaller ones; or 0."""
    if holds(most):
        return most
    low, high = 0, most - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def shortened(page: SearchPage, kept: int, limit: int, shown: int | None = None) -> SearchPage:
    """The page with its ``kept`` foremost results, and a notice that says how to go on.

    ``shown`` counts a further one that is shown in part.
    """
    shown = kept if shown is None else shown
    following = page.request.offset + shown
    if shown:
        said = f"{shown} of {page.total} shown to fit max_tokens={limit}; next: offset={following}"
    else:
        said = f"no result fits max_tokens={limit}; ask for more tokens at offset={following}"
    chosen = {id(result) for result in _foremost(page)[:kept]}
    return replace(
        page,
        results=tuple(result for result in page.results if id(result) in chosen),
        report=replace(page.report, notices=(*page.report.notices, said)),
    )


def fitted_listing(
    page: SearchPage,
    entry: Callable[[Result, View], str],
    between: str,
    view: View,
    limit: int,
    *,
    title: str = "",
    may_cut: bool = False,
) -> Fitted:
    """The listing of as many results as fit, without tips; its last one cut if it ``may_cut``."""
    ranked = _foremost(page)
    written = {id(result): entry(result, view) for result in ranked}
    top = title or heading(page, view)

    def listing(kept: int, last: str = "") -> tuple[str, SearchPage]:
        shown = shortened(page, kept, limit, kept + bool(last))
        entries = [written[id(result)] for result in shown.results]
        body = between.join([*entries, last] if last else entries)
        blocks = (top, body, "\n".join(notes(shown)))
        return "\n\n".join(block for block in blocks if block), shown

    kept = most_that(lambda count: fits(listing(count)[0], limit), len(ranked))
    text, shown = listing(kept)
    if may_cut and kept < len(ranked):
        room = limit - token_count.count(text)
        whole, step = written[id(ranked[kept])], f"open it whole: {_opened(ranked[kept])}"
        part = most_that(
            lambda count: fits(listing(kept, _cut(whole, count, step))[0], limit), max(1, room)
        )
        if part >= _WORTH_CUTTING_FOR or (part and not kept):
            text, shown = listing(kept, _cut(whole, part, step))
    elif not kept and ranked:
        # Rather a result than the words around it: somebody who asks for little wants that.
        bare = shortened(page, 1, limit)
        line = f"{written[id(ranked[0])]}\n\nNext: offset={page.request.offset + 1}"
        text, shown = (line, bare) if fits(line, limit) else (text, shown)
    text = token_count.cut(text, limit)
    return Fitted(text, shown, token_count.count(text))


def fitted_text(text: str, limit: int, step: str) -> str:
    """``text``, or its beginning up to a word and ``step``, which says how to see the rest."""
    if fits(text, limit):
        return text
    part = most_that(lambda count: fits(_cut(text, count, step), limit), limit)
    return token_count.cut(_cut(text, part, step), limit)


def nearest_to(place: int, count: int, most: int) -> slice:
    """``most`` of ``count`` items around the one at ``place``, as even on both sides as can be."""
    start = max(0, min(place - most // 2, count - most))
    return slice(start, start + most)


def _cut(text: str, limit: int, step: str) -> str:
    return f"{token_count.cut(text, limit)}\n\nCut to fit; {step}"


def _opened(result: Result) -> str:
    ref = result.record.ref
    return f"mem-search get {ref} (HTTP: /api/records/{ref})"


def _foremost(page: SearchPage) -> Sequence[Result]:
    """The results in the order in which pages are made, whatever order this one is shown in."""
    if page.request.order == "relevance" or not page.request.text.strip():
        return page.results
    # What lies behind the fused hits has the score of the last of them, and its words' own.
    return sorted(
        page.results,
        key=lambda result: (
            -result.score,
            "fused" not in result.scores,
            0.0 if "fused" in result.scores else -max(result.scores.values(), default=0.0),
            "supersession" not in result.scores,  # it stands above what has the same score
            result.record.number,
        ),
    )
