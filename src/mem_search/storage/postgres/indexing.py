"""Vectors, and the outbox of the indexer: a row for each passage with work to do.

The transaction that stores a passage writes the row; acknowledging the step deletes it. So a
process that dies loses nothing. Vectors are ``halfvec`` of pgvector: float16 of unit length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from mem_search.contracts import VectorEntry, Vectors
from mem_search.model.ingest import OutboxStep, ToEmbed
from mem_search.model.statistics import VectorSpace
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.sql.connection import FREE, MINE, Repository, reads, writes
from mem_search.text.dates import now_ms

_LACKING: Final = (
    "not exists (select 1 from vectors v where v.entry_id = 2 * p.id and v.model_id = %s)"
)
"""Of the passage ``p``: it has no vector of a model."""

_SETTLED: Final = (
    "from vectors v where v.model_id = %s"
    " and not exists (select 1 from outbox o where o.passage_id = v.entry_id / 2)"
)
_TO_EMBED: Final = (
    "select p.id, r.title, substr(r.body, p.span_start + 1, p.span_end - p.span_start),"
    " p.content_hash, p.above from passages p join records r on r.id = p.record_id"
)
_HEADER: Final = struct.calcsize("!HH")
"""Of a halfvec on the wire: its dimensions and two unused bytes; big-endian float16 follow."""


class PostgresIndexing(Repository):
    """``ports.IndexingStore`` over the tables ``outbox`` and ``vectors``."""

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
    def choose_embedder(self, connection: Connection, setting: str, configured: str) -> None:
        connection.execute("update stores set embedder = %s::text[]", ([setting, configured],))

    @reads
    def chosen_embedder(self, connection: Connection, configured: str) -> str:
        (chosen,) = connection.one("select embedder from stores")
        setting, then = chosen or ("", "")
        return str(setting) if setting and then == configured else configured

    @reads
    def other_spaces(self, connection: Connection, model: int) -> list[VectorSpace]:
        rows = connection.execute(
            "select id, name, fingerprint, dimensions from embedding_models"
            " where id != %s and dimensions > 0 order by id",
            (model,),
        )
        return [VectorSpace(*row) for row in rows]

    @reads
    def without_vector(
        self, connection: Connection, model: int, after: int, limit: int
    ) -> list[ToEmbed]:
        rows = connection.execute(
            f"{_TO_EMBED} where p.id > %s and {_LACKING} order by p.id limit %s",
            (after, model, limit),
        )
        return [ToEmbed(*row) for row in rows]

    @reads
    def count_without_vector(self, connection: Connection, model: int) -> int:
        return connection.count(f"select count(*) from passages p where {_LACKING}", (model,))

    @writes
    def add_vectors(
        self, connection: Connection, model: int, entries: Sequence[int], rows: Vectors
    ) -> None:
        _save(connection, model, entries, rows)

    @writes
    def drop_vectors(
        self, connection: Connection, model: int, after: int, limit: int
    ) -> tuple[int | None, int]:
        (last,) = connection.one(
            "select max(entry_id) from (select entry_id from vectors where entry_id > %s"
            " order by entry_id limit %s) v",
            (after, limit),
        )
        if last is None:
            connection.execute("delete from embedding_models where id = %s", (model,))
            return None, 0
        deleted = connection.execute(
            "delete from vectors where entry_id > %s and entry_id <= %s and model_id = %s",
            (after, last, model),
        ).rowcount
        return last, deleted

    @writes
    def queue_without_vector(
        self, connection: Connection, model: int, after: int, limit: int
    ) -> tuple[int | None, int]:
        (last,) = connection.one(
            "select max(id) from (select id from passages where id > %s order by id limit %s) p",
            (after, limit),
        )
        if last is None:
            return None, 0
        queued = connection.execute(
            "insert into outbox(passage_id, step)"
            f" select p.id, 'embed' from passages p where p.id > %s and p.id <= %s and {_LACKING}"
            " on conflict(owner, passage_id) do update set step = 'embed', worker = null"
            " where outbox.step = 'index'",
            (after, last, model),
        ).rowcount
        return last, queued

    @writes
    def to_embed(self, connection: Connection, limit: int) -> list[ToEmbed]:
        rows = connection.execute(
            f"{_TO_EMBED} where p.id = any(%s) order by p.id desc",
            (_claimed(connection, "embed", "desc", limit),),
        )
        return [ToEmbed(*row) for row in rows]

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
    def store_vectors(
        self,
        connection: Connection,
        model: int,
        passages: Sequence[int],
        entries: Sequence[int],
        rows: Vectors,
    ) -> None:
        _save(connection, model, entries, rows)
        connection.execute(
            "update outbox set step = 'index', worker = null"
            " where step = 'embed' and passage_id = any(%s)",
            (list(passages),),
        )

    @writes
    def waiting(self, connection: Connection, step: OutboxStep, limit: int) -> list[int]:
        return sorted(_claimed(connection, step, "asc", limit))

    @reads
    def many_wait(self, connection: Connection, step: OutboxStep, count: int) -> bool:
        found = "select count(*) from (select 1 from outbox where step = %s limit %s) w"
        return connection.count(found, (step, count)) == count

    @reads
    def outbox_counts(self, connection: Connection) -> dict[OutboxStep, int]:
        rows = connection.execute("select step, count(*) from outbox group by step")
        return dict(rows.fetchall())

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

    @writes
    def acknowledge(
        self, connection: Connection, step: OutboxStep, passages: Sequence[int]
    ) -> None:
        connection.execute(
            "delete from outbox where step = %s and passage_id = any(%s)", (step, list(passages))
        )

    @writes
    def queue(self, connection: Connection, step: OutboxStep, passages: Iterable[int]) -> None:
        connection.execute(
            "insert into outbox(passage_id, step) select distinct unnest(%s::bigint[]), %s"
            " on conflict do nothing",
            (list(passages), step),
        )

    @reads
    def entries(self, connection: Connection, model: int) -> set[int]:
        return set(connection.column("select entry_id from vectors where model_id = %s", (model,)))

    @reads
    def settled_entries(self, connection: Connection, model: int) -> set[int]:
        return set(connection.column(f"select v.entry_id {_SETTLED}", (model,)))

    @reads
    def settled_count(self, connection: Connection, model: int) -> int:
        return connection.count(f"select count(*) {_SETTLED}", (model,))

    @reads
    def settled_vectors(
        self, connection: Connection, model: int, dimensions: int, after: int, limit: int
    ) -> tuple[list[int], Vectors]:
        rows = connection.execute(
            f"select v.entry_id, halfvec_send(v.vector) {_SETTLED} and v.entry_id > %s"
            " order by v.entry_id limit %s",
            (model, after, limit),
        ).fetchall()
        return [entry for entry, _ in rows], unpacked([vector for _, vector in rows], dimensions)

    @reads
    def newest_entry(self, connection: Connection) -> int:
        return connection.count("select max(entry_id) from vectors")


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


def _save(connection: Connection, model: int, entries: Sequence[int], rows: Vectors) -> None:
    """Store the vectors of passages that still exist."""
    # As text: the shortest digits of a float16 that read as the same float16.
    texts = [f"[{','.join(map(str, row))}]" for row in rows.astype(np.float16)]
    connection.execute(
        "insert into vectors(entry_id, model_id, vector)"
        " select f.entry, %s, f.vector::halfvec from unnest(%s::bigint[], %s::text[])"
        " f(entry, vector) where exists (select 1 from passages p where p.id = f.entry / 2)"
        " on conflict(owner, model_id, entry_id) do update set vector = excluded.vector",
        (model, list(entries), texts),
    )


def unpacked(sent: Sequence[bytes], dimensions: int) -> Vectors:
    """Shape (n, dimensions), float32."""
    if not sent:
        return np.zeros((0, dimensions), dtype=np.float32)
    joined = np.frombuffer(b"".join(each[_HEADER:] for each in sent), dtype=">f2")
    return joined.reshape(len(sent), -1).astype(np.float32)
