"""Where every surface asks: the pipeline's answer, other spellings, the log.

The pipeline stays a function of the store and the request; what depends on who asked is here.
"""

from __future__ import annotations

from mem_search.model import SearchPage, SearchRequest
from mem_search.search.pipeline import SearchPipeline
from mem_search.search.search_log import SearchLog
from mem_search.search.suggestions import Suggestions


class SearchService:
    """One pipeline as people and programs ask it."""

    def __init__(self, pipeline: SearchPipeline, suggestions: Suggestions, log: SearchLog) -> None:
        self._pipeline = pipeline
        self.suggestions = suggestions
        self.log = log

    async def search(self, query: SearchRequest, surface: str) -> SearchPage:
        """As ``SearchPipeline.search``; ``surface`` is the word for who asked: http, cli, mcp.

        Empty is nobody, as for what is done again or by the clock: that is not noted.
        """
        page = await self._pipeline.search(query)
        if surface:
            self.log.note(page, surface)
        return await self.suggestions.spelled(page)
