"""Replies about forgetting: what was selected, and receipts."""

from __future__ import annotations

from typing import Self

from mem_search.model import forgetting
from mem_search.model.forgetting import ForgetStep
from mem_search.renderers.projection import projected
from mem_search.renderers.schema import Count, Time, schema


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
