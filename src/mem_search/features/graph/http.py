"""The graph: what is related to a record, as JSON, listing or drawing, and parts of it as files."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, Self

from aiohttp import web
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from mem_search.errors import StorageError
from mem_search.features.graph.formats import FORMATS, Drawing, GraphFile, draw, write
from mem_search.http.core.parameter_types import IdOfRecord, Kinds, Words
from mem_search.http.core.parameters import (
    MAX_LIST_OFFSET,
    FilterParameters,
    Parameters,
    TimeZoneParameters,
    also,
)
from mem_search.http.core.replies import (
    TEXT,
    TextReply,
    json_reply,
    prefers,
    screen_of,
    sent_file,
    text_reply,
)
from mem_search.http.core.routing import Call, Route
from mem_search.http.records import find, id_in_path
from mem_search.model import Filters, Record, Ref
from mem_search.model.graph import (
    CloudEdge,
    CloudNode,
    Edge,
    ExportedGraph,
    GraphPart,
    KnowledgeCloud,
)
from mem_search.renderers import DisplayOptions
from mem_search.renderers.identity import title_of
from mem_search.renderers.record_line import index_line, name_of
from mem_search.renderers.safe_text import cut
from mem_search.renderers.schema import Count, From, Projection, Time, projected, schema
from mem_search.renderers.terminal import Screen, grouped, line_of
from mem_search.retrievers import graph
from mem_search.text.record_ids import RecordId

_RELATION: Any = Field(
    default=(),
    description="Only along these relations: mentions, same_file, follows, …",
    json_schema_extra=also("relations"),
)
CONTENT_TYPES: Final = tuple(form.content_type for form in FORMATS.values())
_SVG_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_SANDBOX: Final = "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox"
_MAX_DRAWN: Final = 1000
_DRAWN: Final = 500
"""Nodes of a picture unless told otherwise."""
_WALKED: Final = 300
"""Records of a walk, which has no more."""


@schema
class GraphNode(Projection[CloudNode]):
    """A record; `depth` is its distance from the record of the request."""

    id: Annotated[str, From("ref", str)]
    title: str
    kind: Annotated[str, From("ref.kind")]
    depth: Count
    score: Annotated[float, From(then=partial(round, ndigits=6))]
    created_at: Time


@schema
class GraphEdge:
    """`from` has the relation `type` to `to`."""

    start: Annotated[str, Field(serialization_alias="from"), From(then=str)]
    end: Annotated[str, Field(serialization_alias="to"), From(then=str)]
    type: Annotated[str, From("relation")]
    strength: Annotated[float, From(then=partial(round, ndigits=4))]
    origin: str
    created_at: Time

    @classmethod
    def of(cls, edge: CloudEdge, *, created_at: int) -> Self:
        return projected(cls, edge, created_at=created_at)


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
            nodes=[GraphNode.of(node) for node in cloud.nodes],
            edges=[GraphEdge.of(edge, created_at=edge_time(edge, created)) for edge in cloud.edges],
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


class GraphParameters(TimeZoneParameters):
    """How far to walk and what to show."""

    depth: int = Field(default=2, ge=1, le=5, description="Steps from the record")
    limit: int = Field(default=20, ge=1, le=100, description="How many related records at most")
    relation: Words = _RELATION
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
    records = await store.read(lambda snapshot: snapshot.records(numbers))
    screen = screen_of(call.request)
    text = _listing(record, cloud, records, call.display(params.tz), screen)
    return text_reply(
        call.request,
        text,
        partial(RelatedText, ref=str(record.ref), total=len(cloud.nodes) - 1),
    )


def _listing(
    record: Record, cloud: KnowledgeCloud, records: dict[int, Record], display: DisplayOptions,
    screen: Screen | None,
) -> str:  # fmt: skip
    edges = [(edge.start, edge.end, edge.relation) for edge in cloud.edges]
    # A record may be deleted between the walk and this read.
    shown = [(records[n.ref.number], n.depth) for n in cloud.nodes[1:] if n.ref.number in records]
    return render_related(record, shown, edges, display, screen)


class DrawingParameters(Parameters):
    """How much to draw."""

    depth: int = Field(default=2, ge=1, le=5, description="Steps from the record")
    limit: int = Field(default=40, ge=1, le=_WALKED, description="How many nodes at most")
    relation: Words = _RELATION


async def drawing(call: Call) -> web.StreamResponse:
    """The surroundings of the record of the id in the path, placed and coloured to be drawn."""
    params = call.parameters(DrawingParameters)
    part = await _around(call, id_in_path(call), params.depth, params.relation, params.limit)
    return json_reply(await call.runtime.store.graph.export(part, draw))


class GraphExportParameters(FilterParameters):
    """Which part of the graph to export, and as what; all of it by default."""

    format: Literal["json", "graphml", "gexf", "dot", "svg", "html"] = Field(
        default="json", description="A file for programs (json to dot), or a picture (svg, html)"
    )
    ref: IdOfRecord = Field(default="", description="Only around this record")
    depth: int = Field(default=2, ge=1, le=5, description="Steps from the record")
    relation: Words = _RELATION
    types: Kinds = Field(
        default=(), alias="kinds", description="Kinds of record", json_schema_extra=also("types")
    )
    limit: int | None = Field(
        default=None,
        ge=1,
        le=MAX_LIST_OFFSET,
        description="How many nodes at most, those with the most edges; a picture has 500, or up"
        " to 1000",
    )

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        if FORMATS[self.format].is_picture and (self.limit or 0) > _MAX_DRAWN:
            raise PydanticCustomError(
                "at:limit",
                "a picture has at most {most} nodes; export graphml for a program that draws more",
                {"most": _MAX_DRAWN},
            )
        return self


async def export(call: Call) -> web.StreamResponse:
    """A part of the graph as a file, which is complete before its first byte is sent."""
    params = call.parameters(GraphExportParameters)
    form = FORMATS[params.format]
    part = await _part(call, params, params.limit or (_DRAWN if form.is_picture else None))
    # It lies on the disk, has no name, and goes away by itself.
    home = call.lifecycle.settings.home
    with await asyncio.to_thread(tempfile.TemporaryFile, "w+b", dir=home) as file:

        def written(exported: ExportedGraph) -> None:
            try:
                write(exported, params.format, file)
                file.flush()
            except OSError as error:
                raise StorageError(f"cannot write the graph: {error.strerror}") from error

        await call.runtime.store.graph.export(part, written)
        headers = {"Content-Type": form.content_type}
        if form.is_picture:
            from mem_search.features.graph.picture import policy  # with lxml, as above

            # A browser shows it, apart from everything else that this worker answers.
            rules = policy() if params.format == "html" else _SVG_POLICY
            headers["Content-Security-Policy"] = f"{rules}; {_SANDBOX}"
        else:
            headers["Content-Disposition"] = f'attachment; filename="mem-search.{params.format}"'
        return await sent_file(call.request, file, headers)


async def _part(call: Call, params: GraphExportParameters, most: int | None) -> GraphPart:
    filters = params.filters(params.types)
    if not params.ref:
        return GraphPart(filters, relations=params.relation, most=most)
    called = RecordId.parse(params.ref)
    return await _around(call, called, params.depth, params.relation, most, filters)


async def _around(
    call: Call,
    called: RecordId,
    depth: int,
    relations: tuple[str, ...],
    most: int | None,
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> GraphPart:
    """The surroundings of a record. Raises NotFound."""
    record, _ = await find(call, called)
    cloud = await call.runtime.search.store.read(
        graph.related,
        record.number,
        depth=depth,
        limit=min(most or _WALKED, _WALKED),
        filters=filters,
        relations=relations,
    )
    return GraphPart(
        records=tuple(node.ref.number for node in cloud.nodes),
        derived=tuple(
            Edge(edge.start.number, edge.end.number, edge.relation, edge.strength, edge.origin)
            for edge in cloud.edges
            if edge.origin == "derived"
        ),
        relations=relations,
        most=most,
    )


# fmt: off
ROUTES = (
    Route("GET", "/api/graph/export", export, "Export the graph, or what is around a record, as a file or a picture", "records", GraphExportParameters, response=GraphFile, other_types=CONTENT_TYPES, errors=(404,), private=True),
    Route("GET", "/api/graph/{ref}", related, "Show the records related to a record", "records", GraphParameters, response=RelatedRecords | RelatedText),
    Route("GET", "/api/graph/{ref}/drawing", drawing, "Place and colour the records around a record, to draw them", "records", DrawingParameters, response=Drawing),
)


_RELATIONS_SHOWN = 2
_RELATION_LENGTH = 40


def render_related(
    centre: Record,
    related: Sequence[tuple[Record, int]],
    edges: Iterable[tuple[Ref, Ref, str]],
    display: DisplayOptions,
    screen: Screen | None = None,
) -> str:
    """A heading for ``centre`` and the related records, best first, grouped by distance.

    ``related`` has (record, distance); ``edges`` (one end, the other, relation), strongest first.
    """
    if not related:
        return (
            f"No results found related to {name_of(centre, display)}\n\n"
            "Try: more depth, or no relation, or a search for its title"
        )
    numbers = {record.ref: record.number for record, _ in related} | {centre.ref: centre.number}
    depths = {record.ref: depth for record, depth in related} | {centre.ref: 0}
    ties: dict[Ref, list[str]] = {}
    for start, end, relation in edges:
        name = cut(relation, _RELATION_LENGTH)
        same = name.startswith("same_")
        for one, other in ((start, end), (end, start)):
            # Only the edges towards the centre; the other lines show the rest.
            if one in numbers and other in numbers and depths[other] == depths[one] - 1:
                named = f"#{numbers[other]}"
                if same:
                    phrase = f"{name.replace('_', ' ')} as {named}"
                else:
                    phrase = f"{name} {named}" if one == start else f"{named} {name} it"
                ties.setdefault(one, []).append(phrase)
    steps = {
        depth: "1 step away" if depth == 1 else f"{depth} steps away"
        for depth in sorted({depth for _, depth in related})
    }
    if screen is not None:
        groups = [
            (
                said,
                [
                    line_of(each, display, screen, ", ".join(ties.get(each.ref, [])[:1]))
                    for each, distance in related
                    if distance == depth
                ],
            )
            for depth, said in steps.items()
        ]
        name = " › ".join(filter(None, title_of(centre, display)))
        return grouped(f"Related to {name}", groups, screen)
    blocks = [f"Found {len(related)} record(s) related to {name_of(centre, display)}"]
    for depth, said in steps.items():
        lines = [
            f"{index_line(record, display)}  <- {', '.join(ties[record.ref][:_RELATIONS_SHOWN])}"
            if record.ref in ties
            else index_line(record, display)
            for record, distance in related
            if distance == depth
        ]
        blocks.append("\n".join([f"### {said}", *lines]))
    return "\n\n".join(blocks)
