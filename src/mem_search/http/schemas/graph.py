"""Replies of the graph: records related to one, and the edges among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field

from mem_search.http.schemas.common import TextReply
from mem_search.model import Ref
from mem_search.model.graph import CloudEdge, KnowledgeCloud
from mem_search.renderers.schema import Count, Time, schema


@schema
class GraphNode:
    """A record; `depth` is its distance from the record of the request."""

    id: str
    title: str
    kind: str
    depth: Count
    score: float
    created_at: Time


@schema
class GraphEdge:
    """`from` has the relation `type` to `to`."""

    start: Annotated[str, Field(serialization_alias="from")]
    end: Annotated[str, Field(serialization_alias="to")]
    type: str
    strength: float
    origin: str
    created_at: Time


@schema
class GraphStats:
    """How many records and edges there are; `reached` counts records shown or not."""

    seed_count: Count
    cloud_count: Count
    edge_count: Count
    reached: Count


@schema
class RelatedRecords:
    """The record and those related to it, best first; edges strongest first."""

    ref: str
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    stats: GraphStats

    @classmethod
    def of(cls, ref: Ref, cloud: KnowledgeCloud) -> Self:
        created = created_at(cloud)
        return cls(
            ref=str(ref),
            nodes=[
                GraphNode(
                    id=str(node.ref),
                    title=node.title,
                    kind=node.ref.kind,
                    depth=node.depth,
                    score=round(node.score, 6),
                    created_at=node.created_at,
                )
                for node in cloud.nodes
            ],
            edges=[
                GraphEdge(
                    start=str(edge.start),
                    end=str(edge.end),
                    type=edge.relation,
                    strength=round(edge.strength, 4),
                    origin=edge.origin,
                    created_at=edge_time(edge, created),
                )
                for edge in cloud.edges
            ],
            stats=GraphStats(
                seed_count=cloud.seed_count,
                cloud_count=len(cloud.nodes) - cloud.seed_count,
                edge_count=len(cloud.edges),
                reached=cloud.reached,
            ),
        )


@schema
class RelatedText(TextReply):
    """The related records as a listing."""

    ref: str
    total: Count


def created_at(cloud: KnowledgeCloud) -> dict[Ref, int]:
    """When each record of the cloud was created, in milliseconds."""
    return {node.ref: node.created_at for node in cloud.nodes}


def edge_time(edge: CloudEdge, created: Mapping[Ref, int]) -> int:
    """When the edge came to be, in milliseconds.

    An edge that one record states is as old as that record; a derived one as the newer of both.
    """
    ends = (edge.start, edge.end) if edge.origin == "derived" else (edge.start,)
    return max(created[end] for end in ends)
