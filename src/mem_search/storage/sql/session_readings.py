"""What records keep of the readings that made them, in the transaction that stores a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mem_search.model.ingest import PreparedDraft
from mem_search.model.records import READING, SESSIONS
from mem_search.storage.rules import readings
from mem_search.storage.rules.readings import ReadBefore
from mem_search.storage.sql.connection import Connection, Json, from_json

KNOWN: Final = (
    "source_id, id, kind, session, created_at, updated_at, data ->> 'agent',"
    f" data ->> '{READING}', data ->> '{SESSIONS}'"
)
"""The columns of a ``ReadBefore``."""


def read_before(
    connection: Connection, items: Sequence[PreparedDraft]
) -> dict[tuple[str, str], ReadBefore]:
    """What ``readings.settled`` asks about ``items``, read by one statement."""
    drafts = [item.draft for item in items]
    names = list(dict.fromkeys(readings.ids_of(drafts)))
    if not names:
        return {}
    rows = connection.execute(
        f"select source, {KNOWN} from records"
        " where source = any(%s::text[]) and source_id = any(%s::text[])",
        (sorted({draft.source for draft in drafts}), names),
    )
    return {(source, row[0]): ReadBefore.of(row) for source, *row in rows}


def note(connection: Connection, noted: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
    """Note on records how much of their sessions was read, and which sessions share them."""
    for (source, source_id), kept in noted.items():
        row = connection.maybe(
            "select id, data from records where source = %s and source_id = %s for update",
            (source, source_id),
        )
        if row is not None and (data := {**from_json(row[1]), **kept}) != from_json(row[1]):
            connection.execute("update records set data = %s where id = %s", (Json(data), row[0]))


def told_before(connection: Connection, until: Mapping[tuple[str, str], int]) -> list[int]:
    """The records that hooks told of a session, and that its transcript has by now."""
    found: list[int] = []
    for (source, session), at in until.items():
        rows = connection.execute(
            f"select {KNOWN} from records where source = %s and session = %s and updated_at <= %s",
            (source, session, at),
        )
        found += [known.number for known in map(ReadBefore.of, rows) if known.is_told]
    return found
