"""Timelines: the anchor that a caller names, and the records around it. An anchor is a record or a
moment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

from mem_search.errors import InputError, NotFound
from mem_search.model import Filters, Kind, Record, Ref
from mem_search.model.records import RecordWithLinks
from mem_search.records.registry import installed_kinds
from mem_search.storage.ports.search import SearchSnapshot, SearchStore
from mem_search.text import dates


async def open_record(store: SearchStore, ref: Ref, field: str = "ref") -> RecordWithLinks:
    """The record of ``ref`` with its links.

    Raises NotFound naming ``field``, or InputError for an unknown kind.
    """
    found = await store.read(lambda snapshot: snapshot.records_with_links([ref.number]))
    kinds = installed_kinds()
    if not found or found[0][0].kind != ref.kind:
        kinds.check(ref, field)
    if not found:
        raise NotFound(f"no record has the number {ref.number}", field=field)
    record, links = found[0]
    if record.kind != ref.kind:
        label = kinds.get(record.kind).label
        raise NotFound(
            f"number {ref.number} is no {ref.kind} but a record of the kind {label};"
            f" open {record.ref} (HTTP: /api/records/{record.ref})",
            field=field,
        )
    return record, links


_NUMBER = re.compile(r"#?(?P<kind>[SP]?)(?P<number>[0-9]{1,18})", re.IGNORECASE)
_KINDS: dict[str, Kind] = {"S": "session_summary", "P": "user_prompt"}


@dataclass(frozen=True, slots=True)
class Anchor:
    """A ``record``, or without one the moment ``at`` in milliseconds."""

    at: int
    record: Record | None = None

    @classmethod
    def of(cls, record: Record) -> Anchor:
        return cls(record.created_at, record)

    @property
    def place(self) -> tuple[int, int]:
        """(created_at, number), where it stands among all records."""
        return self.at, self.record.number if self.record else 0

    def __str__(self) -> str:
        return str(self.record.ref) if self.record else dates.iso(self.at)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Records, oldest first; ``place`` is the index of the anchor, or where it would be."""

    records: tuple[Record, ...]
    place: int


async def find_anchor(store: SearchStore, text: str, *, now: datetime, tz: tzinfo) -> Anchor:
    """The anchor that ``text`` names: a number, a ref, S12, P12, or a date.

    Raises NotFound or InputError naming ``anchor``.
    """
    record = await _named(store, text)
    if record is not None:
        return Anchor.of(record)
    try:
        return Anchor(dates.parse_bound(text, end=False, now=now, tz=tz, field="anchor"))
    except InputError:
        raise InputError(
            f"{text[:60]!r} is no anchor; write a number, a ref such as observation:12,"
            " S12, P12, or a date such as 2025-10-03T17:45",
            field="anchor",
        ) from None


async def records_around(
    store: SearchStore, anchor: Anchor, before: int, after: int, filters: Filters
) -> Timeline:
    """The anchor, and at most so many records on both sides that pass the filters."""
    return await store.read(_records_around, anchor, before, after, filters)


def _records_around(
    snapshot: SearchSnapshot, anchor: Anchor, before: int, after: int, filters: Filters
) -> Timeline:
    earlier, later = snapshot.around(anchor.place, before, after, filters)
    found = snapshot.records([*earlier, *later])
    middle = [anchor.record] if anchor.record else []
    seen = (*(found[n] for n in earlier), *middle, *(found[n] for n in later))
    return Timeline(seen, len(earlier))


async def _named(store: SearchStore, text: str) -> Record | None:
    """The record that ``text`` names, None when it may be a date. Raises NotFound."""
    if match := _NUMBER.fullmatch(text):
        number = int(match["number"])
        if kind := _KINDS.get(match["kind"].upper()):
            return (await open_record(store, Ref(kind, number), "anchor"))[0]
        found = await store.read(lambda snapshot: snapshot.records_with_links([number]))
        if not found:
            raise NotFound(f"no record has the number {number}", field="anchor")
        return found[0][0]
    try:
        ref = Ref.parse(text)
    except InputError:
        return None
    return (await open_record(store, ref, "anchor"))[0]
