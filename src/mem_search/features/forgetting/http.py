"""Forgetting records: by ref or by filter, cleaning up after earlier deletions, and receipts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Self

from aiohttp import web
from pydantic import Field

from mem_search.errors import Conflict, InputError, MissingField, NotFound
from mem_search.features.forgetting.service import records_below
from mem_search.http.core.parameter_types import RefName, Start, Stripped, Text
from mem_search.http.core.parameters import Body
from mem_search.http.core.reading import number_in_path
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Handler, Route
from mem_search.http.records import find, id_in_path
from mem_search.model import DateRange, Filters, Kind, Ref, SearchRequest, forgetting
from mem_search.model.forgetting import ForgetStep
from mem_search.model.projects import EXACTLY
from mem_search.renderers.schema import Count, Time, projected, schema
from mem_search.text.record_ids import RecordId

ACCEPTED: Final = 202
MAX_RECORDS: Final = 1_000_000
_SHOWN: Final = 10


@schema
class Copies:
    """Other files of the home, looked through for words that only forgotten records had.

    `looked_at`: how many; null before that, when the records had no such word, and for a purge.
    `still_in`: files that hold such words, as they are at this moment. `unread`: files that could
    not be read to their end. `gone`: files that held such words and are no longer there.
    `changed`: files that held such words and have other content by now.
    """

    looked_at: Count | None
    still_in: list[str]
    unread: list[str]
    gone: list[str]
    changed: list[str]


@schema
class Receipt:
    """What was removed, by place, and which steps are pending.

    `state` is `done` when the store and the vector index are written anew without what was
    forgotten. `copies` says which other files of the home hold words of it; these stay as they are.
    The memory of the worker may hold it until it stops. `waiting` says why a pending step does
    not go on; it is tried again.
    """

    id: str
    state: str
    purge: bool
    removed: dict[str, Count]
    pending: list[ForgetStep]
    waiting: str
    begun_at: Time
    done_at: Time | None
    copies: Copies

    @classmethod
    def of(cls, receipt: forgetting.Receipt) -> Self:
        return projected(
            cls,
            receipt,
            state="pending" if receipt.pending else "done",
            removed={place: count for place, count in receipt.removed.items() if count},
            copies=Copies(
                looked_at=receipt.copies.looked_at,
                still_in=list(receipt.copies.still_in),
                unread=list(receipt.copies.unread),
                gone=list(receipt.copies.gone),
                changed=list(receipt.copies.changed),
            ),
        )


@schema
class Receipts:
    """Receipts, the newest first."""

    receipts: list[Receipt]


@schema
class SelectedRecord:
    """A record that is selected."""

    id: str
    title: str


@schema
class Selected:
    """How many records are selected, the newest of them, and the saved searches that go, too.

    `unread`: what was read at or below the path before, and cannot be read now, with the reason;
    records that came from there are not among those selected.
    """

    count: Count
    records: list[SelectedRecord]
    saved_searches: list[str]
    unread: list[str]


@schema
class Forgotten:
    """How many records were selected, and the receipt."""

    count: Count
    receipt: Receipt


@schema
class DeletedRecord:
    """The ref of the record that was deleted, and what was removed with it."""

    deleted: str
    receipt: Receipt


class ForgetBody(Body):
    """Which records: those of `refs`, or those that pass all of the other fields."""

    refs: list[RefName] = Field(default=[], max_length=10_000, description="Records by their refs")
    query: Text = Field(default="", description="Records with every word of this query")
    source: Stripped = Field(default="", description="Records of this source")
    project: Stripped = Field(default="", description="Records of this project")
    path: Stripped = Field(
        default="",
        description="Records about this file or folder, and what was read from it if it is"
        " absolute; src/* is directly in",
    )
    read_from: Stripped = Field(
        default="",
        description="With path: the same as an absolute path of the worker's machine. What was read"
        " there goes, too: from a mailbox, a folder, a repository",
    )
    before: Start = Field(default=None, description="Records from before this moment")
    expected: int | None = Field(
        default=None, ge=0, description="Refuse if not exactly so many records are selected"
    )
    count_only: bool = Field(default=False, description="Only say which records are selected")


async def forget(call: Call) -> web.StreamResponse:
    """Forget the selected records, or say which they are."""
    body = call.json_body(ForgetBody)
    numbers, unread = await _selected(call, body)
    if body.count_only:
        return json_reply(await _shown(call, numbers, unread))
    if body.expected is not None and body.expected != len(numbers):
        raise Conflict(
            f"{len(numbers)} records are selected by now, not {body.expected}; look again",
            field="expected",
        )
    receipt = await call.runtime.ingest.forgetting.forget(numbers)
    return json_reply(Forgotten(count=len(numbers), receipt=Receipt.of(receipt)))


async def purge(call: Call) -> web.StreamResponse:
    """Clean up after all earlier deletions."""
    receipt = await call.runtime.ingest.forgetting.purge()
    reply = json_reply(Receipt.of(receipt), status=ACCEPTED)
    reply.headers["Location"] = f"/api/forget/{receipt.id}"
    return reply


async def receipts(call: Call) -> web.StreamResponse:
    """The last receipts."""
    stored = await call.runtime.ingest.forgetting.receipts()
    return json_reply(Receipts(receipts=[Receipt.of(each) for each in stored]))


async def receipt(call: Call) -> web.StreamResponse:
    """How far a forgetting is."""
    stored = await call.runtime.ingest.forgetting.receipt(call.request.match_info["id"])
    return json_reply(Receipt.of(stored))


async def _selected(call: Call, body: ForgetBody) -> tuple[list[int], Sequence[str]]:
    """The numbers of the records, the newest first, and what of a path could not be read."""
    place = body.read_from or body.path
    by_filter = (body.query.strip(), body.source, body.project, place, body.before)
    if body.refs:
        if any(by_filter):
            raise Conflict("give refs or filters, not both", field="refs")
        return await _of_refs(call, body.refs), ()
    if not any(by_filter):
        raise MissingField(
            "say which records: refs, query, source, project, path or before", field="refs"
        )
    meant = await call.runtime.store.records.projects_meant(body.project) if body.project else []
    if len(meant) > 1:
        raise InputError(
            f"{body.project!r} are several projects: {', '.join(meant[1:])}; name one, or"
            f" {EXACTLY}{body.project} for what is only called so",
            field="project",
        )
    filters = Filters(
        source=body.source,
        project=body.project,
        created=DateRange(end=None if body.before is None else body.before - 1),
    )
    if body.query.strip():
        asked = SearchRequest(text=body.query, filters=filters, scratchpad=True, asked_at=call.now)
        pipeline = call.runtime.search.pipeline
        filters = await pipeline.selection(asked)
        if filters == await pipeline.filters_of(asked) and body.query.strip() != "*":
            raise InputError(
                "has no word and no field to select by; write some, or leave it out", field="query"
            )
    filters, matching = replace(filters, without=()), call.runtime.store.forgetting.matching
    if not place:
        return await matching(filters, MAX_RECORDS), ()
    paths = [each for each in dict.fromkeys((body.path, body.read_from)) if each]
    folders = [f"{each}/" for each in paths if not each.endswith(("/", "/*"))]
    named = replace(filters, files=(*paths, *folders))
    about = set(await matching(named, MAX_RECORDS))
    runtime = call.runtime
    kept = runtime.ingest.reader.kept
    below = await records_below(place, runtime.store, runtime.redaction, kept)
    wanted = about | below.numbers
    # Also where nothing else narrows it: this is their order.
    return [each for each in await matching(filters, MAX_RECORDS) if each in wanted], below.unread


async def _of_refs(call: Call, refs: list[str]) -> list[int]:
    wanted = [Ref.parse(text) for text in dict.fromkeys(refs)]
    held = await call.runtime.store.records.fetch([ref.number for ref in wanted])
    for ref in wanted:
        if ref.number not in held or held[ref.number].ref != ref:
            raise NotFound(f"there is no record {ref}", field="refs")
    return [ref.number for ref in wanted]


async def _shown(call: Call, numbers: list[int], unread: Sequence[str]) -> Selected:
    held = await call.runtime.store.records.fetch(numbers[:_SHOWN])
    return Selected(
        count=len(numbers),
        records=[
            SelectedRecord(id=str(held[number].ref), title=held[number].title)
            for number in numbers[:_SHOWN]
            if number in held
        ],
        unread=list(unread),
        saved_searches=await call.runtime.store.forgetting.saved_searches_naming(numbers),
    )


def forget_kind(kind: Kind) -> Handler:
    """The handler that deletes the record of ``kind`` with the number in the path."""

    async def forgotten(call: Call) -> web.StreamResponse:
        return await _forgotten(call, RecordId(number_in_path(call.request), kind))

    return forgotten


async def forget_ref(call: Call) -> web.StreamResponse:
    """Delete the record that the id in the path names."""
    return await _forgotten(call, id_in_path(call))


async def _forgotten(call: Call, called: RecordId) -> web.StreamResponse:
    record, _ = await find(call, called)
    receipt = await call.runtime.ingest.forgetting.forget([record.number])
    return json_reply(DeletedRecord(deleted=str(record.ref), receipt=Receipt.of(receipt)))


# fmt: off
ROUTES = (
    Route("POST", "/api/forget", forget, "Forget records, or say which are selected", "records", body=ForgetBody, write=True, response=Selected | Forgotten, errors=(404, 409)),
    Route("GET", "/api/forget", receipts, "List the last receipts of forgetting", "records", response=Receipts, private=True),
    Route("GET", "/api/forget/{id}", receipt, "Show how far a forgetting is", "records", response=Receipt, private=True),
    Route("POST", "/api/purge", purge, "Remove what earlier deletions left in files", "records", write=True, status=202, response=Receipt),
    Route("DELETE", "/api/records/{ref}", forget_ref, "Delete a record", "records", write=True, response=DeletedRecord),
    Route("DELETE", "/api/observation/{number}", forget_kind("observation"), "Delete an observation", "records", write=True, response=DeletedRecord),
    Route("DELETE", "/api/session/{number}", forget_kind("session_summary"), "Delete a session summary", "records", write=True, response=DeletedRecord),
    Route("DELETE", "/api/summary/{number}", forget_kind("session_summary"), "Delete a session summary", "records", write=True, response=DeletedRecord),
    Route("DELETE", "/api/prompt/{number}", forget_kind("user_prompt"), "Delete a prompt", "records", write=True, response=DeletedRecord),
)
