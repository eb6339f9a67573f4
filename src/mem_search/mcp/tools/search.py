"""The tool ``search``: words to ids and titles, as OpenAI's deep research expects it."""

from __future__ import annotations

from pydantic import Field

from mem_search.mcp.argument_types import Words
from mem_search.mcp.documents import HITS, hits
from mem_search.mcp.tool import Arguments, Asker, Json, Tool
from mem_search.search.universal import UniversalQuery

MOST = 20
"""Results, as in seed 000: by their titles a model reads them for some thousand tokens."""


class SearchArguments(Arguments):
    """The one argument that the contract knows; the query language does the rest."""

    query: Words = Field(
        description='Words or a question. May contain "phrases", -not, project:NAME,'
        " type:bugfix, after:2025-10"
    )


async def search(asker: Asker, given: SearchArguments) -> Json:
    """The best matches of all kinds, by words and meaning."""
    query = UniversalQuery(given.query, search_type="hybrid", limit=MOST, snippet_length=None)
    page = await asker.runtime.search.universal.search(query, "mcp", asked_at=asker.view.now)
    return hits(page, asker.base)


SEARCH = Tool(
    name="search",
    title="Search memory",
    description="Search everything that agents and their person have seen on this machine: past"
    " coding sessions, decisions, commits, prompts, notes, web pages, files, mail. Returns ids and"
    " titles, best first. Start here.",
    takes=SearchArguments,
    answers=HITS,
    handler=search,
)
