"""Edges between records: written with their record, resolved when the other end exists.

An edge points at a name (``key``). ``to_id`` is the record with this name, null while there is
none. ``names`` has the names of a record; its ref follows from its row. The transaction that stores
a record resolves both directions: its own edges, and waiting edges that point at its names.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from mem_search.model import Link
from mem_search.model.ingest import NewEdge
from mem_search.storage.rules.names import shortened

_BEST: Final = """
    select n.record_id from names n join records r on r.id = n.record_id
    join records f on f.id = edges.from_id
    where {named} and n.record_id != edges.from_id
    order by r.source = f.source desc, r.project = f.project desc, r.id limit 1
"""
_RESOLVE: Final = (
    # A shortened commit hash names every commit that begins with it.
    ("key >= 'commit:' and key < 'commit;'", _BEST.format(
        named="n.name >= edges.key and n.name < edges.key || 'g'")),
    ("key >= 'ref:' and key < 'ref;'",
        "select r.id from records r where r.id != edges.from_id and r.id ="
        " cast(substr(edges.key, instr(substr(edges.key, 5), ':') + 5) as integer)"
        " and 'ref:' || r.kind || ':' || r.id = edges.key"),
    ("key != '' and not (key >= 'commit:' and key < 'commit;')"
        " and not (key >= 'ref:' and key < 'ref;')", _BEST.format(named="n.name = edges.key")),
)  # fmt: skip


def write(
    connection: sqlite3.Connection,
    number: int,
    edges: Iterable[NewEdge],
    names: Iterable[str],
    created_at: int,
) -> None:
    """Write the edges and names of a record that has none yet (``clear`` removes old ones)."""
    for e in edges:
        done = connection.execute(
            "insert or ignore into edges(from_id, target, relation, key, origin, strength,"
            " created_at) values(?, ?, ?, ?, ?, ?, ?)",
            (number, e.target, e.relation, e.key, e.origin, e.strength, created_at),
        )
        if e.cites and done.rowcount:
            connection.executemany(
                "insert or ignore into cites(edge_id, start, end, context_start, context_end, form)"
                " values(?, ?, ?, ?, ?, ?)",
                [
                    (done.lastrowid, c.start, c.end, c.context_start, c.context_end, c.form)
                    for c in e.cites
                ],
            )
    connection.executemany(
        "insert or ignore into names(name, record_id) values(?, ?)",
        [(name, number) for name in names],
    )


def links(connection: sqlite3.Connection, number: int) -> tuple[Link, ...]:
    """The links that the record came with, in a fixed order."""
    return tuple(
        Link(target, relation)
        for target, relation in connection.execute(
            "select target, relation from edges where from_id = ? and origin = 'given'"
            " order by target, relation",
            (number,),
        )
    )


def clear(connection: sqlite3.Connection, number: int) -> None:
    """Remove the edges and names of a record before it is written again; edges to it wait."""
    connection.execute("delete from edges where from_id = ?", (number,))
    connection.execute("delete from names where record_id = ?", (number,))
    connection.execute("update edges set to_id = null where to_id = ?", (number,))


def resolve(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Resolve the edges from these records, and waiting edges that point at them."""
    if not numbers:
        return
    waiting = json.dumps(_waiting(connection, json.dumps(list(numbers))))
    for condition, target in _RESOLVE:
        connection.execute(
            f"update edges set to_id = ({target})"
            f" where id in (select value from json_each(?)) and {condition}",
            (waiting,),
        )


def _waiting(connection: sqlite3.Connection, numbers: str) -> list[int]:
    """Unresolved edges from these records, and those whose key is a name of one of them."""
    names = [
        name
        for (name,) in connection.execute(
            "select name from names where record_id in (select value from json_each(?1))"
            " union all select 'ref:' || kind || ':' || id from records"
            " where id in (select value from json_each(?1))",
            (numbers,),
        )
    ]
    # The plus keeps SQLite from the index of ``to_id``: edges that wait may be millions.
    rows = connection.execute(
        "select id from edges where +to_id is null"
        " and from_id in (select value from json_each(?1))"
        " union select id from edges where +to_id is null"
        " and key in (select value from json_each(?2))",
        (numbers, json.dumps(names + shortened(names))),
    )
    return [number for (number,) in rows]
