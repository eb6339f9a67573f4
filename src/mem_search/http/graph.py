"""What is related to a record: its surroundings in the graph, as JSON or a listing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from aiohttp import web
from pydantic import Field

from mem_search.http.core.parameter_types import Words
from mem_search.http.core.parameters import Seen, also
from mem_search.http.core.replies import json_reply, prefers_text, text_reply
from mem_search.http.core.routing import Call
from mem_search.http.records import find
from mem_search.model import Record, Ref
from mem_search.renderers import View, render_related
from mem_search.retrievers.graph import CloudEdge, CloudNode, GraphExpansion, KnowledgeCloud
from mem_search.storage.sqlite import records
from mem_search.text import dates


class GraphParameters(Seen):
    """How far to go and what to show."""

    depth: int = Field(default=2, ge=1, le=5, description="Steps from the record")
    limit: int = Field(default=20, ge=1, le=100, description="How many related records at most")
    relation: Words = Field(
        default=(),
        description="Only along these relations: mentions, same_file, follows, …",
        json_schema_extra=also("relations"),
    )
    format: Literal["json", "text"] = Field(default="json", description="JSON, or a listing")


async def related(call: Call) -> web.StreamResponse:
    """The record of the ref in the path and the records most related to it."""
    asked = call.asked(GraphParameters)
    record, _ = await find(call, Ref.parse(call.request.match_info["ref"]))
    database = call.runtime.database
    cloud = await GraphExpansion(database).related(
        record.number, depth=asked.depth, limit=asked.limit, relations=asked.relation
    )
    if asked.format == "json" and not prefers_text(call.request.headers.get("Accept", "")):
        return json_reply(graph_json(record.ref, cloud))
    found = await database.read(records.fetch, [node.ref.number for node in cloud.nodes])
    text = _listing(record, cloud, found, call.view(asked.tz))
    return text_reply(call.request, text, ref=str(record.ref), total=len(cloud.nodes) - 1)


def graph_json(ref: Ref, cloud: KnowledgeCloud) -> dict[str, Any]:
    """``ref`` first among the nodes, the others best first; edges strongest first."""
    created = created_at(cloud)
    return {
        "ref": str(ref),
        "nodes": [_node(node) for node in cloud.nodes],
        "edges": [_edge(edge, created) for edge in cloud.edges],
        "stats": {
            "seed_count": cloud.seed_count,
            "cloud_count": len(cloud.nodes) - cloud.seed_count,
            "edge_count": len(cloud.edges),
            "reached": cloud.reached,
        },
    }


def _node(node: CloudNode) -> dict[str, Any]:
    return {
        "id": str(node.ref),
        "title": node.title,
        "kind": node.ref.kind,
        "depth": node.depth,
        "score": round(node.score, 6),
        "created_at": dates.iso(node.created_at),
    }


def created_at(cloud: KnowledgeCloud) -> dict[Ref, int]:
    """When each record of the cloud was created, in milliseconds."""
    return {node.ref: node.created_at for node in cloud.nodes}


def edge_time(edge: CloudEdge, created: Mapping[Ref, int]) -> str:
    """That of the record that says it; what is derived from both ends is as old as the newer."""
    ends = (edge.start, edge.end) if edge.origin == "derived" else (edge.start,)
    return dates.iso(max(created[end] for end in ends))


def _edge(edge: CloudEdge, created: Mapping[Ref, int]) -> dict[str, Any]:
    return {
        "from": str(edge.start),
        "to": str(edge.end),
        "type": edge.relation,
        "strength": round(edge.strength, 4),
        "origin": edge.origin,
        "created_at": edge_time(edge, created),
    }


def _listing(record: Record, cloud: KnowledgeCloud, found: dict[int, Record], view: View) -> str:
    edges = [(edge.start, edge.end, edge.relation) for edge in cloud.edges]
    # A record may go away between the walk and this reading.
    shown = [(found[n.ref.number], n.depth) for n in cloud.nodes[1:] if n.ref.number in found]
    return render_related(record, shown, edges, view)
