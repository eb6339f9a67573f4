"""The outbox and the vectors of a server (``storage.sql.indexing``): workers claim what waits.

Vectors are ``halfvec`` of pgvector: float16 of unit length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from mem_search.contracts import VectorEntry, Vectors
from mem_search.model.ingest import OutboxStep, ToEmbed
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.sql.connection import FREE, MINE, reads, writes
from mem_search.storage.sql.indexing import SETTLED, Indexing
from mem_search.text.dates import now_ms

_HEADER: Final = struct.calcsize("!HH")
"""Of a halfvec on the wire: its dimensions and two unused bytes; big-endian float16 follow."""


class PostgresIndexing(Indexing):
    """``sql.indexing.Indexing`` over the tables ``outbox`` and ``vectors``."""

    keep_embedder = "update stores set embedder = %s::text[]"
    kept_embedder = "select embedder from stores"

    @writes
    def model_number(
        self, connection: Connection, fingerprint: str, name: str, dimensions: int
    ) -> int:
        connection.execute(
            "insert into embedding_models(fingerprint, name, dimensions, created_at)"
            " values(%s, %s, %s, %s) on conflict do nothing",
            (fingerprint, name, dimensions, now_ms()),
        )
        return connection.count(
            "select id from embedding_models where fingerprint = %s", (fingerprint,)
        )

    @writes
    def to_embed(self, connection: Connection, limit: int) -> list[ToEmbed]:
        claimed = _claimed(connection, "embed", "desc", limit)
        return self._to_embed(connection, "p.id = any(%s) order by p.id desc", (claimed,))

    @reads
    def vectors_of_equal_content(
        self, connection: Connection, model: int, hashes: Sequence[bytes]
    ) -> dict[bytes, dict[int, Vectors]]:
        digests = {
            passage: bytes(digest)
            for passage, digest in connection.execute(
                "select id, content_hash from passages where content_hash = any(%s::bytea[])"
                " order by id",
                (list(dict.fromkeys(hashes)),),
            )
        }
        found: dict[bytes, dict[int, Vectors]] = {}
        for entry, vector in _of_passages(connection, model, digests):
            found.setdefault(digests[entry // 2], {})[entry % 2] = unpacked([vector], 0)[0]
        return found

    @writes
    def waiting(self, connection: Connection, step: OutboxStep, limit: int) -> list[int]:
        return sorted(_claimed(connection, step, "asc", limit))

    @reads
    def vectors(
        self, connection: Connection, model: int, dimensions: int, passages: Sequence[int]
    ) -> tuple[list[VectorEntry], Vectors]:
        known = {
            passage: row
            for passage, *row in connection.execute(
                "select p.id, p.record_id, p.kind, r.created_at from passages p"
                " join records r on r.id = p.record_id where p.id = any(%s)",
                (list(passages),),
            )
        }
        rows = _of_passages(connection, model, known)
        entries = [VectorEntry(entry, *known[entry // 2]) for entry, _ in rows]
        return entries, unpacked([vector for _, vector in rows], dimensions)

    @reads
    def settled_vectors(
        self, connection: Connection, model: int, dimensions: int, after: int, limit: int
    ) -> tuple[list[int], Vectors]:
        rows = connection.execute(
            f"select v.entry_id, halfvec_send(v.vector) {SETTLED} and v.entry_id > %s"
            " order by v.entry_id limit %s",
            (model, after, limit),
        ).fetchall()
        return [entry for entry, _ in rows], unpacked([vector for _, vector in rows], dimensions)

    def _to_embed(
        self, connection: Connection, condition: str, values: Sequence[Any]
    ) -> list[ToEmbed]:
        rows = connection.execute(
            "select p.id, r.title, substr(r.body, p.span_start + 1, p.span_end - p.span_start),"
            " p.content_hash, p.above from passages p join records r on r.id = p.record_id"
            f" where {condition}",
            values,
        )
        return [ToEmbed(*row) for row in rows]

    def _save(
        self, connection: Connection, model: int, entries: Sequence[int], rows: Vectors
    ) -> None:
        # As text: the shortest digits of a float16 that read as the same float16.
        texts = [f"[{','.join(map(str, row))}]" for row in rows.astype(np.float16)]
        connection.execute(
            "insert into vectors(entry_id, model_id, vector)"
            " select f.entry, %s, f.vector::halfvec from unnest(%s::bigint[], %s::text[])"
            " f(entry, vector) where exists (select 1 from passages p where p.id = f.entry / 2)"
            " on conflict(owner, model_id, entry_id) do update set vector = excluded.vector",
            (model, list(entries), texts),
        )


def _claimed(connection: Connection, step: OutboxStep, order: str, limit: int) -> list[int]:
    """Passages that wait for ``step`` and are this worker's now; the others' are passed over."""
    waiting = connection.column(
        f"select passage_id from outbox where step = %s and {FREE}"
        f" order by passage_id {order} limit %s for update skip locked",
        (step, limit),
    )
    if waiting:
        connection.execute(
            f"update outbox set worker = {MINE}"
            f" where passage_id = any(%s) and worker is distinct from {MINE}",
            (waiting,),
        )
    return waiting


def _of_passages(
    connection: Connection, model: int, passages: Iterable[int]
) -> list[tuple[int, bytes]]:
    """Entry and vector of both halves of ``passages``, in order.

    By their keys and not by a join: the planner takes an owner of many for one with few rows, and
    would read all their vectors for each passage.
    """
    return connection.execute(
        "select entry_id, halfvec_send(vector) from vectors"
        " where model_id = %s and entry_id = any(%s) order by entry_id",
        (model, entries_of(passages)),
        binary=True,
    ).fetchall()


def entries_of(passages: Iterable[int]) -> list[int]:
    """The numbers of both halves of ``passages``."""
    return [entry for passage in passages for entry in (2 * passage, 2 * passage + 1)]


def unpacked(sent: Sequence[bytes], dimensions: int) -> Vectors:
    """Shape (n, dimensions), float32."""
    if not sent:
        return np.zeros((0, dimensions), dtype=np.float32)
    joined = np.frombuffer(b"".join(each[_HEADER:] for each in sent), dtype=">f2")
    return joined.reshape(len(sent), -1).astype(np.float32)
