"""Replies of ``/api/v2/search``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final, Literal, Self

import mem_search
from mem_search.features.weighted.requests import source_type_for
from mem_search.model import Record, Result, SearchReport, graph
from mem_search.renderers.record_json import SnippetSpan
from mem_search.renderers.record_line import notices_of
from mem_search.renderers.safe_text import caution_of
from mem_search.renderers.schema import (
    Absent,
    AnalyzedWords,
    Count,
    From,
    Projection,
    SearchLeg,
    Share,
    Time,
    projected,
    schema,
    text_or_none,
    texts,
)
from mem_search.renderers.universal import CitationMetadata
from mem_search.request_id import REQUEST_ID
from mem_search.search.citations import citation
from mem_search.text.dates import now_ms

LEGS: Final = {"keyword": "bm25", "vector": "vector", "graph": "graph"}
"""The name of each leg in the contract."""

_rounded: Final = partial(round, ndigits=6)


def memory_type(record: Record) -> str:
    """The type that the record's metadata names (fact, insight, …), else its kind."""
    named = record.metadata.get("type")
    return named if isinstance(named, str) and named else record.kind


def _source_type(record: Record) -> str:
    return source_type_for(record.kind, record.source)


def _confidence(metadata: Mapping[str, Any]) -> float | None:
    value = metadata.get("confidence")
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _user(metadata: Mapping[str, Any]) -> str | None:
    value = metadata.get("user_id")
    return value if isinstance(value, str) else None


@schema
class Meta:
    """The request id, the time and the version of this reply."""

    request_id: str
    timestamp: Time
    version: str
    api_version: Literal["v2"] = "v2"

    @classmethod
    def now(cls) -> Self:
        """The id of the current request."""
        return cls(request_id=REQUEST_ID.get(), timestamp=now_ms(), version=mem_search.__version__)


@schema
class Tie(Projection[graph.Relationship]):
    """A relationship of a result."""

    to_id: Annotated[str, From("to", str)]
    type: Annotated[str, From("relation")]
    strength: Annotated[float, From(then=_rounded)]


@schema
class GraphContext:
    """The strongest relationships of a result; `relationship_count` counts all."""

    relationships: list[Tie]
    relationship_count: Count


@schema
class WeightedItem:
    """A record that matched. `content_with_context` is the passage that matched with others around.

    `chunk_index` is the number of that passage of `total_chunks`. `caution` is there when the text
    reads like instructions to an agent.
    """

    caution: Annotated[Absent[str], From(".", caution_of)] = None
    id: Annotated[str, From("ref", str)]
    number: int
    kind: str
    title: str
    content: Annotated[str, From("text")]
    snippet: str
    snippet_span: SnippetSpan
    score: float
    source_type: Annotated[str, From(".", _source_type)]
    source: str
    project: str
    session: str
    url: str
    created_at: Time
    updated_at: Time
    tags: tuple[str, ...]
    superseded_by: Annotated[str | None, From(then=text_or_none)]
    supersedes: Annotated[list[str], From(then=texts)]
    citation: CitationMetadata
    content_with_context: str
    chunk_index: Count
    total_chunks: Count

    @classmethod
    def of(cls, result: Result, /, **more: Any) -> Self:
        """The item of ``result``; ``more`` are the fields of a subclass, such as the score."""
        record, context = result.record, result.context
        assert context is not None  # the bodies always ask for neighbours
        return projected(
            cls,
            record,
            snippet=result.snippet.text,
            snippet_span=SnippetSpan.of(result.snippet),
            citation=CitationMetadata.of(citation(record)),
            content_with_context=record.text[context.start : context.end],
            chunk_index=context.ordinal,
            total_chunks=context.count,
            **more,
        )


@schema
class HybridScores:
    """The parts of a score; null where a leg did not find the record.

    `relevance` is the probability that the record is relevant, the same whatever else is found.
    """

    final_score: float
    relevance: float | None
    bm25_score: float | None
    vector_score: float | None
    graph_score: float | None
    rank_bm25: float | None
    rank_vector: float | None
    rank_graph: float | None


@schema
class HybridMetadata:
    """The record's metadata; `graph_context` is null where links were not followed."""

    memory_type: Annotated[str, From(".", memory_type)]
    importance: float | None
    highlight: str | None
    graph_context: GraphContext | None

    @classmethod
    def of(cls, record: Record, *, highlight: str | None, ties: GraphContext | None) -> Self:
        return projected(cls, record, highlight=highlight, graph_context=ties)


@schema
class HybridItem(WeightedItem):
    """A result of the hybrid search."""

    score_breakdown: HybridScores
    metadata: HybridMetadata


@schema
class Weights:
    """The weights of the three legs; they sum to 1."""

    bm25: Share
    vector: Share
    graph: Share


