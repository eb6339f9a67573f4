"""Replies about forgetting: what was selected, and receipts."""

from __future__ import annotations

from typing import Self

from mem_search.model import forgetting
from mem_search.model.forgetting import ForgetStep
from mem_search.renderers.schema import Count, Time, schema


@schema
class Receipt:
    """What was removed, by place, and which steps are pending.

    `state` is `done` when no file of the home holds what was forgotten any more. `waiting` says
    why a pending step does not go on; it is tried again.
    """

    id: str
    state: str
    purge: bool
    removed: dict[str, Count]
    pending: list[ForgetStep]
    waiting: str
    begun_at: Time
    done_at: Time | None

    @classmethod
    def of(cls, receipt: forgetting.Receipt) -> Self:
        return cls(
            id=receipt.id,
            state="pending" if receipt.pending else "done",
            purge=receipt.purge,
            removed={place: count for place, count in receipt.removed.items() if count},
            pending=list(receipt.pending),
            waiting=receipt.waiting,
            begun_at=receipt.begun_at,
            done_at=receipt.done_at,
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
    """How many records are selected, and the newest of them."""

    count: Count
    records: list[SelectedRecord]


@schema
class Forgotten:
    """How many records were selected, and the receipt."""

    count: Count
    receipt: Receipt
