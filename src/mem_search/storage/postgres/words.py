"""The words of the store, as they are written, and how many records have each.

The counts are kept with every change of a record. The sample is nobody's own text, so its words do
not count (the step m021 of SQLite).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from mem_search.model import SAMPLE
from mem_search.model.forgetting import words_of
from mem_search.storage.ports.search import Counted
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.rules.names import ascii_lower
from mem_search.storage.sql.vocabulary import FILES, LAST, Vocabulary

_TITLE: Final = 100
"""Characters of a title that the index has."""


def of_record(source: str, title: str, body: str) -> set[str]:
    """The words that a record has in its title and text."""
    return set() if source == SAMPLE else words_of(f"{title} {body}")


def of_stored(connection: Connection, numbers: Collection[int]) -> Counter[str]:
    """How many of these records have each word."""
    rows = connection.execute(
        "select source, title, body from records where id = any(%s)", (list(numbers),)
    )
    return Counter(word for row in rows for word in of_record(*row))


def count(connection: Connection, changes: Mapping[str, int]) -> None:
    """Add ``changes`` to the counts."""
    changed = sorted((word, by) for word, by in changes.items() if by)
    if not changed:
        return
    words = [word for word, _ in changed]
    connection.execute(
        "insert into words(word, records) select * from unnest(%s::text[], %s::bigint[])"
        " on conflict(owner, word) do update set records = words.records + excluded.records",
        (words, [by for _, by in changed]),
    )
    if any(by < 0 for _, by in changed):
        connection.execute(
            "delete from words where word = any(%s::text[]) and records <= 0", (words,)
        )


def counts_of(connection: Connection, wanted: Iterable[str]) -> dict[str, int]:
    """Word → how many records have it, of those that any has."""
    rows = connection.execute(
        "select word, records from words where word = any(%s::text[])", (list(wanted),)
    )
    return dict(rows.fetchall())


class PostgresVocabulary(Vocabulary):
    """Text has the collation "C", and titles stand in lower case beside their own."""

    word, records, words = "word", "records", "words"

    def _titles(self, prefix: str, limit: int) -> list[Counted]:
        begun = ascii_lower(prefix)
        return self._rows(
            "select min(title), count(*) from records where title != '' and source != %s"
            " and title_lower >= %s and title_lower < %s"
            " and starts_with(lower(title), %s) group by lower(title) order by lower(title)"
            " limit %s",
            (SAMPLE, begun[:_TITLE], begun[:_TITLE] + LAST, begun, limit),
        )

    def _files(self, prefix: str, limit: int) -> list[Counted]:
        told, begun = (
            ("value", prefix)
            if "/" in prefix
            else ("lower(regexp_replace(value, '^.*/', ''))", ascii_lower(prefix))
        )
        return self._rows(
            "select value, count(distinct record_id) from facets"
            f" where {FILES} and {told} >= %s and {told} < %s"
            " group by value order by 2 desc, 1 limit %s",
            (begun, begun + LAST, limit),
        )
