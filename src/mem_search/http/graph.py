"""What is related to a record: its surroundings in the graph, as JSON or a listing."""

from __future__ import annotations

from functools import partial
from typing import Literal

from aiohttp import web
from pydantic import Field

from mem_search.http.core.parameter_types import Words
from mem_search.http.core.parameters import TimeZoneParameters, also
from mem_search.http.core.replies import TEXT, json_reply, prefers, text_reply
from mem_search.http.core.routing import Call
from mem_search.http.records import find, id_in_path
from mem_search.http.schemas.graph import RelatedRecords, RelatedText
from mem_search.model import Record
from mem_search.model.graph import KnowledgeCloud
from mem_search.renderers import DisplayOptions, render_related
from mem_search.retrievers import graph


class GraphParameters(TimeZoneParameters):
    """How far to walk and what to show."""

    depth: int = Field(default=2, ge=1, le=5, description="Steps from the record")
    limit: int = Field(default=20, ge=1, le=100, description="How many related records at most")
    relation: Words = Field(
        default=(),
        description="Only along these relations: mentions, same_file, follows, …",
        json_schema_extra=also("relations"),
    )
    format: Literal["json", "text"] = Field(default="json", description="JSON, or a listing")


async def related(call: Call) -> web.StreamResponse:
    """The record of the id in the path and the records most related to it."""
    params = call.parameters(GraphParameters)
    record, _ = await find(call, id_in_path(call))
    store = call.runtime.search.store
    cloud = await store.read(
        graph.related,
        record.number,
        depth=params.depth,
        limit=params.limit,
        relations=params.relation,
    )
    if params.format == "json" and not prefers(call.request, TEXT):
        return json_reply(RelatedRecords.of(record.ref, cloud))
    numbers = [node.ref.number for node in cloud.nodes]
    found = await store.read(lambda snapshot: snapshot.records(numbers))
    text = _listing(record, cloud, found, call.display(params.tz))
    return text_reply(
        call.request,
        text,
        partial(RelatedText, ref=str(record.ref), total=len(cloud.nodes) - 1),
    )


def _listing(
    record: Record, cloud: KnowledgeCloud, found: dict[int, Record], display: DisplayOptions
) -> str:
    edges = [(edge.start, edge.end, edge.relation) for edge in cloud.edges]
    # A record may be deleted between the walk and this read.
    shown = [(found[n.ref.number], n.depth) for n in cloud.nodes[1:] if n.ref.number in found]
    return render_related(record, shown, edges, display)
