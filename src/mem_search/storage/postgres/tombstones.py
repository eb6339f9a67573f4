"""Tombstones (``storage.rules.tombstones``): asked for, written, lifted, and exported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mem_search.model import Draft
from mem_search.model.forgetting import Identity, Tombstone
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.rules.tombstones import MAX_KEYS, digest, lifted_with


def _found(
    connection: Connection, identities: Sequence[Identity]
) -> dict[Identity, list[tuple[bytes, bytes, int]]]:
    """(digest, key, when) of every tombstone of each of ``identities`` that has one."""
    keys = connection.column("select distinct key from tombstones")
    if not keys:
        return {}
    wanted: dict[tuple[bytes, bytes], list[Identity]] = {}
    for identity in dict.fromkeys(identities):
        source, source_id, kind = identity
        for key in keys:
            for each in {kind, ""}:  # one without a kind refuses every kind
                place = (digest(key, source, source_id, each), key)
                wanted.setdefault(place, []).append(identity)
    found: dict[Identity, list[tuple[bytes, bytes, int]]] = {}
    for row in connection.execute(
        "select digest, key, forgotten_at from tombstones where (digest, key) in"
        " (select * from unnest(%s::bytea[], %s::bytea[]))",
        ([each for each, _ in wanted], [key for _, key in wanted]),
    ):
        for identity in wanted[row[0], row[1]]:
            found.setdefault(identity, []).append((row[0], row[1], row[2]))
    return found


def times(connection: Connection, identities: Sequence[Identity]) -> dict[Identity, int]:
    """When each of ``identities`` was forgotten, in ms, of those that were."""
    found = _found(connection, identities)
    return {identity: max(at for _, _, at in rows) for identity, rows in found.items()}


def put(connection: Connection, records: Iterable[Sequence[str]], at: int) -> None:
    """Refuse these records, (source, source id, kind), from now on."""
    (key,) = connection.one("select tombstone_key from stores")
    connection.many(
        "insert into tombstones(digest, key, forgotten_at) values(%s, %s, %s)"
        " on conflict(owner, digest, key) do update set forgotten_at = excluded.forgotten_at",
        [(digest(key, *identity), key, at) for identity in records],
    )


def lift(connection: Connection, draft: Draft) -> None:
    """Accept this record again."""
    connection.many(
        "delete from tombstones where digest = %s and key = %s",
        [row[:2] for rows in _found(connection, [*lifted_with(draft)]).values() for row in rows],
    )


def page(connection: Connection, after: Tombstone | None, size: int) -> list[Tombstone]:
    """Tombstones in a fixed order, for an export."""
    rows = connection.execute(
        "select key, digest, forgotten_at from tombstones where (digest, key) > (%s, %s)"
        " order by digest, key limit %s",
        (after.digest if after else b"", after.key if after else b"", size),
    )
    return [Tombstone(*row) for row in rows]


def add(connection: Connection, tombstones: Sequence[Tombstone]) -> None:
    """Take over the tombstones of another store. What is stored already stays."""
    if not tombstones:
        return
    own = connection.column("select tombstone_key from stores")
    keys = {*own, *connection.column("select distinct key from tombstones")}
    taken = []
    for each in tombstones:
        if each.key in keys or len(keys) < MAX_KEYS:
            keys.add(each.key)
            taken.append((each.digest, each.key, each.forgotten_at))
    connection.many(
        "insert into tombstones(digest, key, forgotten_at) values(%s, %s, %s)"
        " on conflict do nothing",
        taken,
    )
