"""Whose a source id is: under which one a draft is stored, and who may change what is stored.

A draft is stored under its own, unless a record of another kind has it.

Whoever writes an exchange file may number each kind from one. Without this, prompt 5 would take
the place of observation 5, and nobody would be told. Storing itself is in ``records``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from mem_search.storage.sqlite.records import Prepared


def settle(connection: sqlite3.Connection, items: Sequence[Prepared]) -> list[Prepared]:
    """``items`` under ids that no record of another kind has: ``5``, else ``5#user_prompt``.

    Whoever had the id first keeps it, so reading the same again settles in the same way.
    """
    owners: dict[tuple[str, str], str] = {}
    return [_settled(connection, item, owners) for item in items]


def given_before(
    connection: sqlite3.Connection, items: Sequence[Prepared], others: frozenset[str]
) -> list[bool]:
    """For each item whether its record is of one of the projects ``others``, and not of its own."""
    if not others:
        return [False] * len(items)
    return [
        (project := _project(connection, item)) in others and project != item.draft.project
        for item in items
    ]


def _project(connection: sqlite3.Connection, item: Prepared) -> str:
    """The project of the record that the item would change; empty for none."""
    row = connection.execute(
        "select project from records where source = ? and source_id = ?",
        (item.draft.source, item.draft.source_id),
    ).fetchone()
    return str(row[0]) if row else ""


def _settled(
    connection: sqlite3.Connection, item: Prepared, owners: dict[tuple[str, str], str]
) -> Prepared:
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
