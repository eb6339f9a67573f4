"""Vectors, and the outbox of the indexer: a row for each passage with work to do.

The transaction that stores a passage writes the row; acknowledging the step deletes it. So a
process that dies loses nothing: the next one continues with the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from mem_search.contracts import VectorEntry, Vectors
from mem_search.model.ingest import OutboxStep, ToEmbed
from mem_search.model.statistics import VectorSpace
from mem_search.storage.sql.connection import Repository, reads, writes
from mem_search.storage.sqlite import vectors
from mem_search.storage.sqlite.database import Connection


def waiting(connection: Connection, step: OutboxStep, limit: int) -> list[int]:
    rows = connection.execute(
        "select passage_id from outbox where step = ? order by passage_id limit ?", (step, limit)
    )
    return [passage for (passage,) in rows]


_LACKING: Final = (
    "not exists (select 1 from vectors v where v.entry_id = 2 * p.id and v.model_id = ?)"
)
"""Of the passage ``p``: it has no vector of a model."""


def _texts(
    connection: Connection, rows: Sequence[tuple[int, int, int, int, bytes, str]]
) -> list[ToEmbed]:
    """Passage, record, start, end, hash and lines above of each row, with its text."""
    # Each text is read once: SQLite reads all of a long one for each passage cut from it.
    texts = {
        number: (title, body)
        for number, title, body in connection.execute(
            "select id, title, body from records where id in (select value from json_each(?))",
            (json.dumps([record for _, record, *_ in rows]),),
        )
    }
    return [
        ToEmbed(passage, texts[record][0], texts[record][1][start:end], digest, above)
        for passage, record, start, end, digest, above in rows
    ]


class SqliteIndexing(Repository):
    """``ports.IndexingStore`` over the tables ``outbox`` and ``vectors``."""

    async def model_number(self, fingerprint: str, name: str, dimensions: int) -> int:
        # A known one is only read: a store that cannot be written is opened, too.
        known: int | None = await self._database.read(vectors.known_model, fingerprint)
        if known is None:
            known = await self._database.write(vectors.model_id, fingerprint, name, dimensions)
        return int(known)

    @writes
    def choose_embedder(self, connection: Connection, setting: str, configured: str) -> None:
        connection.execute(
            "insert or replace into meta(key, value) values('embedder', ?)",
            (json.dumps([setting, configured]),),
        )

    @reads
    def chosen_embedder(self, connection: Connection, configured: str) -> str:
        row = connection.execute("select value from meta where key = 'embedder'").fetchone()
        setting, then = json.loads(row[0]) if row else ("", "")
        return str(setting) if setting and then == configured else configured

    @reads
    def other_spaces(self, connection: Connection, model: int) -> list[VectorSpace]:
        rows = connection.execute(
            "select id, name, fingerprint, dimensions from embedding_models"
            " where id != ? and dimensions > 0 order by id",
            (model,),
        )
        return [VectorSpace(*row) for row in rows]

    @reads
    def without_vector(
        self, connection: Connection, model: int, after: int, limit: int
    ) -> list[ToEmbed]:
        rows = connection.execute(
            f"select p.id, p.record_id, p.start, p.end, p.content_hash, p.above from passages p"
            f" where p.id > ? and {_LACKING} order by p.id limit ?",
            (after, model, limit),
        )
        return _texts(connection, rows.fetchall())

    @reads
    def count_without_vector(self, connection: Connection, model: int) -> int:
        (count,) = connection.execute(
            f"select count(*) from passages p where {_LACKING}", (model,)
        ).fetchone()
        return int(count)

    @writes
    def add_vectors(
        self, connection: Connection, model: int, entries: Sequence[int], rows: Vectors
    ) -> None:
        vectors.save(connection, model, entries, rows)

    @writes
    def drop_vectors(
        self, connection: Connection, model: int, after: int, limit: int
    ) -> tuple[int | None, int]:
        (last,) = connection.execute(
            "select max(entry_id) from"
            " (select entry_id from vectors where entry_id > ? order by entry_id limit ?)",
            (after, limit),
        ).fetchone()
        if last is None:
            connection.execute("delete from embedding_models where id = ?", (model,))
            return None, 0
        deleted = connection.execute(
            "delete from vectors where entry_id > ? and entry_id <= ? and model_id = ?",
            (after, last, model),
        ).rowcount
        return last, deleted

    @writes
    def queue_without_vector(
        self, connection: Connection, model: int, after: int, limit: int
    ) -> tuple[int | None, int]:
        (last,) = connection.execute(
            "select max(id) from (select id from passages where id > ? order by id limit ?)",
            (after, limit),
        ).fetchone()
        if last is None:
            return None, 0
        queued = connection.execute(
            "insert into outbox(passage_id, step)"
            f" select p.id, 'embed' from passages p where p.id > ? and p.id <= ? and {_LACKING}"
            " on conflict(passage_id) do update set step = 'embed' where step = 'index'",
            (after, last, model),
        ).rowcount
        return last, queued

    @reads
    def to_embed(self, connection: Connection, limit: int) -> list[ToEmbed]:
        rows = connection.execute(
            "select p.id, p.record_id, p.start, p.end, p.content_hash, p.above"
            " from (select passage_id from outbox"
            " where step = 'embed' order by passage_id desc limit ?) o"
            " join passages p on p.id = o.passage_id",
            (limit,),
        )
        return _texts(connection, rows.fetchall())

    @reads
    def vectors_of_equal_content(
        self, connection: Connection, model: int, hashes: Sequence[bytes]
    ) -> dict[bytes, dict[int, Vectors]]:
        found = vectors.of_equal_content(connection, model, hashes)
        return {
            digest: {
                half: vectors.unpack([blob], len(blob) // 2)[0] for half, blob in halves.items()
            }
            for digest, halves in found.items()
        }

    @writes
    def store_vectors(
        self,
        connection: Connection,
        model: int,
        passages: Sequence[int],
        entries: Sequence[int],
        rows: Vectors,
    ) -> None:
        vectors.save(connection, model, entries, rows)
        connection.execute(
            "update outbox set step = 'index' where step = 'embed'"
            " and passage_id in (select value from json_each(?))",
            (json.dumps(list(passages)),),
        )

    @reads
    def waiting(self, connection: Connection, step: OutboxStep, limit: int) -> list[int]:
        return waiting(connection, step, limit)

    @reads
    def many_wait(self, connection: Connection, step: OutboxStep, count: int) -> bool:
        return len(waiting(connection, step, count)) == count

    @reads
    def outbox_counts(self, connection: Connection) -> dict[OutboxStep, int]:
        rows = connection.execute("select step, count(*) from outbox group by step")
        return dict(rows.fetchall())

    @reads
    def vectors(
        self, connection: Connection, model: int, dimensions: int, passages: Sequence[int]
    ) -> tuple[list[VectorEntry], Vectors]:
        return vectors.read(connection, model, dimensions, passages)

    @writes
    def acknowledge(
        self, connection: Connection, step: OutboxStep, passages: Sequence[int]
    ) -> None:
        connection.execute(
            "delete from outbox where step = ? and passage_id in (select value from json_each(?))",
            (step, json.dumps(list(passages))),
        )

    @writes
    def queue(self, connection: Connection, step: OutboxStep, passages: Iterable[int]) -> None:
        connection.executemany(
            "insert or ignore into outbox(passage_id, step) values(?, ?)",
            [(passage, step) for passage in passages],
        )

    @reads
    def entries(self, connection: Connection, model: int) -> set[int]:
        return vectors.entries(connection, model)

    @reads
    def settled_entries(self, connection: Connection, model: int) -> set[int]:
        return vectors.settled_entries(connection, model)

    @reads
    def settled_count(self, connection: Connection, model: int) -> int:
        return vectors.settled_count(connection, model)

    @reads
    def settled_vectors(
        self, connection: Connection, model: int, dimensions: int, after: int, limit: int
    ) -> tuple[list[int], Vectors]:
        return vectors.settled(connection, model, dimensions, after, limit)

    @reads
    def newest_entry(self, connection: Connection) -> int:
        (newest,) = connection.execute("select max(entry_id) from vectors").fetchone()
        return int(newest or 0)
