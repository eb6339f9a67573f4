"""The rows of passages: written with their records, kept where their text stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mem_search.model.ingest import PreparedDraft
from mem_search.storage.sql.connection import Connection


class Same(NamedTuple):
    """The key of a passage: equal keys of one record are the same passage."""

    record: int
    digest: bytes
    kind: str
    field: str


Kept = dict[Same, list[int]]
"""Passages that are ready to take other places."""


class Text(NamedTuple):
    """The words of a passage, column by column of the index (``bm25.COLUMNS``)."""

    passage: int
    title: str
    text: str
    parts: str
    people: str


_COLUMNS: Final = (
    "ordinal integer", "kind text", "field text", "span_start integer", "span_end integer",
    "page integer", "content_hash bytea", "parts text", "people text", "above text",
    "record_id bigint", "id bigint",
)  # fmt: skip


def take_out(connection: Connection, records: Sequence[int]) -> Kept:
    """The passages of ``records``, which are ready to take other places.

    What is known of a passage by its number must never change, so an id is only used again for the
    same kind and field.
    """
    kept: Kept = {}
    for passage, *same in connection.execute(
        "select id, record_id, content_hash, kind, field from passages"
        " where record_id = any(%s::bigint[]) order by record_id, ordinal",
        (list(records),),
    ):
        kept.setdefault(Same(*same), []).append(passage)
    # Ordinals are moved first, so that kept passages can take their new ones.
    connection.execute(
        "update passages set ordinal = -3 - ordinal where record_id = any(%s::bigint[])",
        (list(records),),
    )
    return kept


def write(
    connection: Connection, items: Sequence[tuple[int, PreparedDraft]], kept: Kept, last: int
) -> tuple[int, list[Text]]:
    """Write the passages of records; one whose hash is known keeps its id, and so its vector.

    New ones are numbered after ``last``. Returns the last number, and the passages for the index of
    words, which has no summaries: their words are those of the text, or not the document's.
    """
    texts: list[Text] = []
    again: list[tuple[Any, ...]] = []
    new: list[tuple[Any, ...]] = []
    for number, item in items:
        draft = item.draft
        for passage, parts, digest in zip(item.passages, item.parts, item.hashes, strict=True):
            people = item.people if passage.ordinal == 0 else ""
            values = (
                passage.ordinal, draft.kind, passage.field, passage.start, passage.end,
                passage.page, digest, parts, people, passage.above, number,
            )  # fmt: skip
            if reusable := kept.get(Same(number, digest, draft.kind, passage.field)):
                place = reusable.pop(0)
                again.append((*values, place))
            else:
                last += 1
                place = last
                new.append((*values, place))
            if passage.ordinal >= 0:
                span = draft.text[passage.start : passage.end]
                texts.append(Text(place, draft.title, span, parts, people))
    gone = [passage for passages in kept.values() for passage in passages]
    if gone:
        connection.execute("delete from passages where id = any(%s::bigint[])", (gone,))
        drop_work(connection, gone)
    names = ", ".join(column.split()[0] for column in _COLUMNS[:-1])
    marks = ", ".join(["%s"] * (len(_COLUMNS) - 1))
    connection.many(f"update passages set ({names}) = ({marks}) where id = %s", again)
    connection.insert("passages", _COLUMNS, new)
    connection.insert(
        "outbox", ("passage_id bigint", "step text"), [(row[-1], "embed") for row in new]
    )
    return last, texts


def drop_work(connection: Connection, passages: Sequence[int]) -> None:
    """Delete the vectors of passages that are gone, and queue their deletion from the index."""
    if not passages:
        return
    # At once, and not when the index has acknowledged it: the index may be down for days.
    connection.execute(
        "delete from vectors where entry_id = any(%s::bigint[])",
        ([entry for passage in passages for entry in (2 * passage, 2 * passage + 1)],),
    )
    connection.execute(
        "insert into outbox(passage_id, step) select g.id, 'delete'"
        " from unnest(%s::bigint[]) g(id) where true"
        " on conflict(owner, passage_id) do update set step = 'delete', worker = null",
        (list(passages),),
    )
