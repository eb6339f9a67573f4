"""Replies of records that are opened, listed or forgotten."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mem_search.http.schemas.common import TextReply
from mem_search.http.schemas.forgetting import Receipt
from mem_search.renderers.schema import Absent, Count, WholeRecord, schema


@schema
class RecordText(TextReply):
    """A record as text."""

    ref: str


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


@schema
class DeletedRecord:
    """The ref of the record that was deleted, and what was removed with it."""

    deleted: str
    receipt: Receipt
