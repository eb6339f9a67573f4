"""The product's own search as one of the systems: keyword, vector or hybrid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from mem_search.model import Filters, Kind, Mode, SearchRequest
from mem_search.search.pipeline import SearchPipeline

MODES = ("keyword", "vector", "hybrid")

OPTIONS: dict[str, dict[str, Any]] = {
    "recency": {"boosts": ("recency",)},
    "importance": {"boosts": ("importance",)},
    "diversity": {"per_session": 3},
}
"""Part → what a query asks for to have it."""


class Product:
    """One mode of the search, over the kinds that are judged."""

    def __init__(
        self,
        pipeline: SearchPipeline,
        mode: str,
        kinds: tuple[str, ...],
        extra: Sequence[str] = (),
        asked: Mapping[str, datetime | None] | None = None,
    ) -> None:
        """``asked``: question → when it is asked, so that "last week" is the week before."""
        self._pipeline = pipeline
        self._extra = list(extra)
        self._asked = asked or {}
        self._mode = cast(Mode, mode)
        self._kinds = cast(tuple[Kind, ...], kinds)
        # The engine remembers the vectors of the last questions. A trailing space, which no
        # model sees, keeps one mode from being quicker for coming after another.
        self._mark = " " * MODES.index(mode)

    async def search(self, text: str, project: str) -> list[str]:
        query = SearchRequest(
            text=text + self._mark,
            filters=Filters(kinds=self._kinds, project=project),
            mode=self._mode,
            limit=10,
            asked_at=self._asked.get(text),
        )
        page = await self._pipeline.search(with_options(query, self._extra))
        return [result.record.source_id for result in page.results]

    def close(self) -> None:
        """Does nothing: the runtime closes the search."""


def with_options(query: SearchRequest, names: list[str]) -> SearchRequest:
    """The request with the optional parts ``names``. Raises KeyError for an unknown one."""
    wanted = [OPTIONS[name] for name in names]
    boosts = tuple(boost for option in wanted for boost in option.get("boosts", ()))
    return replace(query, **{**{k: v for o in wanted for k, v in o.items()}, "boosts": boosts})
