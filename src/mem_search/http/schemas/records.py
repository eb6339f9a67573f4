"""Replies of records that are opened or listed."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field

from mem_search.http.schemas.common import TextReply
from mem_search.model import Record
from mem_search.records.base import people
from mem_search.renderers.record_json import WholeRecord, title_of
from mem_search.renderers.schema import Absent, Count, Time, schema


@schema
class RecordText(TextReply):
    """A record as text."""

    ref: str


@schema
class ThreadMessage:
    """A message of the thread of a mail."""

    ref: str
    title: str
    sender: str
    created_at: Time

    @classmethod
    def of(cls, record: Record) -> Self:
        sender = ", ".join(people(record.metadata.get("from")))
        return cls(
            ref=str(record.ref), title=title_of(record), sender=sender, created_at=record.created_at
        )


@schema
class OpenedRecord(WholeRecord):
    """A record that is opened alone. A mail has its `thread`, oldest message first and with itself,
    if others are in it; with `max_tokens` only where it fits.
    """

    thread: Absent[list[ThreadMessage]] = None


@schema
class Records:
    """The records with these refs. `left_out` are refs that do not fit into `max_tokens`."""

    records: list[WholeRecord]
    missing: list[str]
    left_out: list[str]
    tokens_used: Count


@schema
class RecordList:
    """One page of records, newest first. `note` says how to go on when it was cut."""

    items: list[WholeRecord]
    has_more: Annotated[bool, Field(serialization_alias="hasMore")]
    offset: Count
    limit: Count
    total: Count
    tokens_used: Count
    note: Absent[str] = None
