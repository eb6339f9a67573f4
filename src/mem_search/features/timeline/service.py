"""Timelines: the anchor that a caller names, the records around it, and their listing. An anchor is
a record or a moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import groupby

from mem_search.errors import InputError
from mem_search.model import Filters, Record
from mem_search.patterns import pattern
from mem_search.renderers.identity import names_a_day, title_of
from mem_search.renderers.local_dates import local_clock, local_date
from mem_search.renderers.record_line import DisplayOptions, marks, name_of
from mem_search.renderers.terminal import Screen, grouped, line_of
from mem_search.search.opening import open_record
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.store import SearchStore
from mem_search.text import dates
from mem_search.text.record_ids import RECORD_ID, RecordId

_DATE = pattern(r"\d{4}-\d{2}-\d{2}(?:[T ]|\Z)")
_NOTHING = "No records in this stretch of time"


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
    """The anchor that ``text`` names: any id of a record, or a date.

    Raises NotFound or InputError naming ``anchor``.
    """
    try:
        called = RecordId.parse(text)
    except InputError:
        called = None
    if called is not None:
        return Anchor.of((await open_record(store, called, "anchor"))[0])
    try:
        return Anchor(dates.parse_bound(text, end=False, now=now, tz=tz, field="anchor"))
    except InputError:
        raise InputError(
            f"{text[:60]!r} is not an anchor; write a number, a ref such as observation:12,"
            " S12, P12, or a date such as 2025-10-03T17:45",
            field="anchor",
        ) from None


def is_anchor(text: str, *, now: datetime, tz: tzinfo) -> bool:
    """Whether ``text`` names a record or a date, and is no question."""
    if _DATE.match(text) or RECORD_ID.fullmatch(text):
        return True
    try:
        dates.parse_bound(text, end=False, now=now, tz=tz, field="anchor")
    except InputError:
        return False
    return True


async def records_around(
    store: SearchStore, anchor: Anchor, before: int, after: int, filters: Filters
) -> Timeline:
    """The anchor, and at most so many records on both sides that pass the filters."""
    return await store.read(_records_around, anchor, before, after, filters)


def _records_around(
    snapshot: SearchSnapshot, anchor: Anchor, before: int, after: int, filters: Filters
) -> Timeline:
    earlier, later = snapshot.around(anchor.place, before, after, filters)
    records = snapshot.records([*earlier, *later])
    middle = [anchor.record] if anchor.record else []
    seen = (*(records[n] for n in earlier), *middle, *(records[n] for n in later))
    return Timeline(seen, len(earlier))


def render_timeline(
    records: Sequence[Record], anchor: Record | None, display: DisplayOptions
) -> str:
    """A heading for each day and a line for each record, the anchor marked by ``<- anchor``.

    The heading has the day, so a line has only the time: ``(5:45 PM)``.
    """
    blocks = [f"Timeline around {name_of(anchor, display)}"] if anchor else ["Timeline"]
    for day, of_day in groupby(records, key=lambda record: display.day(record.created_at)):
        blocks.append(
            f"### {day}\n" + "\n".join(_line(record, anchor, display) for record in of_day)
        )
    return "\n\n".join(blocks if records else [*blocks, _NOTHING])


def timeline_on(
    screen: Screen, records: Sequence[Record], anchor: Record | None, display: DisplayOptions
) -> str:
    """The same for a person's terminal."""

    def day(record: Record) -> str:
        return local_date(record.created_at, display.tz, screen.locale)

    groups = [
        (name, [_line_on(screen, record, anchor, display) for record in of_day])
        for name, of_day in groupby(records, key=day)
    ]
    top = "Around " + " › ".join(filter(None, title_of(anchor, display))) if anchor else "Timeline"
    return grouped(top, groups or [(_NOTHING, [])], screen)


def _line_on(screen: Screen, record: Record, anchor: Record | None, display: DisplayOptions) -> str:
    time = local_clock(record.created_at, display.tz, screen.locale)
    note = "<- this" if anchor and record.ref == anchor.ref else ""
    return line_of(record, display, screen, note, "" if names_a_day(record) else time)


def _line(record: Record, anchor: Record | None, display: DisplayOptions) -> str:
    marked = marks(record)
    mark = "  <- anchor" if anchor and record.ref == anchor.ref else ""
    return f"{name_of(record, display, marked)} ({display.time(record.created_at)}){marked}{mark}"
