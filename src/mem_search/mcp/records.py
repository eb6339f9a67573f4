"""Whole records: the tools ``fetch`` and ``get_records``, and the resources
``mem://observation/42``, which a person attaches to a conversation.

A ``Document`` has the shape that OpenAI's deep research expects of ``fetch``. It is a part of what
``POST /api/v1/mcp/fetch`` returns, so that the words are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BeforeValidator, Field

from mem_search.errors import InputError, NotFound
from mem_search.mcp.tool import BUDGET, Arguments, Budget, Tool, ToolContext, split
from mem_search.model import Citation, Filters, Record
from mem_search.patterns import pattern
from mem_search.records.origin import flags_of, is_given, origin_of, trust_of
from mem_search.renderers import harmless, render_record
from mem_search.renderers.safe_text import fenced, fenced_title, marked
from mem_search.renderers.schema import Absent, schema
from mem_search.renderers.token_budget import fit_texts
from mem_search.renderers.universal import id_of, url_of
from mem_search.search.citations import citation
from mem_search.search.opening import open_record, open_records
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text import dates
from mem_search.text.record_ids import RecordId


@schema
class Document:
    """A whole record; passages that other tools cite are spans of its ``text``.

    A text that reads like instructions is fenced, and ``metadata`` says by which rules. Such a
    value of ``metadata`` begins with a mark.
    """

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]

    @classmethod
    def of(cls, record: Record, context: ToolContext) -> Self:
        cited, flagged = citation(record), flags_of(record.metadata)
        return cls(
            id=id_of(record),
            title=fenced_title(cited.source_title) if flagged else cited.source_title,
            text=fenced(record.text) if flagged else record.text,
            url=url_of(record, context.base),
            metadata=_metadata(record, cited, context),
        )


def _metadata(record: Record, citation: Citation, context: ToolContext) -> dict[str, str]:
    """What a citation needs, and the fields of the record's kind that its text does not show."""
    published = citation.published_at
    cited = {
        "author": citation.author,
        "published_date": citation.published_month if published is None else dates.iso(published),
        "folder": citation.folder,
        "domain": citation.domain,
    }
    own = {
        label.lower().replace(" ", "_"): text
        for label, text in context.display.kinds(record.kind).detail(record)
    }
    common = {
        "kind": record.kind,
        "created_at": dates.iso(record.created_at),
        "updated_at": dates.iso(record.updated_at),
        "project": record.project,
        "session": record.session,
        "source": record.source,
        "tags": ", ".join(record.tags),
        "origin": origin_of(record),
        "trust": trust_of(record),
    }
    every = {name: text for name, text in {**own, **cited, **common}.items() if text}
    if flags_of(record.metadata):
        return {name: marked(text) for name, text in every.items()}
    return every


class FetchArguments(Arguments):
    """The only argument of the contract."""

    id: Annotated[str, Field(max_length=100, description="Such as local:observation:42 or #42")]


async def fetch(context: ToolContext, arguments: FetchArguments) -> Document:
    """The record with its whole canonical text."""
    called = RecordId.parse(arguments.id, field="id")
    record, _ = await open_record(context.runtime.search.store, called, "id")
    context.opened(record)
    return Document.of(record, context)


FETCH = Tool(
    name="fetch",
    title="Open a record",
    description="The whole text of one record by an id from search, with where it comes from.",
    arguments=FetchArguments,
    reply=Document,
    handler=fetch,
    structured=True,
)


MAX_RECORDS = 50


class GetRecordsArguments(Arguments):
    """The ids of the records, and the token budget of the reply."""

    ids: Annotated[
        tuple[Annotated[str, Field(max_length=100)], ...],
        Field(
            min_length=1, max_length=MAX_RECORDS, description="Such as local:observation:42 or #42"
        ),
        BeforeValidator(split),
    ]
    max_tokens: Budget = BUDGET


@schema
class Documents:
    """Records in the requested order, and the ids of those that are missing or not whole."""

    records: list[Document]
    missing: list[str]
    cut: list[str]
    left_out: list[str]
    note: Absent[str] = None


async def get_records(context: ToolContext, arguments: GetRecordsArguments) -> Documents:
    """The records in the requested order; long ones may be cut, the last ones left out."""
    ids = [RecordId.parse(text, field="ids") for text in arguments.ids]
    opened, missing = await open_records(context.runtime.search.store, ids)
    documents = [Document.of(record, context) for record, _ in opened]
    fitted = fit_texts(documents, "text", arguments.max_tokens)
    context.opened(*(record for record, _ in opened[: len(fitted.items)]))
    reply = Documents(
        records=fitted.items,
        missing=[f"local:{each}" if each.kind else str(each) for each in missing],
        cut=[documents[place].id for place in fitted.cut],
        left_out=[document.id for document in documents[len(fitted.items) :]],
    )
    if reply.cut or reply.left_out:
        reply.note = (
            f"cut to fit max_tokens={arguments.max_tokens};"
            " ask for fewer ids or more tokens, or fetch one whole"
        )
    return reply


GET_RECORDS = Tool(
    name="get_records",
    title="Open several records",
    description="Several records by their ids, cut to max_tokens. Open only what titles justify.",
    arguments=GetRecordsArguments,
    reply=Documents,
    handler=get_records,
)


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


async def newest_resources(context: ToolContext) -> list[Resource]:
    """The newest session summaries that a client may list without asking for one."""
    sessions = await context.runtime.search.store.read(_newest_sessions)
    return [
        Resource(
            uri_of(record),
            context.display.kinds(record.kind).title(record),
            " · ".join(
                filter(None, (record.project, context.display.full_date(record.created_at)))
            ),
        )
        for record in map(harmless, filter(is_given, sessions))
    ]


async def read_resource(context: ToolContext, uri: str) -> str:
    """The record as Markdown. Raises NotFound for whatever is no record of ours."""
    match = _URI.fullmatch(uri)
    try:
        called = RecordId.parse(f"{match[1]}:{match[2]}" if match else uri)
        record, links = await open_record(context.runtime.search.store, called, "uri")
        context.opened(record)
    except InputError:  # no ref, or of a kind that is not installed
        raise NotFound(f"{uri[:200]!r} is not a resource; write {TEMPLATE}", field="uri") from None
    return render_record(record, context.display, links)


def _newest_sessions(snapshot: SearchSnapshot) -> list[Record]:
    filters = Filters(kinds=("session_summary",))
    numbers = snapshot.browse(filters, "date_desc", LISTED, 0)
    records = snapshot.records(numbers)
    return [records[number] for number in numbers]
