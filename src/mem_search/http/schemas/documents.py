"""Replies about documents. The document of a record that was no file is the record itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from mem_search.model import Passage, Record
from mem_search.model.records import SUMMARY
from mem_search.renderers.projection import From, projected
from mem_search.renderers.record_json import title_of
from mem_search.renderers.schema import Absent, Count, Time, schema
from mem_search.text.outline import place_in

PathState = Literal["stored", "waiting", "left", "failed", "deleted", "read", "unseen"]


@schema
class WhyPath:
    """What became of a path. `read`: a place with several items, which the ledger lists."""

    path: str
    state: PathState
    sentence: str
    source: Absent[str] = None
    record: Absent[str] = None
    reason: Absent[str] = None
    at: Absent[Time] = None


@schema
class Document:
    """A document without its text. `length` counts characters, `source_uri` is a path or a URL."""

    id: Annotated[str, From("ref", str)]
    number: int
    kind: str
    source_type: str
    source: str
    source_id: str
    source_uri: str
    title: str
    created_at: Time
    updated_at: Time
    project: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    length: Count
    passages: Count

    @classmethod
    def of(cls, record: Record, passages: int) -> Self:
        metadata = dict(record.metadata)
        return projected(
            cls,
            record,
            source_type=str(metadata.get("source_type") or record.kind),
            source_uri=record.url or str(metadata.get("path") or ""),
            title=title_of(record),
            metadata=metadata,
            length=len(record.text),
            passages=passages,
        )


@schema
class DocumentPassage:
    """A passage. `type` is `title` or `summary` at index 0, else `content`, `code` or `ocr`.

    It is `text[start:end]` of the document, but for a title or summary from elsewhere. `heading` is
    the path of headings above it; `above` are these and the head of its table, as they are embedded
    before it. `model` made its vector; a title is embedded with every passage.
    """

    index: Count
    type: Literal["title", "summary", "content", "code", "ocr"]
    text: str
    start: Absent[int] = None
    end: Absent[int] = None
    page: Absent[int] = None
    heading: Absent[str] = None
    above: Absent[str] = None
    model: Absent[str] = None

    @classmethod
    def of_title(cls, record: Record, model: str | None) -> Self:
        return cls(index=0, type="title", text=title_of(record), model=model)

    @classmethod
    def of(cls, passage: Passage, record: Record, model: str | None) -> Self:
        if passage.ordinal == SUMMARY and passage.above:
            return cls(index=0, type="summary", text=passage.above, model=model)
        _, heading = place_in(record.text, (passage.start, None, passage.above), passage.start)
        return cls(
            index=passage.ordinal + 1,
            type=passage.field,  # type: ignore[arg-type]  # the store has these alone
            text=record.text[passage.start : passage.end],
            start=passage.start,
            end=passage.end,
            page=passage.page,
            heading=heading or None,
            above=passage.above or None,
            model=model,
        )


@schema
class DocumentPassages:
    """Some passages of a document; `total` counts all, with title and summary."""

    document: str
    total: Count
    passages: list[DocumentPassage]
