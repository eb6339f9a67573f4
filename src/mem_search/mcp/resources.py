"""Records as resources: ``mem://observation/42``. What a person attaches to a conversation."""

from __future__ import annotations

from dataclasses import dataclass

from mem_search.errors import InputError, NotFound
from mem_search.mcp.tool import ToolContext
from mem_search.model import Filters, Record
from mem_search.patterns import pattern
from mem_search.records.origin import is_given
from mem_search.renderers import harmless, render_record
from mem_search.search.opening import open_record
from mem_search.storage.ports.search import SearchSnapshot
from mem_search.text.record_ids import RecordId

TEMPLATE = "mem://{kind}/{id}"
MIME_TYPE = "text/markdown"
LISTED = 20
"""Nobody picks one of a hundred thousand from a list: the newest sessions are offered."""

_URI = pattern(r"mem://([a-z_]{1,40})/([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Resource:
    """A record as it is offered for reading."""

    uri: str
    title: str
    description: str


def uri_of(record: Record) -> str:
    """``mem://observation/42``."""
    return f"mem://{record.kind}/{record.number}"


async def newest(context: ToolContext) -> list[Resource]:
    """The newest session summaries that a client may list without asking for one."""
    found = await context.runtime.search.store.read(_newest)
    return [
        Resource(
            uri_of(record),
            context.display.kinds(record.kind).title(record),
            " · ".join(
                filter(None, (record.project, context.display.full_date(record.created_at)))
            ),
        )
        for record in map(harmless, filter(is_given, found))
    ]


async def read(context: ToolContext, uri: str) -> str:
    """The record as Markdown. Raises NotFound for whatever is no record of ours."""
    match = _URI.fullmatch(uri)
    try:
        called = RecordId.parse(f"{match[1]}:{match[2]}" if match else uri)
        record, links = await open_record(context.runtime.search.store, called, "uri")
    except InputError:  # no ref, or of a kind that is not installed
        raise NotFound(f"{uri[:200]!r} is no resource; write {TEMPLATE}", field="uri") from None
    return render_record(record, context.display, links)


def _newest(snapshot: SearchSnapshot) -> list[Record]:
    filters = Filters(kinds=("session_summary",))
    numbers = snapshot.browse(filters, "date_desc", LISTED, 0)
    found = snapshot.records(numbers)
    return [found[number] for number in numbers]
