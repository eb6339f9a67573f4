"""Answers that keep to a number of tokens, counted over their JSON by ``text.tokens``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from mem_search.mcp.tool import Json, dumped
from mem_search.renderers.token_budget import fits, most_that, nearest_to
from mem_search.text import token_count

BUDGET = 8000
"""Agents begin to complain of an answer at some 10,000 tokens of their own counting."""

LEAST = 50
"""Tokens of a text below which it tells nothing: rather fewer texts than only beginnings."""

Budget = Annotated[int, Field(ge=200, le=100_000, description="Longest answer; the rest is cut")]


@dataclass(frozen=True, slots=True)
class Fitted:
    """``items`` in their order; the texts at the places ``cut`` go on, ``left`` items are gone."""

    items: list[Json]
    left: int
    cut: tuple[int, ...] = ()


def fit_texts(items: Sequence[Json], name: str, limit: int) -> Fitted:
    """The items with as much of their texts ``name`` as there is room for.

    Short texts stay whole and long ones are cut to the same length, so that one long text does
    not silence the others. Items go from the end where there is no room for ``LEAST`` tokens of
    each; the first stays as long as it fits without its text.
    """
    bare = [{**item, name: ""} for item in items]
    costs = [token_count.count(dumped(item[name])) if item[name] else 0 for item in items]

    def begun(count: int) -> bool:
        some = sum(min(cost, LEAST) for cost in costs[:count])
        return token_count.count(dumped(bare[:count])) + some <= limit

    kept = most_that(begun, len(bare)) or int(bool(bare) and fits(dumped(bare[:1]), limit))
    costs = costs[:kept]
    room = limit - token_count.count(dumped(bare[:kept]))
    share = most_that(
        lambda most: sum(min(cost, most) for cost in costs) <= room, max(costs, default=0)
    )
    cut = tuple(place for place, cost in enumerate(costs) if cost > share)
    shown = [
        {**item, name: _within(item[name], share)} if place in cut else item
        for place, item in enumerate(items[:kept])
    ]
    return Fitted(shown, len(items) - kept, cut)


def nearest(items: Sequence[Json], place: int, limit: int) -> Fitted:
    """As many items around the one at ``place`` as fit; the far ones go."""

    def some(count: int) -> Sequence[Json]:
        return items[nearest_to(place, len(items), count)]

    kept = most_that(lambda count: fits(dumped(some(count)), limit), len(items))
    return Fitted(list(some(kept)), len(items) - kept)


def _within(text: str, room: int) -> str:
    """The beginning of ``text`` that costs at most ``room`` as JSON, which has more signs."""
    length = most_that(lambda count: fits(dumped(token_count.cut(text, count)), room), room)
    return token_count.cut(text, length)
