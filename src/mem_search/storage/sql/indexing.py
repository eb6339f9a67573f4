"""Vectors, and the outbox of the indexer: a row for each passage with work to do.

The transaction that stores a passage writes the row; acknowledging the step deletes it. So a
process that dies loses nothing: the next one continues with the rest. How a vector is stored, and
whose a waiting passage is, is each engine's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from mem_search.model.ingest import OutboxStep, ToEmbed, VectorEntry
from mem_search.model.rankings import Vectors
from mem_search.model.statistics import VectorSpace
from mem_search.storage.rules.checksums import with_checksum
from mem_search.storage.sql.connection import Connection, Repository, from_json, reads, writes

SCANNED_PASSAGES: Final = 20_000
"""Passages looked through at a time for missing vectors. One statement for all of a large store
would keep the writer from everything else, the end of the worker too, for seconds."""

_LACKING: Final = (
    "not exists (select 1 from vectors v where v.entry_id = 2 * p.id and v.model_id = %s)"
)
"""Of the passage ``p``: it has no vector of a model."""

_WEIGHED: Final = (
    "p.field != 'code' and (p.kind = any(%s::text[]) or p.kind = any(%s::text[])"
    " and exists (select 1 from records s where s.id = p.record_id and s.session != ''))"
)
"""Of the passage ``p``: it gets a sparse vector. For kinds, and for kinds in a session."""

SETTLED: Final = (
    "from vectors v where v.model_id = %s"
    " and not exists (select 1 from outbox o where o.passage_id = v.entry_id / 2)"
)
"""The vectors that the index should hold: those with nothing waiting in the outbox."""


class Indexing(Repository, ABC):
    """Vectors, and the outbox: which passages must be embedded, indexed or deleted.

    ``model`` is the number of an embedding space; an entry is ``2 * passage`` or
    ``2 * passage + 1``, one for each half of a passage. A passage enters the outbox with the batch
    that stores it and leaves it when a step is acknowledged, so a crash loses nothing.
    """

    keep_embedder: ClassVar[str]
    kept_embedder: ClassVar[str]
    """The statements that write and read a chosen embedder, a list of two texts."""
    stored_vector: ClassVar[str]
    """How a statement reads the vector of a row ``v``."""
    unpacked: ClassVar[Callable[..., Vectors]]
    """The vectors of such rows, (entry, vector), which have so many dimensions: shape
    (n, dimensions), float32.
    """

    @abstractmethod
    async def model_number(self, fingerprint: str, name: str, dimensions: int) -> int:
        """The number of an embedding space, new for a new ``fingerprint``."""

    @abstractmethod
    async def to_embed(self, limit: int) -> list[ToEmbed]:
        """Passages to embed, the newest first: recent records are searched for first.

        They are this worker's until the step is done; those of other living workers are left out.
        """

    @abstractmethod
    async def vectors_of_equal_content(
        self, model: int, hashes: Sequence[bytes]
    ) -> dict[bytes, dict[int, Vectors]]:
        """Content hash → half → stored vector of shape (dimensions,).

        So equal content is embedded once.
        """

    @abstractmethod
    async def waiting(self, step: OutboxStep, limit: int) -> list[int]:
        """Passages that wait for ``step``, the oldest first. They are this worker's, too."""

    @abstractmethod
    async def vectors(
        self, model: int, dimensions: int, passages: Sequence[int]
    ) -> tuple[list[VectorEntry], Vectors]:
        """The entries of ``passages`` for the vector index, with a row for each."""

    @abstractmethod
    def _to_embed(self, connection: Any, condition: str, values: Sequence[Any]) -> list[ToEmbed]:
        """The texts of the passages ``p`` that meet ``condition``, which may order them."""

    @abstractmethod
    def _save(self, connection: Any, model: int, entries: Sequence[int], rows: Vectors) -> None:
        """Store the vectors of passages that still exist."""

    @writes
    def choose_embedder(self, connection: Connection, setting: str, configured: str) -> None:
        """From now on ``setting`` opens the embedder, as long as ``configured`` is configured."""
        connection.execute(self.keep_embedder, ([setting, configured],))

    @reads
    def chosen_embedder(self, connection: Connection, configured: str) -> str:
        """The setting that opens the embedder: the chosen one, else ``configured``."""
        row = connection.maybe(self.kept_embedder)
        setting, then = from_json(row[0]) if row and row[0] else ("", "")
        return str(setting) if setting and then == configured else configured

    @reads
    def other_spaces(self, connection: Connection, model: int) -> list[VectorSpace]:
        """The embedding spaces beside ``model`` whose vectors are stored."""
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
        """The next passages after the passage ``after`` that have no vector of ``model``."""
        condition = f"p.id > %s and {_LACKING} order by p.id limit %s"
        return self._to_embed(connection, condition, (after, model, limit))

    @reads
    def count_without_vector(self, connection: Connection, model: int) -> int:
        """How many passages have no vector of ``model``."""
        return connection.count(f"select count(*) from passages p where {_LACKING}", (model,))

    @writes
    def add_vectors(
        self, connection: Connection, model: int, entries: Sequence[int], rows: Vectors
    ) -> None:
        """Store vectors of a space that searches do not use yet: nothing waits for an index."""
        self._save(connection, model, entries, rows)

    @writes
    def drop_vectors(
        self, connection: Connection, model: int, after: int, limit: int
    ) -> tuple[int | None, int]:
        """Delete those of ``model`` among the next ``limit`` vectors after the entry ``after``.

        Returns the last of these entries and how many were deleted; None at the end, when the
        space itself is deleted.
        """
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
        """Queue those of the next ``limit`` passages after ``after`` without a vector of ``model``.

        Returns the last of these passages, None at the end, and how many were queued.
        """
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
    def store_vectors(
        self,
        connection: Connection,
        model: int,
        passages: Sequence[int],
        entries: Sequence[int],
        rows: Vectors,
    ) -> None:
        """Store the vectors of ``entries``; ``passages`` wait to be indexed from now on.

        A passage that was deleted meanwhile keeps its deletion.
        """
        self._save(connection, model, entries, rows)
        connection.execute(
            "update outbox set step = 'index', worker = null"
            " where step = 'embed' and passage_id = any(%s::bigint[])",
            (list(passages),),
        )

    @reads
    def many_wait(self, connection: Connection, step: OutboxStep, count: int) -> bool:
        """Whether at least ``count`` passages wait for ``step``; reads no more of them."""
        statement = "select count(*) from (select 1 from outbox where step = %s limit %s) w"
        return connection.count(statement, (step, count)) == count

    @reads
    def outbox_counts(self, connection: Connection) -> dict[OutboxStep, int]:
        """How many passages wait for each step; a step that none waits for is left out."""
        rows = connection.execute("select step, count(*) from outbox group by step")
        return dict(rows.fetchall())

    @writes
    def acknowledge(
        self, connection: Connection, step: OutboxStep, passages: Sequence[int]
    ) -> None:
        """The step is done; a passage that waits for another step by now stays.

        Acknowledging a deletion deletes the vectors.
        """
        connection.execute(
            "delete from outbox where step = %s and passage_id = any(%s::bigint[])",
            (step, list(passages)),
        )

    @writes
    def queue(self, connection: Connection, step: OutboxStep, passages: Iterable[int]) -> None:
        """Ask for ``step`` again, unless the passage waits for another one already."""
        connection.execute(
            "insert into outbox(passage_id, step) select distinct w.id, %s"
            " from unnest(%s::bigint[]) w(id) where true on conflict do nothing",
            (step, list(passages)),
        )

    @reads
    def entries(self, connection: Connection, model: int) -> set[int]:
        """Every entry that has a vector of ``model``."""
        return set(connection.column("select entry_id from vectors where model_id = %s", (model,)))

    @reads
    def settled_entries(self, connection: Connection, model: int) -> set[int]:
        """The entries of passages that wait for nothing: the index should have these."""
        return set(connection.column(f"select v.entry_id {SETTLED}", (model,)))

    @reads
    def settled_vectors(
        self, connection: Connection, model: int, dimensions: int, after: int, limit: int
    ) -> tuple[list[int], Vectors]:
        """The next settled entries after the entry ``after``, with a row for each."""
        rows = connection.execute(
            f"select v.entry_id, {self.stored_vector} {SETTLED} and v.entry_id > %s"
            " order by v.entry_id limit %s",
            (model, after, limit),
        ).fetchall()
        return [entry for entry, _ in rows], self.unpacked(rows, dimensions)

    @reads
    def settled_count(self, connection: Connection, model: int) -> int:
        """How many entries are settled. Costs a pass over all vectors."""
        return connection.count(f"select count(*) {SETTLED}", (model,))

    @reads
    def without_sparse(
        self,
        connection: Connection,
        kinds: Sequence[str],
        in_session: Sequence[str],
        after: int,
        limit: int,
    ) -> tuple[int | None, list[ToEmbed]]:
        """Passages without a sparse vector among the next ones after ``after``, at most ``limit``.

        Passages of ``kinds`` get one, and those of ``in_session`` in a session; no source code. The
        first value is the last passage that was looked at; None at the end.
        """
        (last,) = connection.one(
            "select max(id) from (select id from passages where id > %s order by id limit %s) p",
            (after, SCANNED_PASSAGES),
        )
        if last is None:
            return None, []
        lacking = "not exists (select 1 from sparse_vectors s where s.passage_id = p.id)"
        condition = f"p.id > %s and p.id <= %s and {_WEIGHED} and {lacking} order by p.id limit %s"
        values = (after, last, list(kinds), list(in_session), limit)
        passages = self._to_embed(connection, condition, values)
        return passages[-1].passage if len(passages) == limit else last, passages

    @writes
    def add_sparse(self, connection: Connection, vectors: Mapping[int, bytes]) -> None:
        """Passage → its sparse vector; for those that still exist."""
        connection.many(
            "insert into sparse_vectors(passage_id, vector) select %s::bigint, %s::bytea"
            " where exists (select 1 from passages where id = %s) on conflict do nothing",
            [(each, with_checksum(vector, each), each) for each, vector in vectors.items()],
        )

    @reads
    def sparse_counts(
        self, connection: Connection, kinds: Sequence[str], in_session: Sequence[str]
    ) -> tuple[int, int]:
        """How many passages have a sparse vector, and how many get one (``without_sparse``)."""
        made, wanted = connection.one(
            "select (select count(*) from sparse_vectors),"
            f" (select count(*) from passages p where {_WEIGHED})",
            (list(kinds), list(in_session)),
        )
        return made, wanted

    @reads
    def has_sparse(self, connection: Connection) -> bool:
        """Whether any passage has a sparse vector."""
        return bool(
            connection.count("select count(*) from (select 1 from sparse_vectors limit 1) v")
        )

    @reads
    def newest_entry(self, connection: Connection) -> int:
        """The largest entry of any model; 0 while there is none."""
        return connection.count("select max(entry_id) from vectors")


def waiting(connection: Connection, step: OutboxStep, limit: int) -> list[int]:
    """Passages that wait for ``step``, the oldest first."""
    return connection.column(
        "select passage_id from outbox where step = %s order by passage_id limit %s", (step, limit)
    )
