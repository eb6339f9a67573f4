"""The tool ``search``: words to ids and titles, as OpenAI's deep research expects it."""

from __future__ import annotations

from pydantic import Field

from mem_search.mcp.argument_types import Words
from mem_search.mcp.tool import Arguments, Tool, ToolContext
from mem_search.model import ResultTexts, SearchRequest
from mem_search.renderers.schema import schema
from mem_search.renderers.universal import id_of, url_of
from mem_search.search.citations import cite

MOST = 20
"""Results in a reply: their titles cost a model some thousand tokens."""


class SearchArguments(Arguments):
    """The only argument of the contract; the query language has the filters."""

    query: Words = Field(
        description='Words or a question. May contain "phrases", -not, project:NAME,'
        " type:bugfix, after:2025-10"
    )


@schema
class Hit:
    """A record that matches, to choose by its title."""

    id: str
    title: str
    url: str


@schema
class Hits:
    """The best matches first."""

    results: list[Hit]


async def search(context: ToolContext, arguments: SearchArguments) -> Hits:
    """The best matches of all kinds, by words and meaning."""
    request = SearchRequest(
        arguments.query,
        limit=MOST,
        asked_at=context.display.now,
        fold=False,
        hide_scratchpad=True,
        texts=ResultTexts(snippets=False),
    )
    page = await context.runtime.search.service.search(request, context.surface)
    return Hits(
        results=[
            Hit(
                id=id_of(cited.record),
                title=cited.citation.source_title,
                url=url_of(cited.record, context.base),
            )
            for cited in cite(page)
        ]
    )


SEARCH = Tool(
    name="search",
    title="Search memory",
    description="Search everything that agents and their user have seen on this machine: past"
    " coding sessions, decisions, commits, prompts, notes, web pages, files, mail. Returns ids and"
    " titles, best first. Start here.",
    arguments=SearchArguments,
    reply=Hits,
    handler=search,
)
