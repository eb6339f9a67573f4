"""Keeping a reply within a number of tokens: how many whole records fit, and how to go on.

Tokens are counted by ``text.token_count`` over what is returned: the text of a listing, or the
JSON of the results. Records are left out from the end, from a dated list the least relevant
ones, so that the next page begins with what was left out. Only a full listing cuts a record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mem_search.model import Result, SearchPage
from mem_search.text import token_count


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
    """The page with its ``kept`` best results, and a notice that says how to go on.

    ``shown`` counts one more when a further result is shown in part; ``parameter`` writes a
    parameter as the reader would (``View.parameter``).
    """
    shown = kept if shown is None else shown
    most = parameter("max_tokens", limit)
    following = parameter("offset", page.request.offset + shown)
    notice = f"{shown} of {page.total} shown to fit {most}; next: {following}"
    if not shown:
        notice = f"no result fits {most}; ask for more tokens at {following}"
    chosen = {id(result) for result in foremost(page)[:kept]}
    return replace(
        page,
        results=tuple(result for result in page.results if id(result) in chosen),
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


def foremost(page: SearchPage) -> Sequence[Result]:
    """The results by relevance, in whatever order the page shows them."""
    if page.request.order == "relevance" or not page.request.text.strip():
        return page.results
    # Results behind the fused ones have the score of the last of those, and their words' own.
    return sorted(
        page.results,
        key=lambda result: (
            -result.score,
            "fused" not in result.scores,
            0.0 if "fused" in result.scores else -max(result.scores.values(), default=0.0),
            "supersession" not in result.scores,  # it precedes others of its score
            result.record.number,
        ),
    )
