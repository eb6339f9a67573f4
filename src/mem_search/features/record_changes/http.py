"""One record as JSON: add it, replace it, change some of its fields.

A record that its source reads again gets what the source has; one that was added here stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from aiohttp import web
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from mem_search.errors import NotFound
from mem_search.http.core.parameter_types import KindName
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.problems import Fault, Invalid
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.http.records import find, id_in_path
from mem_search.ingest.prepare import content_id
from mem_search.metadata import faults
from mem_search.model import Draft, Link, Record
from mem_search.records.registry import installed_kinds
from mem_search.renderers.record_json import WholeRecord
from mem_search.text.dates import now_ms
from mem_search.text.search_fields import DATED_BY
from mem_search.validation import moment, not_blank

SOURCE: Final = "api"
"""The source of records that were added here, unless the request names another."""


def _moment(value: object, info: ValidationInfo) -> int | None:
    return None if value is None else moment(value, info)


Name = Annotated[str, Field(max_length=4000)]
WithText = Annotated[str, AfterValidator(not_blank)]
Moment = Annotated[int | None, BeforeValidator(_moment, json_schema_input_type=str | None)]
"""A date, or a date and time; without an offset it is in the zone of the caller."""


class LinkBody(Body):
    """A link to a ref, a source id or a URL."""

    to: Name = Field(min_length=1)
    relation: Name = Field(default="related", min_length=1)


class WholeRecordBody(Body):
    """All that can be changed of a record. What is left out becomes empty; times stay."""

    text: WithText
    title: str = ""
    created_at: Moment = None
    updated_at: Moment = Field(default=None, description="By default now")
    project: Name = ""
    session: Name = ""
    tags: list[Name] = Field(default_factory=list)
    url: Name = ""
    importance: float | None = Field(default=None, ge=0, le=1)
    metadata: dict[str, Any] = Field(default_factory=dict)
    links: list[LinkBody] = Field(default_factory=list)

    def draft(self, **identity: Any) -> Draft:
        """The draft with these fields; ``identity`` are its kind, source and source id."""
        values = _typed({name: getattr(self, name) for name in WholeRecordBody.model_fields})
        return Draft(**identity, **values)


class NewRecordBody(WholeRecordBody):
    """A record to add. `source` and `source_id` are its identity."""

    kind: KindName
    source: Name = Field(default=SOURCE, min_length=1)
    source_id: Name = Field(default="", description="By default made from the content")

    def new(self) -> Draft:
        """The draft to store."""
        made = self.draft(kind=self.kind, source=self.source, source_id=self.source_id)
        return made if made.source_id else replace(made, source_id=content_id(made))


class RecordPatch(Body):
    """Fields to change. `null` empties a field; `metadata` is merged (RFC 7396)."""

    null_empties = True
    text: WithText = ""
    title: str | None = None
    created_at: Moment = None
    updated_at: Moment = None
    project: Name | None = None
    session: Name | None = None
    tags: list[Name] | None = None
    url: Name | None = None
    importance: float | None = Field(default=None, ge=0, le=1)
    metadata: dict[str, Any] | None = None
    links: list[LinkBody] | None = None

    def applied(self, record: Record, links: Sequence[Link]) -> Draft:
        """The record with these changes."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        changes = _typed({n: v if v is not None else _EMPTY.get(n) for n, v in given.items()})
        text, metadata = record.text, dict(record.metadata)
        if "metadata" in given:
            # What the text says because of the metadata must not outlive it.
            text = installed_kinds().require(record.kind).own_text(record)
            metadata = merged(metadata, given["metadata"] or {}) if given["metadata"] else {}
        whole: dict[str, Any] = {
            "text": text,
            "title": record.title,
            "project": record.project,
            "session": record.session,
            "tags": record.tags,
            "url": record.url,
            "importance": record.importance,
            "links": tuple(links),
            **changes,
            "metadata": metadata,
        }
        return Draft(kind=record.kind, source=record.source, source_id=record.source_id, **whole)


