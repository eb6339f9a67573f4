"""Tombstones (``storage.rules.identities``): asked for, written, lifted, and exported."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar

from mem_search.model.forgetting import Identity, Tombstone
from mem_search.storage.rules.identities import MAX_KEYS, digest

Row = tuple[bytes, bytes, int]
"""Digest, key, and when its record was forgotten, in ms."""


class Tombstones:
    """Those of a store, in one transaction."""

    rows: ClassVar = "tombstones"
    """What has the columns ``digest``, ``key`` and ``forgotten_at``."""
    own_key: ClassVar = "select tombstone_key from stores"
    keys: ClassVar = "select distinct key from tombstones"
    """The keys to ask with: none where nothing was forgotten."""
    known_keys: ClassVar = f"{keys} union select tombstone_key from stores"
    insert: ClassVar = (
        "insert into tombstones(digest, key, forgotten_at) values(%(digest)s, %(key)s, %(at)s)"
        " on conflict(owner, digest, key)"
    )
    delete: ClassVar = "delete from tombstones where digest = %s and key = %s"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def times(self, identities: Sequence[Identity]) -> dict[Identity, int]:
        """When each of ``identities`` was forgotten, in ms, of those that were."""
        by_identity = self._rows_of(identities)
        return {identity: max(at for _, _, at in rows) for identity, rows in by_identity.items()}

    def put(self, identities: Iterable[Identity], at: int) -> None:
        """Refuse these records from now on."""
        (key,) = self._connection.one(self.own_key)
        self._write(
            ((digest(key, *identity), key, at) for identity in identities),
            "do update set forgotten_at = excluded.forgotten_at",
        )

    def lift(self, identities: Sequence[Identity]) -> None:
        """Accept these records again."""
        tombstones = self._rows_of(identities).values()
        self._connection.many(self.delete, [row[:2] for rows in tombstones for row in rows])

    def page(self, after: Tombstone | None, size: int) -> list[Tombstone]:
        """Tombstones in a fixed order, for an export."""
        rows = self._connection.execute(
            f"select key, digest, forgotten_at from {self.rows} where (digest, key) > (%s, %s)"
            " order by digest, key limit %s",
            (after.digest if after else b"", after.key if after else b"", size),
        )
        return [Tombstone(*row) for row in rows]

    def add(self, tombstones: Sequence[Tombstone]) -> None:
        """Take over the tombstones of another store. What is stored already stays."""
        if not tombstones:
            return
        keys = set(self._connection.column(self.known_keys))
        new: set[bytes] = set()
        for each in tombstones:
            if each.key not in keys and len(keys) + len(new) < MAX_KEYS:
                new.add(each.key)
        self._add_keys(new)
        keys |= new
        self._write(
            ((t.digest, t.key, t.forgotten_at) for t in tombstones if t.key in keys), "do nothing"
        )

    def _rows_of(self, identities: Sequence[Identity]) -> dict[Identity, list[Row]]:
        """Every tombstone of each of ``identities`` that has one."""
        keys = self._connection.column(self.keys)
        if not keys:
            return {}
        wanted: dict[tuple[bytes, bytes], list[Identity]] = {}
        for identity in dict.fromkeys(identities):
            source, source_id, kind = identity
            for key in keys:
                for each in {kind, ""}:  # one without a kind refuses every kind
                    place = (digest(key, source, source_id, each), key)
                    wanted.setdefault(place, []).append(identity)
        by_identity: dict[Identity, list[Row]] = {}
        for row in self._stored(wanted):
            for identity in wanted[row[0], row[1]]:
                by_identity.setdefault(identity, []).append(row)
        return by_identity

    def _stored(self, wanted: Collection[tuple[bytes, bytes]]) -> Iterable[Row]:
        """Those of these digests and keys that are stored."""
        rows: Iterable[Row] = self._connection.execute(
            f"select digest, key, forgotten_at from {self.rows} where (digest, key) in"
            " (select * from unnest(%s::bytea[], %s::bytea[]))",
            ([each for each, _ in wanted], [key for _, key in wanted]),
        )
        return rows

    def _write(self, rows: Iterable[Row], conflict: str) -> None:
        self._connection.many(
            f"{self.insert} {conflict}",
            [{"digest": each, "key": key, "at": at} for each, key, at in rows],
        )

    def _add_keys(self, keys: Collection[bytes]) -> None:
        """Where keys have a table of their own."""
