"""The search service: every surface, research chain and saved search calls it.

The pipeline is a function of the store and the request. The service adds the search log, spelling
suggestions, and the priority of searches over imports. Rate limits are counted for each route,
before a request gets here (``http.access.rate_limits``).
"""

from __future__ import annotations

from mem_search.model import SearchPage, SearchRequest
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.priority import SearchPriority
from mem_search.search.search_log import SearchLog
from mem_search.search.suggestions import Suggestions

UNLOGGED = ""
"""The surface of searches that nobody typed, such as a replay: they are not logged."""


class SearchService:
    """One pipeline with log, suggestions and priority."""

    def __init__(
        self,
        pipeline: SearchPipeline,
        suggestions: Suggestions,
        log: SearchLog,
        priority: SearchPriority | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._priority = priority or SearchPriority()
        self.suggestions = suggestions
        self.log = log

    async def search(self, request: SearchRequest, surface: str) -> SearchPage:
        """Run one search for ``surface``: http, cli, mcp, or UNLOGGED.

        Raises MissingField when there is neither a query nor a filter, InputError for an
        unknown scope, Unavailable when no leg of the search answers.
        """
        with self._priority:
            page = await self._pipeline.search(request)
        if surface != UNLOGGED:
            self.log.note(page, surface)
        return await self.suggestions.spelled(page)

    async def check(self, request: SearchRequest) -> None:
        """Check the filters of ``request``; raises what ``search`` raises for them."""
        await self._pipeline.filters_of(request)
