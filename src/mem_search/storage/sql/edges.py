"""Edges between records: written with their record, resolved when the other end exists.

An edge points at a name (``key``). ``to_id`` is the record with this name, null while there is
none. The transaction that stores a record resolves both directions. Edges that say which record
supersedes which decide ``records.superseded_by`` (``storage.sql.successions``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from mem_search.model.ingest import NewEdge
from mem_search.patterns import pattern
from mem_search.storage.sql.connection import Connection

_COMMIT: Final = "commit:"
_MIN_HASH_CHARS: Final = 7
_MAX_HASH_CHARS: Final = 64
_REF: Final = "ref:"
_NUMBER: Final = pattern("[0-9]{1,18}")


def write(
    connection: Connection,
    records: Sequence[tuple[int, Sequence[NewEdge], Iterable[str], int]],
) -> None:
    """Write the edges and names of records that have none yet (``clear`` removes old ones).

    Each of ``records`` is its number, edges, names, and when it was made.
    """
    rows: dict[tuple[int, str, str, str], tuple[NewEdge, int]] = {}
    for number, edges, _, created in records:
        for e in edges:  # of equal ones the first counts
            rows.setdefault((number, e.target, e.relation, e.origin), (e, created))
    connection.insert(
        "edges",
        (
            "from_id bigint", "target text", "relation text", "origin text", "key text",
            "strength float8", "created_at bigint",
        ),
        [(*same, e.key, e.strength, created) for same, (e, created) in rows.items()],
        "on conflict do nothing",
    )  # fmt: skip
    citing = {same: e.cites for same, (e, _) in rows.items() if e.cites}
    if citing:
        ids = connection.execute(
            "select id, from_id, target, relation, origin from edges where from_id = any(%s)",
            ([number for number, *_ in citing],),
        )
        connection.many(
            "insert into cites(edge_id, place_start, place_end, context_start, context_end, form)"
            " values(%s, %s, %s, %s, %s, %s) on conflict do nothing",
            [
                (edge, c.start, c.end, c.context_start, c.context_end, c.form)
                for edge, *same in ids
                for c in citing.get(tuple(same), ())
            ],
        )
    connection.insert(
        "names",
        ("name text", "record_id bigint"),
        [(name, number) for number, _, names, _ in records for name in names],
        "on conflict do nothing",
    )


def clear(connection: Connection, numbers: Sequence[int]) -> None:
    """Remove the edges and names of records before they are written again; edges to them wait."""
    wanted = (list(numbers),)
    connection.execute("delete from edges where from_id = any(%s)", wanted)
    connection.execute("delete from names where record_id = any(%s)", wanted)
    connection.execute("update edges set to_id = null where to_id = any(%s)", wanted)


def resolve(connection: Connection, numbers: Sequence[int]) -> None:
    """Resolve the edges from these records, and waiting edges that point at them."""
    if not numbers:
        return
    names = connection.column(
        "select name from names where record_id = any(%(numbers)s)"
        " union all select 'ref:' || kind || ':' || id from records where id = any(%(numbers)s)",
        {"numbers": list(numbers)},
    )
    # The plus keeps SQLite from the index of ``to_id``: edges that wait may be millions.
    unresolved = "select id, from_id, key from edges where +to_id is null and key != ''"
    waiting = connection.execute(
        f"{unresolved} and from_id = any(%s) union {unresolved} and key = any(%s::text[])",
        (list(numbers), [*names, *_shortened(names)]),
    ).fetchall()
    if not waiting:
        return
    holders = _holders(connection, {key for _, _, key in waiting})
    ends_of = {number for found in holders.values() for number in found}
    places = {
        number: (source, project)
        for number, source, project in connection.execute(
            "select id, source, project from records where id = any(%s)",
            ([*ends_of, *{start for _, start, _ in waiting}],),
        )
    }
    found: dict[int, int] = {}
    for edge, start, key in waiting:
        source, project = places[start]
        others = [number for number in holders.get(key, ()) if number != start]
        if others:
            # One of the same source, then of the same project, then the first that was stored.
            found[edge] = min(
                others, key=lambda n: (places[n][0] != source, places[n][1] != project, n)
            )
    connection.assign("edges", "to_id", found)


def _holders(connection: Connection, keys: Collection[str]) -> dict[str, set[int]]:
    """The records that each of ``keys`` may mean: by their names, or by a ref."""
    found: dict[str, set[int]] = {}
    refs = {key for key in keys if key.startswith(_REF)}
    numbers = [int(end) for key in refs if _NUMBER.fullmatch(end := key.rpartition(":")[2])]
    for number, kind in connection.execute(
        "select id, kind from records where id = any(%s)", (numbers,)
    ):
        if (key := f"{_REF}{kind}:{number}") in refs:
            found.setdefault(key, set()).add(number)
    commits = [key for key in keys if key.startswith(_COMMIT)]
    named = connection.execute(
        "select name, name, record_id from names where name = any(%s::text[])",
        ([key for key in keys if key not in refs and not key.startswith(_COMMIT)],),
    ).fetchall()
    if commits:  # a shortened commit hash names every commit that begins with it
        named += connection.execute(
            # The cross join keeps this order, for both engines the index of names.
            "select k.hash, n.name, n.record_id from unnest(%s::text[]) k(hash)"
            " cross join names n where n.name >= k.hash and n.name < k.hash || 'g'",
            (commits,),
        ).fetchall()
    for key, _, number in named:
        found.setdefault(key, set()).add(number)
    return found


def _shortened(names: Iterable[str]) -> list[str]:
    """The shorter names of the commits among ``names``: a beginning of its hash names it, too."""
    prefix = len(_COMMIT)
    return [
        name[: prefix + length]
        for name in names
        if name.startswith(_COMMIT)
        for length in range(_MIN_HASH_CHARS, min(len(name) - prefix, _MAX_HASH_CHARS))
    ]
