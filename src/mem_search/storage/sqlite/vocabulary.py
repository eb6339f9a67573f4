"""Words and names of a file (``storage.sql.vocabulary``): the vocabulary of FTS5, collations.

That vocabulary (fts5vocab) counts the records of each word that it passes, so comparing all words
there takes as long as reading them: a wildcard in front of a word has a list in memory.
"""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from mem_search.model import SAMPLE
from mem_search.storage.ports.search import Counted
from mem_search.storage.sql.vocabulary import FILES, LAST, MAX_WORD_CHARS, Vocabulary
from mem_search.text.query.parse import MAX_MEANT
from mem_search.text.words import RUN

_FILE_NAME = "lower(replace(value, rtrim(value, replace(value, '/', '')), ''))"


MAX_ADDED: Final = 500
"""Records whose words are added to the list; after more of them it is read again."""


@dataclass(slots=True)
class WordList:
    """The words of a store in memory, the most frequent first: some ten bytes a word.

    Only a ``*`` in front of a word needs it, so the first one that is asked reads it: half a second
    at 200,000 words (docs/adr/0024-words.md). Later only what was written since is read.
    """

    _lines: str = "\n"
    """The words, with a line break before and after each."""
    _revision: int = -1
    _lock: Lock = field(default_factory=Lock)

    def alike(self, connection: sqlite3.Connection, pattern: str) -> list[str]:
        """The first ``MAX_MEANT`` words that ``pattern`` stands for."""
        lines = self._current(connection)
        matches = pattern_of(pattern).fullmatch
        piece = max(pattern.split("*"), key=len)
        found: list[str] = []
        at = lines.find(piece)
        while at >= 0 and len(found) < MAX_MEANT:
            end = lines.index("\n", at)
            word = lines[lines.rindex("\n", 0, at) + 1 : end]
            if matches(word):
                found.append(word)
            at = lines.find(piece, end)
        # A word of the list may be forgotten by now.
        (known,) = connection.execute(
            "select json_group_array(j.value) from json_each(?) j"
            " where exists (select 1 from known_words w where w.term = j.value)",
            (json.dumps(found),),
        ).fetchone()
        return list(json.loads(known))

    def _current(self, connection: sqlite3.Connection) -> str:
        """The words that ``connection`` sees, and perhaps others."""
        (revision,) = connection.execute("select max(revision) from record_changes").fetchone()
        revision = revision or 0
        with self._lock:
            if self._revision < revision:
                written = self._written_since(connection)
                if written is None:
                    (words,) = connection.execute(
                        "select json_group_array(term) from (select term from known_words"
                        " where length(term) <= ? order by doc desc)",
                        (MAX_WORD_CHARS,),
                    ).fetchone()
                    self._lines = "\n".join(["", *dict.fromkeys(json.loads(words)), ""])
                else:
                    new = dict.fromkeys(map(str.lower, RUN.findall(written)))
                    known = set(self._lines.split("\n"))
                    more = (
                        word for word in new if word not in known and len(word) <= MAX_WORD_CHARS
                    )
                    self._lines += "".join(f"{word}\n" for word in more)
                self._revision = revision
            return self._lines

    def _written_since(self, connection: sqlite3.Connection) -> str | None:
        """The text of what was written since; None where that is too much, or not known."""
        (oldest,) = connection.execute("select min(revision) from record_changes").fetchone()
        if self._revision < 0 or oldest > self._revision + 1:
            return None
        (count, text) = connection.execute(
            "select count(*), group_concat(title || char(10) || body || char(10) ||"
            " coalesce((select p.people from passages p where p.record_id = r.id"
            " and p.people != ''), ''), char(10)) from records r"
            " where id in (select record_id from record_changes where revision > ?)",
            (self._revision,),
        ).fetchone()
        return None if count > MAX_ADDED else text or ""


class SqliteVocabulary(Vocabulary):
    """``words`` has all of them in memory, for patterns without a beginning."""

    word, records, words = "term", "doc", "known_words"

    def __init__(self, connection: sqlite3.Connection, words: WordList) -> None:
        super().__init__(connection)
        self._list = words

    def alike(self, pattern: str) -> list[str]:
        if pattern.startswith("*"):
            return self._list.alike(self._connection, pattern)
        return super().alike(pattern)

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


def pattern_of(pattern: str) -> re.Pattern[str]:
    """A regular expression for ``au*tion``, which takes time linear in the word."""
    first, *inner, last = map(re.escape, pattern.split("*"))
    # Each piece at its first place: a later one would leave less for those that follow.
    return re.compile(first + "".join(f"(?>.*?{piece})" for piece in inner) + f".*{last}")
