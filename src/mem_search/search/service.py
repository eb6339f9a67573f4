"""The one way to search: every surface, research chain and saved search comes through here.

The pipeline is a function of the store and the request. What depends on who searches is here: the
log, other spellings, and that searches come before imports. Rate limits are counted per route,
before a request gets here (``http.access.rate_limits``).
"""

from __future__ import annotations

from mem_search.model import SearchPage, SearchRequest
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.priority import SearchPriority
from mem_search.search.search_log import SearchLog
from mem_search.search.suggestions import Suggestions

NOBODY = ""
"""The surface of what runs by itself, such as a replay or a schedule: it is not logged."""


class SearchService:
    """One pipeline as people and programs use it."""

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
        """Answer one search for ``surface``, the word for who searches: http, cli, mcp, or NOBODY.

        Raises MissingField when there is neither a question nor a filter, InputError for an
        unknown scope, Unavailable when no leg of the search answers.
        """
        with self._priority:
            page = await self._pipeline.search(request)
        if surface != NOBODY:
            self.log.note(page, surface)
        return await self.suggestions.spelled(page)

    async def check(self, request: SearchRequest) -> None:
        """Raises what ``search`` raises for the filters of ``request``, without searching."""
        await self._pipeline.filters_of(request)
