"""The tool ``search_local_knowledge``: a search with filters that returns texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from mem_search.mcp.argument_types import (
    BUDGET,
    INTEGER,
    STRING,
    Budget,
    Kinds,
    Moment,
    Text,
    Words,
    described,
    listed,
)
from mem_search.mcp.tool import Arguments, Asker, Json, Tool
from mem_search.model import ResultTexts, SearchRequest
from mem_search.model.requests import ResearchMode
from mem_search.model.research import Operation
from mem_search.renderers.schema import to_values
from mem_search.renderers.token_budget import fit_texts
from mem_search.renderers.universal import CitationMetadata, SearchOperation, id_of, url_of
from mem_search.search.citations import SNIPPET_LENGTH, CitedResult, cite
from mem_search.search.request_codec import At, to_request
from mem_search.text import dates

_BASE = SearchRequest(
    fold=False, hide_scratchpad=True, texts=ResultTexts(snippet_length=SNIPPET_LENGTH)
)
_CITED = ("source_id", "source_type", "source_title", "created_date", "url")


Stripped = Annotated[Text, AfterValidator(str.strip)]


class KnowledgeArguments(Arguments):
    """The arguments of the contract; ``content_types`` may be any kind, and there is a budget."""

    query: Annotated[Words, At("text")]
    content_types: Annotated[Kinds, At("filters.kinds")] = Field(
        default=(), description="Only these kinds"
    )
    search_type: Annotated[
        Literal["keyword", "semantic", "hybrid"], At("mode", {"semantic": "vector"})
    ] = "keyword"
    mode: Annotated[ResearchMode, At("research.mode")] = Field(
        default="basic", description="deep_research records the search as a step of a session"
    )
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    created_after: Annotated[Moment, At("filters.created.start")] = None
    updated_after: Annotated[Moment, At("filters.updated.start")] = None
    folder: Stripped = Field(default="", description="Notes in this folder")
    domain: Stripped = Field(default="", description="Websites of this domain")
    full_content: Annotated[bool, At("texts.full_content")] = Field(
        default=True, description="Whole texts instead of snippets"
    )
    session_id: Annotated[Stripped, At("research.session_id")] = Field(
        default="", description="Session that the search belongs to"
    )
    parent_operation_id: Annotated[Stripped, At("research.parent_operation_id")] = Field(
        default="", description="The search that led to it"
    )
    max_tokens: Budget = BUDGET

    def request(self) -> SearchRequest:
        """The search that these mean; a step of research is hybrid unless it says otherwise."""
        request = to_request(self, _BASE)
        if request.is_research and "search_type" not in self.model_fields_set:
            request = replace(request, mode="hybrid")
        return request


async def search_local_knowledge(asker: Asker, given: KnowledgeArguments) -> Json:
    """The matches with their texts, as many and as much as there is room for."""
    request = replace(given.request(), asked_at=asker.view.now)
    page, step = await asker.runtime.research.operations.search(request, "mcp")
    fitted = fit_texts(
        [_result(item, asker.base) for item in cite(page)], "content", given.max_tokens
    )
    reply: Json = {
        "results": fitted.items,
        "total_count": page.total,
        "counts_by_type": dict(page.counts),
        **_session(step),
    }
    if fitted.cut or fitted.left:
        reply["note"] = (
            f"{len(fitted.cut)} text(s) cut, {fitted.left} result(s) left out to fit"
            f" max_tokens={given.max_tokens}; open ids with get_records"
        )
    return reply


def _result(cited: CitedResult, base: str) -> Json:
    record, source = cited.record, to_values(CitationMetadata.of(cited.citation))
    snippet = cited.snippet.text if cited.snippet else ""
    return {
        "id": id_of(record),
        "type": record.kind,
        "title": cited.citation.source_title,
        "content": cited.full_content or snippet,
        "relevance_score": cited.relevance,
        "citation": {name: source[name] for name in _CITED},
        "url": url_of(record, base),
        "created_at": dates.iso(record.created_at),
        "updated_at": dates.iso(record.updated_at),
    }


def _session(step: Operation | None) -> Json:
    """The session of a research chain, and the operation that a next search may name."""
    if step is None:
        return {"session_id": None}
    operations = [to_values(SearchOperation.of(step))]
    return {"operations": operations, "session_id": step.session_id}


SEARCH_LOCAL_KNOWLEDGE = Tool(
    name="search_local_knowledge",
    title="Search with filters",
    description="Search with filters (kinds, dates, folder, domain), by words, meaning or both."
    " Returns texts with citations; costs more than search.",
    takes=KnowledgeArguments,
    answers=described(
        results=listed(
            described(
                id=STRING,
                type=STRING,
                title=STRING,
                content=STRING,
                relevance_score={"type": "number"},
                citation={"type": "object"},
                url=STRING,
                created_at=STRING,
                updated_at=STRING,
            )
        ),
        total_count=INTEGER,
        counts_by_type={"type": "object", "additionalProperties": INTEGER},
        # session_id may be null, which not every client can read in a schema: it is not in it.
    ),
    handler=search_local_knowledge,
)
