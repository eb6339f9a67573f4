"""Words and names of a file (``storage.sql.vocabulary``): the vocabulary of FTS5, collations."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from mem_search.model import SAMPLE
from mem_search.storage.ports.search import Counted
from mem_search.storage.sql.vocabulary import FILES, LAST, MAX_WORD_CHARS, Vocabulary
from mem_search.storage.sqlite.word_list import WordList
from mem_search.text.query.parse import MAX_MEANT

_FILE_NAME = "lower(replace(value, rtrim(value, replace(value, '/', '')), ''))"


class SqliteVocabulary(Vocabulary):
    """``words`` has all of them in memory, for patterns without a beginning."""

    word, records, words = "term", "doc", "known_words"

    def __init__(self, connection: sqlite3.Connection, words: WordList) -> None:
        super().__init__(connection)
        self._list = words

    def alike(self, pattern: str) -> list[str]:
        beginning = pattern.partition("*")[0]
        if not beginning:
            return self._list.alike(self._connection, pattern)
        rows = self._rows(
            "select term, max(doc) from known_words where term >= ? and term < ? and term glob ?"
            " and length(term) <= ? group by term order by 2 desc, 1 limit ?",
            (beginning, beginning + LAST, pattern, MAX_WORD_CHARS, MAX_MEANT),
        )
        return [word for word, _ in rows]

    def _titles(self, prefix: str, limit: int) -> list[Counted]:
        return self._rows(
            "select title, count(*) from records where title != '' and source != ?"
            " and title >= ? collate nocase and title < ? collate nocase"
            " group by title collate nocase order by title collate nocase limit ?",
            (SAMPLE, prefix, prefix + LAST, limit),
        )

    def _files(self, prefix: str, limit: int) -> list[Counted]:
        # The statement names the index, because the planner would read all files.
        table, told, begun = (
            ("facets", "value", prefix)
            if "/" in prefix
            else ("facets indexed by facets_by_file_name", _FILE_NAME, prefix.lower())
        )
        return self._rows(
            f"select value, count(distinct record_id) from {table}"
            f" where {FILES} and {told} >= ? and {told} < ?"
            " group by value order by 2 desc, 1 limit ?",
            (begun, begun + LAST, limit),
        )

    def _counted(self, words: Iterable[str]) -> list[Counted]:
        # The cross join keeps this order: the vocabulary is asked for each word.
        return self._rows(
            "select w.term, w.doc from json_each(%s) j cross join known_words w"
            " on w.term = j.value",
            (list(words),),
        )
