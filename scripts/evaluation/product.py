"""The product's own search as one of the systems: keyword, vector or hybrid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ablation import with_options

from mem_search.model import Filters, Kind, Mode, SearchRequest
from mem_search.search.pipeline import SearchPipeline

MODES = ("keyword", "vector", "hybrid")


class Product:
    """One mode of the search, over the kinds that are judged."""

    def __init__(
        self, pipeline: SearchPipeline, mode: str, kinds: tuple[str, ...], extra: Sequence[str] = ()
    ) -> None:
        self._pipeline = pipeline
        self._extra = list(extra)
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
        )
        page = await self._pipeline.search(with_options(query, self._extra))
        return [result.record.source_id for result in page.results]

    def close(self) -> None:
        """Does nothing: the runtime closes the search."""
