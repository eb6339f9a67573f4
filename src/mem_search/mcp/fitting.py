"""Answers that keep to a number of tokens, counted over their JSON by ``text.tokens``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from mem_search.mcp.calling import dumped
from mem_search.mcp.contract import Json
from mem_search.renderers.budget import fits, most_that, nearest_to
from mem_search.text import tokens

BUDGET = 8000
"""Agents begin to complain of an answer at some 10,000 tokens of their own counting."""

Budget = Annotated[int, Field(ge=100, le=100_000, description="Longest answer; the rest is cut")]


@dataclass(frozen=True, slots=True)
class Fitted:
    """``items`` in their order; ``cut`` of them have less text than there is, ``left`` are gone."""

    items: list[Json]
    cut: int
    left: int


def fit_texts(items: Sequence[Json], name: str, limit: int) -> Fitted:
    """The items with as much of their text ``name`` as there is room for, the first ones first.

    Items go from the end only where they do not fit even without their texts.
    """
    bare = [{**item, name: ""} for item in items]
    kept = most_that(lambda count: fits(dumped(bare[:count]), limit), len(bare))
    room = limit - tokens.count(dumped(bare[:kept]))
    shown, cut = [], 0
    for item in items[:kept]:
        text, shortened = _within(item[name], room)
        room -= tokens.count(dumped(text))
        cut += shortened
        shown.append({**item, name: text})
    return Fitted(shown, cut, len(items) - kept)


def nearest(items: Sequence[Json], place: int, limit: int) -> Fitted:
    """As many items around the one at ``place`` as fit; the far ones go."""

    def some(count: int) -> Sequence[Json]:
        return items[nearest_to(place, len(items), count)]

    kept = most_that(lambda count: fits(dumped(some(count)), limit), len(items))
    return Fitted(list(some(kept)), 0, len(items) - kept)


def _within(text: str, room: int) -> tuple[str, bool]:
    """``text`` or its beginning, and whether it is only that. Written as JSON it may cost more."""
    if not text or fits(dumped(text), room):
        return text, False
    length = most_that(lambda count: fits(dumped(tokens.cut(text, count)), room), max(0, room))
    return tokens.cut(text, length), True
