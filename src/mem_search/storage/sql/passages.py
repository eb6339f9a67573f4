"""Passages as results show them: where they stand in the text of their record, their neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mem_search.model.rankings import PassageContext, PassageSpan
from mem_search.storage.rules.passage_columns import with_neighbours
from mem_search.storage.sql.connection import Connection


def spans(connection: Connection, passages: Sequence[int]) -> dict[int, PassageSpan]:
    """See ``SearchSnapshot``."""
    # A summary is shown by the first passage: its words may stand nowhere in the text.
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
    found: dict[int, list[PassageSpan]] = {}
    for record, *span in connection.execute(
        "select record_id, span_start, span_end, page, above from passages where ordinal >= 0"
        " and record_id = any(%s::bigint[]) order by record_id, ordinal",
        (list(numbers),),
    ):
        found.setdefault(record, []).append(PassageSpan(*span))
    return found


def contexts(
    connection: Connection, passages: Mapping[int, int | None], reach: int
) -> dict[int, PassageContext]:
    """See ``SearchSnapshot.passage_contexts``."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    for record, passage, start, end in connection.execute(
        "select record_id, id, span_start, span_end from passages where ordinal >= 0"
        " and record_id = any(%s::bigint[]) order by record_id, ordinal",
        (list(passages),),
    ):
        found.setdefault(record, []).append((passage, start, end))
    return {
        record: with_neighbours(rows, passages[record], reach) for record, rows in found.items()
    }
