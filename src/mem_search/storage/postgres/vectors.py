"""The vectors of a server, and the outbox (``storage.sql.indexing``): workers claim what waits.

Vectors are ``halfvec`` of pgvector: float16 of unit length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.contracts import Vectors
from mem_search.model.arrays import places_of
from mem_search.model.ingest import OutboxStep, ToEmbed, VectorEntry
from mem_search.model.rankings import Numbers, Values
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.sql.connection import FREE, MINE, reads, writes
from mem_search.storage.sql.indexing import Indexing
from mem_search.text.dates import now_ms

_COSINE: Final = "-(v.vector::vector <#> %(vector)s::vector)"
"""Rows have unit length. The question is not rounded to float16, so the product is of float32."""

_HEADER: Final = struct.calcsize("!HH")
"""Of a halfvec on the wire: its dimensions and two unused bytes; big-endian float16 follow."""


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


def unpack(rows: Sequence[tuple[int, bytes]], dimensions: int) -> Vectors:
    """The vectors of rows (entry, halfvec as it is sent): shape (n, dimensions), float32."""
    joined = np.frombuffer(b"".join(sent[_HEADER:] for _, sent in rows), dtype=">f2")
    return joined.reshape(len(rows), -1 if rows else dimensions).astype(np.float32)


def passage_cosines(
    connection: Connection, model: int, vector: Vectors, passages: Numbers
) -> Values:
    """For each of ``passages`` the cosine of its nearer half; NaN without a vector."""
    return _cosines(
        connection,
        passages,
        f"select v.entry_id / 2, max({_COSINE}) from vectors v"
        " where v.model_id = %(model)s and v.entry_id = any(%(numbers)s) group by 1",
        {
            "model": model,
            "vector": str(vector[0].tolist()),
            "numbers": entries_of(passages.tolist()),
        },
    )


def passage_vectors(
    connection: Connection, model: int, dimensions: int, passages: Numbers
) -> tuple[NDArray[np.intp], Vectors]:
    """See ``SearchSnapshot``."""
    rows = _of_passages(connection, model, passages.tolist())
    of = np.array([entry // 2 for entry, _ in rows], np.int64)
    return places_of(of, passages), unpack(rows, dimensions)


def _cosines(
    connection: Connection, numbers: Numbers, statement: str, values: Mapping[str, Any]
) -> Values:
    """The value of each of ``numbers`` among the rows (number, value); NaN where it has none."""
    (of, cosines) = connection.execute(
        "select string_agg(int8send(n), ''::bytea), string_agg(float8send(c), ''::bytea)"
        f" from ({statement}) f(n, c)",
        values,
        binary=True,
    ).fetchall()[0]
    in_order = np.full(len(numbers), np.nan)
    known = np.frombuffer(of or b"", ">i8").astype(np.int64)
    if len(known):
        order = np.argsort(known)
        places = order[np.searchsorted(known, numbers, sorter=order).clip(max=len(known) - 1)]
        held = known[places] == numbers
        in_order[held] = np.frombuffer(cosines, ">f8")[places[held]]
    return in_order


class PostgresIndexing(Indexing):
    """``sql.indexing.Indexing`` over the tables ``outbox`` and ``vectors``."""

    keep_embedder = "update stores set embedder = %s::text[]"
    kept_embedder = "select embedder from stores"
    stored_vector = "halfvec_send(v.vector)"
    unpacked = staticmethod(unpack)

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
        by_digest: dict[bytes, dict[int, Vectors]] = {}
        rows = _of_passages(connection, model, digests)
        for (entry, _), vector in zip(rows, unpack(rows, 0), strict=True):
            by_digest.setdefault(digests[entry // 2], {})[entry % 2] = vector
        return by_digest

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
        return entries, unpack(rows, dimensions)

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
