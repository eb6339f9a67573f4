"""The tool ``search_local_knowledge`` of seed 000: a search with filters that returns texts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mem_search.mcp.argument_types import (
    INTEGER,
    STRING,
    Kinds,
    Moment,
    Text,
    Words,
    described,
    listed,
)
from mem_search.mcp.token_budget import BUDGET, Budget, fit_texts
from mem_search.mcp.tool import Arguments, Asker, Json, Tool
from mem_search.model import DateRange
from mem_search.renderers.universal import citation_json, item_json
from mem_search.search.universal import (
    SearchMode,
    SearchType,
    UniversalItem,
    UniversalPage,
    UniversalQuery,
)

_CITED = ("source_id", "source_type", "source_title", "created_date", "url")


class KnowledgeArguments(Arguments):
    """The input schema of seed 000; ``content_types`` may be any kind, and there is a budget."""

    query: Words
    content_types: Kinds = Field(default=(), description="Only these kinds")
    search_type: SearchType = "keyword"
    mode: SearchMode = Field(
        default="basic", description="deep_research records the search as a step of a session"
    )
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    created_after: Moment = None
    updated_after: Moment = None
    folder: Text = Field(default="", description="Notes in this folder")
    domain: Text = Field(default="", description="Websites of this domain")
    full_content: bool = Field(default=True, description="Whole texts instead of snippets")
    session_id: Text = Field(default="", description="Session that the search belongs to")
    parent_operation_id: Text = Field(default="", description="The search that led to it")
    max_tokens: Budget = BUDGET

    def asked(self) -> UniversalQuery:
        """The universal search that these mean; a step of research is hybrid unless said."""
        deep = self.mode == "deep_research" and "search_type" not in self.model_fields_set
        return UniversalQuery(
            self.query,
            kinds=self.content_types,
            mode=self.mode,
            search_type="hybrid" if deep else self.search_type,
            limit=self.limit,
            created=DateRange(self.created_after),
            updated=DateRange(self.updated_after),
            folder=self.folder.strip(),
            domain=self.domain.strip(),
            full_content=self.full_content,
            session_id=self.session_id.strip(),
            parent_operation_id=self.parent_operation_id.strip(),
        )


async def search_local_knowledge(asker: Asker, given: KnowledgeArguments) -> Json:
    """The matches with their texts, as many and as much as there is room for."""
    page = await asker.runtime.research.operations.search(
        given.asked(), "mcp", asked_at=asker.view.now
    )
    said = [_result(item, asker.base) for item in page.items]
    fitted = fit_texts(said, "content", given.max_tokens)
    reply: Json = {
        "results": fitted.items,
        "total_count": page.total,
        "counts_by_type": dict(page.counts),
        **_session(page),
    }
    if fitted.cut or fitted.left:
        reply["note"] = (
            f"{len(fitted.cut)} text(s) cut, {fitted.left} result(s) left out to fit"
            f" max_tokens={given.max_tokens}; open ids with get_records"
        )
    return reply


def _result(item: UniversalItem, base: str) -> Json:
    said = item_json(item, base)
    return {
        "id": said["id"],
        "type": said["content_type"],
        "title": said["title"],
        "content": said["full_content"] or said["snippet"] or "",
        "relevance_score": said["relevance_score"],
        "citation": {name: citation_json(item.citation)[name] for name in _CITED},
        "url": said["url"],
        "created_at": said["created_at"],
        "updated_at": said["updated_at"],
    }


def _session(page: UniversalPage) -> Json:
    """The session of a research chain, and the operation that a next search may name."""
    operations = page.beside.get("operations")
    said: Json = {"session_id": page.beside.get("session_id")}
    return {**said, "operations": operations} if operations else said


SEARCH_LOCAL_KNOWLEDGE = Tool(
    name="search_local_knowledge",
    title="Search with filters",
    description="Search with filters (kinds, dates, folder, domain), by words, meaning or both."
    " Returns texts with citations: dearer than search.",
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
