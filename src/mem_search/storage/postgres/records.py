"""Records on a server: stored, removed and forgotten, with their words, which are rows.

Writers of one owner wait for each other, so numbers and revisions grow in the order of the commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from mem_search.model.ingest import PreparedDraft
from mem_search.storage.postgres import postings, words
from mem_search.storage.postgres.connection import Connection, as_json, as_stored
from mem_search.storage.postgres.filters import where
from mem_search.storage.postgres.migrations import TABLES
from mem_search.storage.postgres.postings import PassageText
from mem_search.storage.rules.quotes import noted
from mem_search.storage.sql.connection import writes
from mem_search.storage.sql.forgetting import StoredForgetting
from mem_search.storage.sql.ingest import Ingest
from mem_search.storage.sql.passage_rows import Text
from mem_search.storage.sql.quotes import FACETS, Quotes
from mem_search.storage.sql.record_writer import Conversation, Writer


class RecordWriter(Writer):
    """Writes records of one transaction. Making it waits for other writers of this owner."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._counted = self._records, self._passages
        self._words: Counter[str] = Counter()

    def _last_numbers(self) -> tuple[int, int]:
        records, passages = self._connection.one("select records, passages from stores for update")
        return records, passages

    def _finish(self) -> None:
        if self._counted != (self._records, self._passages):
            self._counted = self._records, self._passages
            self._connection.execute("update stores set records = %s, passages = %s", self._counted)
        words.count(self._connection, self._words)
        self._words.clear()

    def _json(self, metadata: Mapping[str, Any]) -> str:
        return as_json(metadata)

    def _last_positions(self, asked: Sequence[Conversation]) -> dict[Conversation, int]:
        rows = self._connection.execute(
            "select c.session, c.project, c.kind, coalesce((select max(r.position) from records r"
            " where r.session = c.session and r.project = c.project and r.kind = c.kind), 0)"
            " from unnest(%s::text[], %s::text[], %s::text[]) c(session, project, kind)",
            [list(column) for column in zip(*asked, strict=True)],
        )
        return {(session, project, kind): last for session, project, kind, last in rows}

    def _unindex(self, numbers: Collection[int]) -> None:
        self._words.subtract(words.of_stored(self._connection, numbers))
        postings.remove(self._connection, postings.texts_of(self._connection, "record_id", numbers))

    def _index(self, items: Sequence[PreparedDraft], texts: Sequence[Text]) -> None:
        for item in items:
            draft = item.draft
            self._words.update(words.of_record(draft.source, draft.title, draft.text, item.people))
        postings.write(
            self._connection,
            [
                PassageText(
                    each.passage,
                    (
                        as_stored(each.title), as_stored(each.text), as_stored(each.parts),
                        as_stored(each.people),
                    ),
                )
                for each in texts
            ],
        )  # fmt: skip


class PostgresIngest(Ingest):
    """``sql.ingest.Ingest``: stores what sources read."""

    writer = RecordWriter

    @writes
    def count_tokens(self, connection: Connection, task: str, day: str, tokens: int) -> int:
        if not tokens:
            row = connection.maybe(
                "select tokens from model_tokens where task = %s and day = %s", (task, day)
            )
            return int(row[0]) if row else 0
        return connection.count(
            "insert into model_tokens(task, day, tokens) values(%s, %s, %s)"
            " on conflict(owner, task) do update set day = excluded.day, tokens = excluded.tokens"
            " + case when model_tokens.day = excluded.day then model_tokens.tokens else 0 end"
            " returning tokens",
            (task, day, tokens),
        )


_BESIDE: Final = f"select r.data::text, r.source_id, r.url, {FACETS} from records r"


class PostgresQuotes(Quotes):
    """The counts of words say which records have them."""

    word = "word"

    def only_in(self, wanted: set[str], chosen: Sequence[int]) -> Iterator[str]:
        known = words.counts_of(self._connection, wanted)
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