_EMPTY: Final[Mapping[str, Any]] = {
    "title": "", "project": "", "session": "", "tags": [], "url": "", "links": [],
}  # fmt: skip


class NewRecordParameters(Parameters):
    """What to do with an identity that is known."""

    replace: bool = Field(default=False, description="Replace a record with the same source_id")
    even_forgotten: bool = Field(
        default=False, description="Store a record again that was forgotten"
    )


async def add(call: Call) -> web.StreamResponse:
    """Store a new record."""
    params = call.parameters(NewRecordParameters)
    number = await call.runtime.ingest.writer.store_one(
        _checked(call.json_body(NewRecordBody).new()),
        replace=params.replace,
        even_forgotten=params.even_forgotten,
    )
    return await _shown(call, number, status=201)


async def put(call: Call) -> web.StreamResponse:
    """Replace everything of a record but its identity and its kind."""
    body = call.json_body(WholeRecordBody)
    return await _change(
        call,
        lambda record, _: body.draft(
            kind=record.kind, source=record.source, source_id=record.source_id
        ),
    )


async def patch(call: Call) -> web.StreamResponse:
    """Change some fields of a record."""
    return await _change(call, call.json_body(RecordPatch).applied)


async def _change(
    call: Call, made: Callable[[Record, Sequence[Link]], Draft]
) -> web.StreamResponse:
    writer = call.runtime.ingest.writer
    async with writer.changing:  # nobody changes it between reading and writing
        record, links = await find(call, id_in_path(call))
        draft = _checked(made(record, links))
        if draft.created_at is None:
            draft = replace(draft, created_at=record.created_at)
        elif draft.created_at != record.created_at and installed_kinds().get(record.kind).documents:
            said = {**draft.metadata, DATED_BY: SOURCE}  # before any day that the document states
            draft = replace(draft, metadata=said)
        if draft.updated_at is None:
            draft = replace(draft, updated_at=now_ms())
        number = await writer.store_one(draft, replace=True)
    return await _shown(call, number)


def _checked(draft: Draft) -> Draft:
    """The draft, if its metadata is as its ``source_type`` has it. Raises Invalid."""
    source_type = draft.metadata.get("source_type")
    problems = faults(source_type, draft.metadata) if isinstance(source_type, str) else []
    if problems:
        places = ((place.replace(".", "/"), detail) for place, detail in problems)
        raise Invalid([Fault(detail, pointer=f"/{place}") for place, detail in places])
    return draft


async def _shown(call: Call, number: int, status: int = 200) -> web.StreamResponse:
    stored = await call.runtime.store.records.with_links([number])
    if not stored:  # somebody has deleted it since
        raise NotFound("the record was deleted", field="ref")
    ((record, links),) = stored
    reply = json_reply(WholeRecord.of(record, links), status=status)
    if status == 201:
        reply.headers["Location"] = f"/api/records/{record.ref}"
    return reply


def merged(target: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """``target`` with ``changes``: null removes a key, objects are merged (RFC 7396)."""
    result = dict(target)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            inner = result.get(key)
            result[key] = merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def _typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a body as a draft has them."""
    typed = dict(values)
    if "tags" in typed:
        typed["tags"] = tuple(typed["tags"])
    if "links" in typed:
        typed["links"] = tuple(Link(link.to, link.relation) for link in typed["links"])
    return typed


# fmt: off
ROUTES = (
    Route("POST", "/api/records", add, "Add a record", "records", NewRecordParameters, body=NewRecordBody, write=True, status=201, response=WholeRecord, errors=(409,)),
    Route("PUT", "/api/records/{ref}", put, "Replace a record", "records", body=WholeRecordBody, write=True, response=WholeRecord),
    Route("PATCH", "/api/records/{ref}", patch, "Change some fields of a record", "records", body=RecordPatch, write=True, response=WholeRecord),
)
