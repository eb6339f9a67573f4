"""Where every surface asks: the engine's answer, other spellings, the log.

The engine stays a function of the store and the query; what depends on who asked is here.
"""

from __future__ import annotations

from mem_search.model import Page, SearchQuery
from mem_search.search.engine import Engine
from mem_search.search.search_log import SearchLog
from mem_search.search.suggestions import Suggestions


class SearchService:
    """One engine as people and programs ask it."""

    def __init__(self, engine: Engine, suggestions: Suggestions, log: SearchLog) -> None:
        self._engine = engine
        self.suggestions = suggestions
        self.log = log

    async def search(self, query: SearchQuery, surface: str) -> Page:
        """As ``Engine.search``; ``surface`` is the word for who asked: http, cli, mcp.

        Empty is nobody, as for what is done again or by the clock: that is not noted.
        """
        page = await self._engine.search(query)
        if surface:
            self.log.note(page, surface)
        return await self.suggestions.spelled(page)
