"""The routes that a worker has from its first moment: its health, and the searches.

``routes`` has the others; ``core.app`` loads them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from mem_search.http import about, mounts, search
from mem_search.http.core.parameters import SearchParameters
from mem_search.http.core.replies import SearchListing
from mem_search.http.core.routing import Route
from mem_search.renderers.record_json import ChosenReply, SearchReply

GET = partial(Route, "GET", first=True)
TAGGED = partial(GET, tagged=True)
FOUND: Any = SearchReply | SearchListing | ChosenReply

# fmt: off
FIRST_SEARCH = (
    TAGGED("/api/search/unified", search.search(order="date_desc"), "Search all records, newest first", "search", SearchParameters, response=FOUND),
    TAGGED("/api/search", search.search(), "Search all records, best first", "search", SearchParameters, response=FOUND),
)
FIRST_ABOUT = (
    GET("/health", about.health, "Tell that the worker is alive", "about", early=True, response=about.Alive),
    GET("/api/health", about.api_health, "Tell which worker answers", "about", early=True, response=about.Health),
    GET("/api/readiness", about.readiness, "Tell whether searches are answered", "about", early=True, response=about.Ready),
)
# fmt: on
FIRST: tuple[Route, ...] = mounts.installed().with_clients((*FIRST_SEARCH, *FIRST_ABOUT))
