"""Forgetting on a server (``storage.sql.forgetting``): words are rows, files of all users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mem_search.storage.postgres import words
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.filters import where
from mem_search.storage.postgres.migrations import TABLES
from mem_search.storage.postgres.record_writer import RecordWriter
from mem_search.storage.rules.quotes import noted
from mem_search.storage.sql.forgetting import StoredForgetting
from mem_search.storage.sql.quotes import FACETS, Quotes

_BESIDE: Final = f"select r.data::text, r.source_id, r.url, {FACETS} from records r"


class PostgresQuotes(Quotes):
    """The counts of words say which records have them."""

    word = "word"

    def only_in(self, wanted: set[str], chosen: Sequence[int]) -> Iterator[str]:
        known = words.holders(self._connection, wanted)
        own = words.of_stored(self._connection, chosen)
        yield from (word for word in wanted & own.keys() if known.get(word) == own[word])
        rows = self._connection.execute(f"{_BESIDE} where r.id = any(%s)", (list(chosen),))
        beside = {word for data, *texts in rows for word in noted(texts, data)}
        yield from (wanted & beside) - known.keys()

    def as_text(self, column: str) -> str:
        return "convert_from(body, 'UTF8')" if column == "body" else column


class PostgresForgetting(StoredForgetting):
    """Forgetting on a server: the words are rows, and the server frees its own files."""

    writer = RecordWriter
    quotes = PostgresQuotes
    where = staticmethod(where)

    async def merge_words(self) -> None:
        """Nothing is left to do: the words are rows, and went with their records."""

    async def rewrite_file(self) -> None:
        """Free the space of deleted rows, so that others are written over them.

        The files belong to all users together, so they are not written anew. What the server's
        write-ahead log and its backups keep is up to who runs it (ADR 0017).
        """
        await self._database.apart(_vacuumed)


def _vacuumed(connection: Connection) -> None:
    connection.execute(f"vacuum {', '.join(TABLES)}")
