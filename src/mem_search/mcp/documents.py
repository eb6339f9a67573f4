"""A whole record as tools return it: the shape that OpenAI's deep research expects of ``fetch``.

It is a part of what ``POST /api/v1/mcp/fetch`` returns, so that the words are the same.
"""

from __future__ import annotations

from typing import Self

from mem_search.mcp.tool import ToolContext
from mem_search.model import Citation, Record
from mem_search.records.origin import TRUST, flags_of, origin_of
from mem_search.renderers.safe_text import fenced, fenced_title, marked
from mem_search.renderers.schema import schema
from mem_search.renderers.universal import id_of, url_of
from mem_search.search.citations import citation
from mem_search.text import dates


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
        "trust": TRUST[origin_of(record)],
    }
    every = {name: text for name, text in {**own, **cited, **common}.items() if text}
    if flags_of(record.metadata):
        return {name: marked(text) for name, text in every.items()}
    return every
