"""The tool ``search``: words to ids and titles, as OpenAI's deep research expects it."""

from __future__ import annotations

from pydantic import Field

from mem_search.mcp.argument_types import Words
from mem_search.mcp.documents import HITS, hits
from mem_search.mcp.tool import Arguments, Asker, Json, Tool
from mem_search.model import ResultTexts, SearchRequest

MOST = 20
"""Results in a reply: their titles cost a model some thousand tokens."""


class SearchArguments(Arguments):
    """The only argument of the contract; the query language has the filters."""

    query: Words = Field(
        description='Words or a question. May contain "phrases", -not, project:NAME,'
        " type:bugfix, after:2025-10"
    )


async def search(asker: Asker, given: SearchArguments) -> Json:
    """The best matches of all kinds, by words and meaning."""
    request = SearchRequest(
        given.query,
        limit=MOST,
        asked_at=asker.view.now,
        fold=False,
        hide_scratchpad=True,
        texts=ResultTexts(snippets=False),
    )
    page = await asker.runtime.search.service.search(request, "mcp")
    return hits(page, asker.base)


SEARCH = Tool(
    name="search",
    title="Search memory",
    description="Search everything that agents and their user have seen on this machine: past"
    " coding sessions, decisions, commits, prompts, notes, web pages, files, mail. Returns ids and"
    " titles, best first. Start here.",
    takes=SearchArguments,
    answers=HITS,
    handler=search,
)
