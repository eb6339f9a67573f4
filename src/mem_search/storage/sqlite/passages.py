"""Passages as results show them: where they stand in the text of their record, their neighbours."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from mem_search.model.rankings import PassageContext, PassageSpan
from mem_search.storage.rules.passage_columns import with_neighbours


def spans(connection: sqlite3.Connection, passages: Sequence[int]) -> dict[int, PassageSpan]:
    """See ``SearchSnapshot``."""
    # A summary is shown by the first passage: its words may stand nowhere in the text.
    rows = connection.execute(
        "select p.id, s.start, s.end, s.page, s.above from passages p"
        " join passages s on s.record_id = p.record_id and s.ordinal = max(p.ordinal, 0)"
        " where p.id in (select value from json_each(?))",
        (json.dumps(list(passages)),),
    )
    return {passage: PassageSpan(*span) for passage, *span in rows}


def spans_of_records(
    connection: sqlite3.Connection, numbers: Sequence[int]
) -> dict[int, list[PassageSpan]]:
    """See ``SearchSnapshot``."""
    found: dict[int, list[PassageSpan]] = {}
    rows = connection.execute(
        "select record_id, start, end, page, above from passages where ordinal >= 0"
        " and record_id in (select value from json_each(?)) order by record_id, ordinal",
        (json.dumps(list(numbers)),),
    )
    for record, *span in rows:
        found.setdefault(record, []).append(PassageSpan(*span))
    return found


def contexts(
    connection: sqlite3.Connection, passages: Mapping[int, int | None], reach: int
) -> dict[int, PassageContext]:
    """See ``SearchSnapshot.passage_contexts``."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    rows = connection.execute(
        "select record_id, id, start, end from passages where ordinal >= 0"
        " and record_id in (select value from json_each(?)) order by record_id, ordinal",
        (json.dumps(list(passages)),),
    )
    for record, passage, start, end in rows:
        found.setdefault(record, []).append((passage, start, end))
    return {record: with_neighbours(own, passages[record], reach) for record, own in found.items()}
