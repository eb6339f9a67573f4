"""The tool ``search``: words to ids and titles, as OpenAI's deep research expects it."""

from __future__ import annotations

from pydantic import Field

from mem_search.mcp.argument_types import Facets, Words
from mem_search.mcp.tool import Arguments, Tool, ToolContext
from mem_search.model import ResultTexts, SearchRequest
from mem_search.records.origin import flags_of
from mem_search.renderers.record_line import reading_notes
from mem_search.renderers.safe_text import fenced_title
from mem_search.renderers.schema import Absent, Count, schema
from mem_search.renderers.search_reply import Facets as FacetsOfReply
from mem_search.renderers.search_reply import facets_of
from mem_search.renderers.universal import id_of, url_of
from mem_search.search.citations import cite

MAX_RESULTS = 20
"""Results in a reply: their titles cost a model some thousand tokens."""


class SearchArguments(Arguments):
    """``query`` is the only argument of the contract; the query language has the filters."""

    query: Words = Field(
        description='Words or a question. May contain "phrases", -not, project:NAME,'
        " type:bugfix, after:2025-10"
    )
    facets: Facets = Field(default=(), description="Count all matches by these")
    highlights: bool = Field(default=False, description="Where the words stand in each title")


@schema
class Hit:
    """A record that matches, to choose by its title."""

    id: str
    title: str
    url: str
    highlights: Absent[tuple[tuple[Count, Count], ...]] = None


@schema
class Hits:
    """The best matches first; `note` says what was read or done otherwise than asked.

    `facets` count all matches, not only these.
    """

    results: list[Hit]
    facets: FacetsOfReply = None
    note: Absent[str] = None


async def search(context: ToolContext, arguments: SearchArguments) -> Hits:
    """The best matches of all kinds, by words and meaning."""
    request = SearchRequest(
        arguments.query,
        limit=MAX_RESULTS,
        asked_at=context.display.now,
        fold=False,
        hide_scratchpad=True,
        texts=ResultTexts(snippets=False),
        facets=arguments.facets,
    )
    page = await context.runtime.search.service.search(request, context.surface)
    report = page.report
    notes = [*report.notices, *report.analyzed.warnings]
    notes += reading_notes(report.analyzed, "after:DATE and before:DATE in the query", "")
    return Hits(
        note="\n".join(notes) or None,
        results=[
            Hit(
                id=id_of(cited.record),
                title=fenced_title(cited.citation.source_title)
                if flags_of(cited.record.metadata)
                else cited.citation.source_title,
                url=url_of(cited.record, context.base),
                highlights=cited.title_words
                if arguments.highlights and not flags_of(cited.record.metadata)
                else None,
            )
            for cited in cite(page)
        ],
        facets=facets_of(page),
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
    structured=True,
)