@schema
class HybridQuestion:
    """The question, and how it was parsed."""

    original: str
    search_type: Literal["hybrid"] = "hybrid"
    weights: Weights
    graph_expansion_enabled: bool
    warnings: tuple[str, ...]
    read_as: AnalyzedWords


@schema
class WeightedMode:
    """Which legs took part and answered, and what is missing from the reply.

    `stale_s` is there where a replica of the store answered: what was stored in the last so many
    seconds may be missing.
    """

    requested: list[str]
    realised: list[str]
    legs: list[SearchLeg]
    coverage: Share
    index_age_s: float
    notices: tuple[str, ...]
    stale_s: Absent[float] = None

    @classmethod
    def of(cls, report: SearchReport) -> Self:
        legs = [replace(SearchLeg.of(leg), name=LEGS[leg.name]) for leg in report.legs]
        return cls(
            requested=[leg.name for leg in legs],
            realised=[leg.name for leg in legs if leg.state != "failed"],
            legs=legs,
            coverage=report.coverage,
            index_age_s=round(report.index_age_s, 3),
            notices=tuple(notices_of(report)),
            stale_s=None if report.stale_s is None else round(report.stale_s, 3),
        )


@schema
class HybridStats:
    """Milliseconds, rounded, and how many candidates each leg found."""

    search_time_ms: Count
    bm25_time_ms: Count
    vector_time_ms: Count
    graph_time_ms: Count
    fusion_time_ms: Count
    bm25_count: Count
    vector_count: Count
    graph_count: Count
    final_count: Count


@schema
class CloudNode(Projection[graph.CloudNode]):
    """A record of the knowledge cloud."""

    id: Annotated[str, From("ref", str)]
    title: str
    created_at: Time
    depth: Count
    score: float


@schema
class CloudEdge:
    """An edge of the knowledge cloud."""

    from_id: Annotated[str, From("start", str)]
    to_id: Annotated[str, From("end", str)]
    type: Annotated[str, From("relation")]
    strength: Annotated[float, From(then=_rounded)]
    origin: str
    created_at: Time

    @classmethod
    def of(cls, edge: graph.CloudEdge, *, created_at: int) -> Self:
        return projected(cls, edge, created_at=created_at)


@schema
class CloudStats:
    """How many nodes and edges are shown, and how many there are."""

    seed_count: Count
    cloud_count: Count
    edge_count: Count
    cloud_total: Count
    edge_total: Count


@schema
class KnowledgeCloud:
    """The records that links lead to, best first, and the strongest edges among them."""

    nodes: list[CloudNode]
    edges: list[CloudEdge]
    stats: CloudStats


@schema
class HybridSearchMetadata:
    """How the search was done; `knowledge_cloud` is there unless links were switched off."""

    search_method: Literal["hybrid"] = "hybrid"
    results_count: Count
    stats: HybridStats
    knowledge_cloud: Absent[KnowledgeCloud] = None
    mode: WeightedMode


@schema
class HybridData:
    """The results of a hybrid search."""

    items: list[HybridItem]
    query: str
    analyzed_query: HybridQuestion
    search_metadata: HybridSearchMetadata


@schema
class HybridReply:
    """A hybrid search that succeeded."""

    status: Literal["success"] = "success"
    data: HybridData
    meta: Meta


@schema
class VectorScores:
    """The cosine similarity; null for a question that only filters."""

    vector_similarity: float | None


@schema
class VectorMetadata(Projection[Record]):
    """What the record is about."""

    memory_type: Annotated[str, From(".", memory_type)]
    importance: float | None
    confidence: Annotated[float | None, From("metadata", _confidence)]
    source_type: Annotated[str, From(".", _source_type)]
    user_id: Annotated[str | None, From("metadata", _user)]
    created_at: Time
    updated_at: Time


@schema
class VectorItem(WeightedItem):
    """A result of the search by meaning."""

    score_breakdown: VectorScores
    metadata: VectorMetadata


@schema
class VectorQuestion:
    """The question, and how it was parsed."""

    original: str
    embedding_generated: bool
    filters_applied: bool
    search_type: Literal["vector_similarity"] = "vector_similarity"
    include_neighbors: Count
    warnings: tuple[str, ...]
    read_as: AnalyzedWords


@schema
class VectorSearchMetadata:
    """How the search was done."""

    search_method: Literal["vector_similarity"] = "vector_similarity"
    results_count: Count
    max_results: Count
    include_neighbors: Count
    search_time_ms: Count
    mode: WeightedMode


@schema
class VectorData:
    """The results of a search by meaning."""

    items: list[VectorItem]
    query: str
    analyzed_query: VectorQuestion
    search_metadata: VectorSearchMetadata


@schema
class VectorReply:
    """A search by meaning that succeeded."""

    status: Literal["success"] = "success"
    data: VectorData
    meta: Meta
