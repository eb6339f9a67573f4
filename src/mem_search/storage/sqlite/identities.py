"""Who a draft is: the source id it is stored under, and what its record was first read as.

The id is its own, unless a record of another kind has it.

Whoever writes an exchange file may number each kind from one. Without this, prompt 5 would take
the place of observation 5, and nobody would be told. Storing itself is in ``records``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from mem_search.model import Draft
from mem_search.model.ingest import PreparedDraft


def settle(connection: sqlite3.Connection, items: Sequence[PreparedDraft]) -> list[PreparedDraft]:
    """``items`` under ids that no record of another kind has: ``5``, else ``5#user_prompt``.

    Whoever had the id first keeps it, so reading the same again settles in the same way.
    """
    owners: dict[tuple[str, str], str] = {}
    return [_settled(connection, item, owners) for item in items]


def first_read(
    connection: sqlite3.Connection, drafts: Sequence[Draft]
) -> dict[tuple[str, str], tuple[str, str]]:
    """(source, source id) → the project and branch that the stored record of a draft has."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for draft in drafts:
        key = (draft.source, draft.source_id)
        row = connection.execute(
            "select project, json_extract(data, '$.branch') from records"
            " where source = ? and source_id = ?",
            key,
        ).fetchone()
        if row is not None:
            found[key] = (row[0], row[1] or "")
    return found


def _settled(
    connection: sqlite3.Connection, item: PreparedDraft, owners: dict[tuple[str, str], str]
) -> PreparedDraft:
    draft = item.draft
    apart = f"{draft.source_id}#{draft.kind}"
    stored = dict(
        connection.execute(
            "select source_id, kind from records where source = ? and source_id in (?, ?)",
            (draft.source, draft.source_id, apart),
        ).fetchall()
    )
    key = (draft.source, draft.source_id)
    owner = stored.get(draft.source_id) or owners.get(key)
    if owner is None and apart not in stored:
        owners[key] = draft.kind
    elif owner != draft.kind:
        return replace(item, draft=replace(draft, source_id=apart))
    return item
