"""The identity of a draft: its source id in the store, and where its record was first read.

The source id is the draft's own, unless a record of another kind has it. An exchange file may
number each kind from one; without this rule, prompt 5 would silently replace observation 5.
``records`` stores the drafts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from mem_search.model import Draft
from mem_search.model.ingest import PreparedDraft


def settle(connection: sqlite3.Connection, items: Sequence[PreparedDraft]) -> list[PreparedDraft]:
    """``items`` with ids that no record of another kind has: ``5``, else ``5#user_prompt``.

    The first record keeps the id, so a second reading gives the same ids.
    """
    owners: dict[tuple[str, str], str] = {}
    return [_settled(connection, item, owners) for item in items]


def first_read(
    connection: sqlite3.Connection, drafts: Sequence[Draft]
) -> dict[tuple[str, str], tuple[str, str]]:
    """(source, source id) → the project and branch of the stored record of a draft."""
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
