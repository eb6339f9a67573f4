"""The listing of a timeline: records in the order of time, by day, around an anchor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from mem_search.model import Record
from mem_search.renderers.record_line import DisplayOptions, marks, name_of

_NOTHING = "No records in this stretch of time"


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


def _line(record: Record, anchor: Record | None, display: DisplayOptions) -> str:
    marked = marks(record)
    mark = "  <- anchor" if anchor and record.ref == anchor.ref else ""
    return f"{name_of(record, display, marked)} ({display.time(record.created_at)}){marked}{mark}"
