"""The rows of passages: written with their records, kept where their text stays the same, and read:
where they stand in the text, their neighbours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from mem_search.model.ingest import PreparedDraft
from mem_search.model.rankings import Numbers, PassageContext, PassageSpan
from mem_search.storage.rules.checksums import BYTES, is_whole
from mem_search.storage.sql.connection import Connection, from_json


class PassageKey(NamedTuple):
    """The key of a passage: equal keys of one record are the same passage."""

    record: int
    digest: bytes
    kind: str
    field: str


Kept = dict[PassageKey, list[int]]
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
        kept.setdefault(PassageKey(*same), []).append(passage)
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
            if reusable := kept.get(PassageKey(number, digest, draft.kind, passage.field)):
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


def spans(connection: Connection, passages: Sequence[int]) -> dict[int, PassageSpan]:
    """See ``SearchSnapshot``. A summary is shown by the first passage: its words may stand nowhere
    in the text.
    """
    rows = connection.execute(
        "select p.id, s.span_start, s.span_end, s.page, s.above from passages p"
        " join passages s on s.record_id = p.record_id and s.ordinal = greatest(p.ordinal, 0)"
        " where p.id = any(%s::bigint[])",
        (list(passages),),
    )
    return {passage: PassageSpan(*span) for passage, *span in rows}


def spans_of_records(
    connection: Connection, numbers: Sequence[int]
) -> dict[int, list[PassageSpan]]:
    """See ``SearchSnapshot``."""
    by_record: dict[int, list[PassageSpan]] = {}
    for record, *span in _passages_of(connection, numbers, "span_start, span_end, page, above"):
        by_record.setdefault(record, []).append(PassageSpan(*span))
    return by_record


def contexts(
    connection: Connection, passages: Mapping[int, int | None], reach: int
) -> dict[int, PassageContext]:
    """See ``SearchSnapshot.passage_contexts``."""
    by_record: dict[int, list[tuple[int, int, int]]] = {}
    for record, *span in _passages_of(connection, passages, "id, span_start, span_end"):
        by_record.setdefault(record, []).append(tuple(span))
    return {
        record: _with_neighbours(rows, passages[record], reach)
        for record, rows in by_record.items()
    }


def owned(connection: Connection, records: Numbers) -> tuple[Numbers, Numbers]:
    """The passages of ``records``, after the record of each."""
    # One row, because Python waits for its lock at each row of SQLite.
    owners, passages = connection.one(
        "select jsonb_agg(record_id), jsonb_agg(id) from passages"
        " where record_id = any(%s::bigint[])",
        (records.tolist(),),
    )
    return np.array(from_json(owners) or (), np.int64), np.array(
        from_json(passages) or (), np.int64
    )


def texts(connection: Connection, passages: Numbers) -> Iterable[tuple[int, str]]:
    """Each of ``passages`` that is no summary, with all its words as they were written."""
    rows = connection.execute(
        "select p.id, r.title || chr(10)"
        " || substr(r.body, p.span_start + 1, p.span_end - p.span_start)"
        " || chr(10) || p.parts || chr(10) || p.people from passages p"
        " join records r on r.id = p.record_id where p.id = any(%s::bigint[])"
        " and p.ordinal >= 0",
        (passages.tolist(),),
    )
    return ((passage, text) for passage, text in rows)


def sparse_vectors(connection: Connection, passages: Numbers) -> dict[int, bytes]:
    """See ``SearchSnapshot``. A damaged one is as good as none: ``mend`` drops it, and it is made
    again.
    """
    rows = connection.execute(
        "select passage_id, vector from sparse_vectors where passage_id = any(%s::bigint[])",
        (passages.tolist(),),
    )
    return {
        passage: stored[:-BYTES]
        for passage, stored in rows
        if is_whole(stored, passage, len(stored) - BYTES)
    }


def _passages_of(
    connection: Connection, numbers: Collection[int], columns: str
) -> Iterator[tuple[Any, ...]]:
    yield from connection.execute(
        f"select record_id, {columns} from passages where ordinal >= 0"
        " and record_id = any(%s::bigint[]) order by record_id, ordinal",
        (list(numbers),),
    )


def _with_neighbours(
    rows: list[tuple[int, int, int]], passage: int | None, reach: int
) -> PassageContext:
    """The ``passage`` among the (passage, start, end) of its record, or else the first one."""
    place = next((at for at, row in enumerate(rows) if row[0] == passage), 0)
    near = rows[max(0, place - reach) : place + reach + 1]
    return PassageContext(
        ordinal=place,
        count=len(rows),
        start=min(start for _, start, _ in near),
        end=max(end for _, _, end in near),
    )
