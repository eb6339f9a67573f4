"""Documents as they are stored: what is known of one, its text, its passages, its original."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path
from typing import IO, Annotated, Any, Final, Literal, Self

from aiohttp import web
from pydantic import Field

from mem_search.errors import Forbidden, InputError, NotFound
from mem_search.features.documents import incoming_mail, uploads
from mem_search.http.core.parameters import MAX_LIST_OFFSET, Parameters
from mem_search.http.core.replies import TEXT, json_reply
from mem_search.http.core.routing import ANY_TYPE, Call, Route
from mem_search.http.jobs import SubmittedJob
from mem_search.http.records import find
from mem_search.model import Passage, Record
from mem_search.model.ingest import PAGE_BREAK
from mem_search.model.records import SUMMARY
from mem_search.records.registry import installed_kinds
from mem_search.regular_file import open_regular_file
from mem_search.renderers.record_json import title_of
from mem_search.renderers.schema import Absent, Count, From, Time, projected, schema
from mem_search.sources.base import UPLOADED
from mem_search.sources.files import digests_of
from mem_search.sources.files.folder import MAX_BYTES
from mem_search.text.counted import counted
from mem_search.text.outline import place_in
from mem_search.text.record_ids import RecordId

_PIECE: Final = 2**18


@schema
class Document:
    """A document without its text. `length` counts characters, `source_uri` is a path or a URL,
    `added_at` is when it was stored as it is.
    """

    id: Annotated[str, From("ref", str)]
    number: int
    kind: str
    source_type: str
    source: str
    source_id: str
    source_uri: str
    title: str
    created_at: Time
    updated_at: Time
    added_at: Time
    project: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    length: Count
    passages: Count

    @classmethod
    def of(cls, record: Record, passages: int, added_at: int) -> Self:
        metadata = dict(record.metadata)
        return projected(
            cls,
            record,
            source_type=str(metadata.get("source_type") or record.kind),
            source_uri=record.url or str(metadata.get("path") or ""),
            title=title_of(record),
            metadata=metadata,
            length=len(record.text),
            passages=passages,
            added_at=added_at,
        )


@schema
class DocumentPassage:
    """A passage. `type` is `content`, `code` or `ocr`, else `title` or `summary`, without an index.

    `index` counts from 0, as `chunk_index` does where a passage is found. It is `text[start:end]` of the document, but for a title or summary from elsewhere. `heading` is
    the path of headings above it; `above` are these and the head of its table, as they are embedded
    before it. `model` made its vector; a title is embedded with every passage.
    """

    type: Literal["title", "summary", "content", "code", "ocr"]
    text: str
    index: Absent[int] = None
    start: Absent[int] = None
    end: Absent[int] = None
    page: Absent[int] = None
    heading: Absent[str] = None
    above: Absent[str] = None
    model: Absent[str] = None

    @classmethod
    def of_title(cls, record: Record, model: str | None) -> Self:
        return cls(type="title", text=title_of(record), model=model)

    @classmethod
    def of(cls, passage: Passage, record: Record, model: str | None) -> Self:
        if passage.ordinal == SUMMARY and passage.above:
            return cls(type="summary", text=passage.above, model=model)
        _, heading = place_in(record.text, (passage.start, None, passage.above), passage.start)
        return cls(
            index=passage.ordinal if passage.ordinal >= 0 else None,
            type=passage.field,  # type: ignore[arg-type]  # the store has these alone
            text=record.text[passage.start : passage.end],
            start=passage.start,
            end=passage.end,
            page=passage.page,
            heading=heading or None,
            above=passage.above or None,
            model=model,
        )


@schema
class DocumentPassages:
    """Some passages of a document; `total` counts all, with title and summary."""

    document: str
    total: Count
    passages: list[DocumentPassage]


class IdentityParameters(Parameters):
    """Under which name a document was sent."""

    source_id: str = Field(min_length=1, max_length=2_000, description="As it was sent")
    source: str = Field(default=UPLOADED, description="As mem-search stats names it")


class ContentParameters(Parameters):
    """How much of the text."""

    page: int | None = Field(default=None, ge=1, description="Only this page, from 1")


class PassageParameters(Parameters):
    """Which passages: from one on, or those around one."""

    around: int | None = Field(
        default=None, ge=0, description="This passage and its neighbours; its index, from 0"
    )
    neighbours: int = Field(default=2, ge=0, le=20, description="How many on each side of around")
    limit: int = Field(default=50, ge=1, le=500, description="How many at most")
    offset: int = Field(default=0, ge=0, le=MAX_LIST_OFFSET, description="How many to skip")


async def one(call: Call) -> web.StreamResponse:
    """What is known of a document, without its text."""
    return await _shown(call, await _record(call))


async def of_source(call: Call) -> web.StreamResponse:
    """What is known of the document with this identity, without its text."""
    params = call.parameters(IdentityParameters)
    named = await call.runtime.store.records.named(params.source, params.source_id)
    if named is None:
        raise NotFound(
            f"no document of the source {params.source[:60]} has the source_id"
            f" {params.source_id[:60]!r}",
            field="source_id",
        )
    return await _shown(call, (await find(call, RecordId.parse(str(named.ref)), "source_id"))[0])


async def _shown(call: Call, record: Record) -> web.StreamResponse:
    records = call.runtime.store.records
    passages = await records.passages(record.number)
    added_at = await records.stored_at(record.number)
    return json_reply(Document.of(record, sum(each.ordinal >= 0 for each in passages), added_at))


async def content(call: Call) -> web.StreamResponse:
    """The whole text of a document, or of one page of it; of a mail also what it quotes."""
    record, page = await _record(call), call.parameters(ContentParameters).page
    call.opened(record)
    text = installed_kinds().get(record.kind).whole_text(record)
    if page is not None:
        pages = text.split(PAGE_BREAK) if isinstance(record.metadata.get("pages"), int) else [text]
        if page > len(pages):
            raise InputError(f"the document has {counted(len(pages), 'page')}", field="page")
        text = pages[page - 1]
    return web.Response(body=text.encode("utf-8", "replace"), content_type=TEXT, charset="utf-8")


async def passages(call: Call) -> web.StreamResponse:
    """The passages of a document in their order; title and summary come first, without an index."""
    params, record = call.parameters(PassageParameters), await _record(call)
    records, embedder = call.runtime.store.records, call.runtime.model.embedder
    cut = await records.passages(record.number)
    embedded = await records.embedded(record.number, embedder.fingerprint)
    items = [DocumentPassage.of_title(record, embedder.name if 0 in embedded else None)]
    for each in cut:
        model = embedder.name if each.ordinal in embedded else None
        items.append(DocumentPassage.of(each, record, model))
    first, last = params.offset, params.offset + params.limit
    if params.around is not None:
        whole = sum(each.index is None for each in items)
        if params.around >= len(items) - whole:
            said = f"the document has {counted(len(items) - whole, 'passage')}, which count from 0"
            raise InputError(said, field="around")
        first = max(0, params.around + whole - params.neighbours)
        last = params.around + whole + params.neighbours + 1
    shown = items[first:last]
    return json_reply(DocumentPassages(document=str(record.ref), total=len(items), passages=shown))


async def original(call: Call) -> web.StreamResponse:
    """The file that a document was read from, while it is where it was and unchanged."""
    record = await _record(call)
    if call.caller.user:
        raise Forbidden("original files lie on the worker's machine; only its owner gets them")
    file = await _unchanged(call, record)
    name = Path(record.source_id).name.encode("ascii", "replace").decode().replace('"', "'")
    try:
        reply = web.StreamResponse(
            headers={
                "Content-Type": ANY_TYPE,
                "Content-Length": str(file.seek(0, os.SEEK_END)),
                # Never shown as a page of the worker, whatever the file is.
                "Content-Disposition": f'attachment; filename="{name}"',
            }
        )
        file.seek(0)
        await reply.prepare(call.request)
        while piece := await asyncio.to_thread(file.read, _PIECE):
            await reply.write(piece)
        await reply.write_eof()
    finally:
        file.close()
    return reply


async def _record(call: Call) -> Record:
    called = RecordId.parse(call.request.match_info["id"], "id")
    return (await find(call, called, "id"))[0]


async def _unchanged(call: Call, record: Record) -> IO[bytes]:
    """The open file of a record. Only a file that the source ``files`` has read is opened."""
    gone = NotFound(
        f"the original of {record.ref} is not kept; its text is at"
        f" GET /documents/{record.ref}/content",
        field="id",
    )
    if record.source != "files":
        raise gone
    ingest, path = call.runtime.store.ingest, Path(record.source_id)
    for known in await ingest.locations():
        place = known.location
        if place.source == "files" and path.is_relative_to(place.path):
            read = digests_of({place.path: await ingest.cursor(place)})
            if digest := read.get(str(path), ("", ""))[1]:
                file = await asyncio.to_thread(_opened, path, digest)
                if file is None:
                    raise NotFound(f"{path} was moved or changed since it was read", field="id")
                return file
    raise gone


def _opened(path: Path, digest: str) -> IO[bytes] | None:
    """The file, if its content is still what was read."""
    try:
        file = open_regular_file(path, max_bytes=MAX_BYTES, follow=False)
    except OSError:
        return None
    try:
        if hashlib.file_digest(file, "blake2b").hexdigest().startswith(digest):
            return file
    except OSError:
        pass
    file.close()
    return None


# fmt: off
ROUTES = (
    Route("POST", "/documents/upload", uploads.upload, "Add a document with what is known of it", "documents", uploads.UploadParameters, form=uploads.UploadForm, body_type=uploads.FORM, write=True, status=202, response=SubmittedJob, errors=(409, 429)),
    Route("POST", "/documents/mail", incoming_mail.receive, "Add an incoming mail", "documents", body_type=ANY_TYPE, write=True, basic=True, response=SubmittedJob, errors=(429,)),
    Route("POST", "/documents/fetch", uploads.fetch, "Add a page or a document by its URL", "documents", body=uploads.FetchBody, write=True, status=202, response=SubmittedJob, errors=(429,)),
    Route("GET", "/documents", of_source, "Show what is known of a document by its source_id", "documents", IdentityParameters, response=Document, errors=(404,)),
    Route("GET", "/documents/{id}", one, "Show what is known of a document", "documents", response=Document, page="record/{id}"),
    Route("GET", "/documents/{id}/content", content, "Show the text of a document", "documents", ContentParameters, content_type=TEXT),
    Route("GET", "/documents/{id}/passages", passages, "List the passages of a document", "documents", PassageParameters, response=DocumentPassages),
    Route("GET", "/documents/{id}/original", original, "Download the file that a document was read from", "documents", write=True, content_type=ANY_TYPE),
)
