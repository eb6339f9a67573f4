"""The words of a file: queries compiled to FTS5, what matches with its scores, and the vocabulary.

BM25 is FTS5's own, with the weights of ``rules.bm25``. Returned scores are positive, higher is
better. No statement has a join: ``passage_map`` and ``record_columns`` know in memory which record
a passage belongs to and whether it passes a filter. Every statement returns one row, because Python
waits for its lock at each of what may be tens of thousands of rows.

The vocabulary of FTS5 (fts5vocab) counts the records of each word that it passes, so comparing all
words there takes as long as reading them: a wildcard in front of a word has a list in memory.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mem_search.model import SAMPLE
from mem_search.patterns import pattern
from mem_search.storage.rules import bm25
from mem_search.storage.sql.vocabulary import FILES, LAST, MAX_WORD_CHARS, Counted, Vocabulary
from mem_search.text.query.parse import MAX_MEANT
from mem_search.text.word_forms import folded
from mem_search.text.words import (
    CJK,
    RUN,
    AllWords,
    AnyWords,
    WordPhrase,
    WordQuery,
    bigrams,
    indexed,
    is_hash,
    known_word,
)

_BM25 = f"bm25(passages_fts, {', '.join(map(str, bm25.WEIGHTS))})"

_UNIT = 1e10
"""Scores leave SQLite as integers, which is faster. The factor is large enough to avoid ties, and
so small that posting lists, which add in another order, give the same numbers (``rounded``).
"""


_IS_CJK = pattern(f"[{CJK}]")

Passages = NDArray[np.int64]
Scores = NDArray[np.float64]


def rounded(scores: Scores) -> Scores:
    """``scores`` as they leave SQLite."""
    return np.trunc(scores * _UNIT) / _UNIT


def expression(query: WordQuery) -> str:
    """``query`` in the syntax of FTS5."""
    match query:
        case WordPhrase():
            return _phrase(query)
        case AllWords():
            join = " AND "
        case AnyWords():
            join = " OR "
    terms = [(expression(part), isinstance(part, WordPhrase)) for part in query.of]
    return join.join([term if is_one else f"({term})" for term, is_one in terms])


def _phrase(phrase: WordPhrase) -> str:
    """Words of one script form a phrase; where the script changes, both sides must match."""
    runs = phrase.words
    if len(runs) == 1 and is_hash(runs[0]):
        return f'"{runs[0]}" *'
    terms: list[str] = []
    latin: list[str] = []
    for run in runs:
        if _IS_CJK.match(run):
            if latin:
                terms.append(f'"{" ".join(latin)}"')
                latin = []
            # A character is indexed as the beginning of a pair, or alone at the end of a run.
            terms.append(f'parts : "{" ".join(bigrams(run))}"{" *" * (len(run) == 1)}')
        else:
            latin.append(indexed(run))
    if latin:
        terms.append(f'"{" ".join(latin)}"')
        if not terms[-1].isascii() and (plain := folded(terms[-1])) != terms[-1]:
            # The index has the word as it was written, and beside it without such letters.
            sign = " *" * phrase.prefix
            terms[-1] = f"({terms[-1]}{sign} OR {plain}{sign})"
    if len(terms) > 1:
        return f"({' AND '.join(terms)})"
    return f"{terms[0]} *" if phrase.prefix and terms[0].startswith('"') else terms[0]


def scores(
    connection: sqlite3.Connection, query: WordQuery, among: Passages | None = None
) -> tuple[Passages, Scores]:
    """Every passage that matches ``query``, or those ``among`` some, with its score.

    All are scored, because BM25 costs the same for the best thousand.
    """
    condition, values = "", list[str | int]([expression(query)])
    if among is not None:
        # The plus keeps SQLite from querying the full-text index for each of them.
        condition = " and rowid >= ? and +rowid in (select value from json_each(?))"
        values += [int(among.min()) if len(among) else 0, json.dumps(among.tolist())]
    # The limit keeps the inner statement apart: bm25() cannot be used inside an aggregate.
    ids, scored = connection.execute(
        "select json_group_array(id), json_group_array(score) from (select rowid as id,"
        f" cast(-{_BM25} * {_UNIT:.0f} as integer) as score from passages_fts"
        f" where passages_fts match ?{condition} limit -1)",
        values,
    ).fetchone()
    return (
        np.array(json.loads(ids), dtype=np.int64),
        np.array(json.loads(scored), dtype=np.float64) / _UNIT,
    )


def matched(connection: sqlite3.Connection, query: WordQuery) -> Passages:
    """Every matching passage, so that totals are exact."""
    (passages,) = connection.execute(
        "select json_group_array(rowid) from passages_fts where passages_fts match ?",
        (expression(query),),
    ).fetchone()
    return np.array(json.loads(passages), dtype=np.int64)


def holders(connection: sqlite3.Connection, words: Sequence[str], most: int) -> list[int]:
    """How many passages have each of ``words``, counted up to ``most``."""
    if not words:
        return []
    asked = [expression(known_word(word)) for word in words]
    # One statement, which reads no list to its end.
    (counts,) = connection.execute(
        "select json_group_array((select count(*) from (select 1 from passages_fts"
        " where passages_fts match w.value limit ?))) from json_each(?) w",
        (most, json.dumps(asked, ensure_ascii=False)),
    ).fetchone()
    return list(json.loads(counts))


def unknown(connection: sqlite3.Connection, words: Sequence[str]) -> list[str]:
    """The ``words``, in lower case, that no search can find in any form that it treats as equal."""
    # One statement for all, because each search asks; the index has each word folded, too.
    rows = connection.execute(
        "select w.key from json_each(?) w where not exists (select 1 from passages_fts"
        " where passages_fts match '\"' || w.value || '\"')",
        (json.dumps([folded(indexed(word)) for word in words], ensure_ascii=False),),
    ).fetchall()
    return [words[place] for (place,) in rows] if rows else []


FILLED_BY: Final = {
    "passages_fts": "insert into passages_fts(passages_fts) values('rebuild')",
    "words_fts": "insert into words_fts(rowid, title, body) select id, title, body from records"
    " where source != 'sample'",
    "people_fts": "insert into people_fts(rowid, people)"
    " select id, people from passages where people != ''",
}
"""Full-text index → the statement that fills it when it is empty."""

_SECURE_SINCE = (3, 42)
_PLAIN_FORMAT = 4


def secure_words(connection: sqlite3.Connection) -> None:
    """Let FTS5 remove deleted terms at once, where SQLite can (``secure-delete``, 3.42).

    That changes the format of the index. An older SQLite cannot read it, so it writes the index
    anew; it removes deleted terms when the index is merged (``SqliteForgetting.merge_words``).
    """
    for table in FILLED_BY:
        held = dict(connection.execute(f"select k, v from {table}_config").fetchall())
        if sqlite3.sqlite_version_info >= _SECURE_SINCE:
            if not held.get("secure-delete"):
                connection.execute(f"insert into {table}({table}, rank) values('secure-delete', 1)")
        elif held.get("version", _PLAIN_FORMAT) > _PLAIN_FORMAT:
            _written_anew(connection, table)


def _written_anew(connection: sqlite3.Connection, table: str) -> None:
    connection.execute("begin immediate")
    connection.execute(f"delete from {table}_config where k = 'secure-delete'")
    connection.execute(f"update {table}_config set v = ? where k = 'version'", (_PLAIN_FORMAT,))
    if table != "passages_fts":
        connection.execute(f"insert into {table}({table}) values('delete-all')")
    connection.execute(FILLED_BY[table])
    connection.commit()


_FILE_NAME = "lower(replace(value, rtrim(value, replace(value, '/', '')), ''))"


MAX_ADDED: Final = 500
"""Records whose words are added to the list; after more of them it is read again."""

MAX_ENDING_SO: Final = 256
"""Words of one ending that are looked at, in their order from the end."""

MAX_SHARE_READING: Final = 20
"""The list of a large store that is being filled is read for a twentieth of the time at most."""

QUICK_SECONDS: Final = 0.05
"""A list that is read within so many seconds is read whenever it is old."""


def _lines_beginning_with(lines: str, beginning: str, most: int) -> list[str]:
    """The first ``most`` of the sorted ``lines`` that begin so."""
    low, high = 0, len(lines) - 1
    while low < high:  # both are places of line breaks
        middle = lines.rindex("\n", low, (low + high) // 2 + 1)
        end = lines.index("\n", middle + 1)
        if lines[middle + 1 : end] < beginning:
            low = end
        else:
            high = middle
    words: list[str] = []
    while len(words) < most and lines.startswith(beginning, low + 1):
        end = lines.index("\n", low + 1)
        words.append(lines[low + 1 : end])
        low = end
    return words


@dataclass(slots=True)
class WordList:
    """The words of a store in memory, the most frequent first: some ten bytes a word.

    What is looked for by the end of a word needs it. It is read at the start, or by the first that
    asks: half a second at 200,000 words (docs/adr/0024-words.md). Later only what was written since
    is read.
    """

    _lines: str = "\n"
    """The words, with a line break before and after each; what was written later may come twice."""
    _by_end: str = "\n"
    """The words spelt backwards, in order, as lines; behind each a tab, and its records."""
    _added: set[str] = field(default_factory=set)
    """What was written since; not in ``_by_end``."""
    _read_at: float = 0.0
    _read_seconds: float = 0.0
    _revision: int = -1
    _lock: Lock = field(default_factory=Lock)

    def matching_pattern(self, connection: sqlite3.Connection, pattern: str) -> list[str]:
        """The first ``MAX_MEANT`` words that ``pattern`` stands for."""
        lines = self._current(connection)
        matches = pattern_of(pattern).fullmatch
        piece = max(pattern.split("*"), key=len)
        words: list[str] = []
        at = lines.find(piece)
        while at >= 0 and len(words) < MAX_MEANT:
            end = lines.index("\n", at)
            word = lines[lines.rindex("\n", 0, at) + 1 : end]
            if matches(word) and word not in words:
                words.append(word)
            at = lines.find(piece, end)
        return [word for word, _ in _counted(connection, words)]

    def ending_with(
        self, connection: sqlite3.Connection, endings: Sequence[str], limit: int
    ) -> list[Counted]:
        """The ``limit`` most frequent longer words that end with one of ``endings``."""
        self._current(connection)
        words = {word: 0 for word in self._added if word.endswith(tuple(endings))}
        for ending in endings:
            for line in _lines_beginning_with(self._by_end, ending[::-1], MAX_ENDING_SO):
                word, _, records = line.partition("\t")
                words[word[::-1]] = int(records)
        longer = sorted((-count, word) for word, count in words.items() if word not in endings)
        # Looking up how many records have each takes .1 ms in a large store.
        known = _counted(connection, [word for _, word in longer[: 2 * limit]])
        return sorted(known, key=lambda each: (-each[1], each[0]))[:limit]

    def fill(self, connection: sqlite3.Connection) -> None:
        """Read the list before somebody has to wait for it."""
        self._current(connection)

    def _current(self, connection: sqlite3.Connection) -> str:
        """The words that ``connection`` sees, and perhaps others."""
        (revision,) = connection.execute("select max(revision) from record_changes").fetchone()
        revision = revision or 0
        with self._lock:
            if self._revision < revision:
                written = self._written_since(connection)
                if written is None:
                    started = time.monotonic()
                    if started - self._read_at < MAX_SHARE_READING * self._read_seconds:
                        return self._lines  # while much is written it would be read all the time
                    (words,) = connection.execute(
                        "select json_group_array(json_array(term, doc)) from (select term, doc"
                        " from known_words where length(term) <= ? order by doc desc)",
                        (MAX_WORD_CHARS,),
                    ).fetchone()
                    known: dict[str, int] = {}
                    for word, count in json.loads(words):
                        known.setdefault(word, count)
                    self._lines = "\n".join(["", *known, ""])
                    backwards = sorted(f"{word[::-1]}\t{count}" for word, count in known.items())
                    self._by_end = "\n".join(["", *backwards, ""])
                    self._added = set()
                    self._read_at = time.monotonic()
                    seconds = self._read_at - started
                    self._read_seconds = seconds if seconds > QUICK_SECONDS else 0.0
                else:
                    # Comparing with the whole list would cost each search after a write 20 ms.
                    new = dict.fromkeys(map(str.lower, RUN.findall(written)))
                    more = [
                        word
                        for word in new
                        if word not in self._added and len(word) <= MAX_WORD_CHARS
                    ]
                    self._added.update(more)
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


def _counted(connection: sqlite3.Connection, words: Sequence[str]) -> list[Counted]:
    """Those of ``words`` that a record has, in their order: one of the list may be forgotten."""
    # Of the view, which has the words of both indexes, SQLite would read all.
    of_each = "select w.term, w.doc from json_each(?1) j cross join {} w on w.term = j.value"
    (counts,) = connection.execute(
        "select json_group_array(json_array(term, doc)) from"
        f" ({of_each.format('words')} union all {of_each.format('people_words')})",
        (json.dumps(words, ensure_ascii=False),),
    ).fetchone()
    known = dict(sorted(json.loads(counts), key=lambda each: each[1]))  # of two the larger
    return [(word, known[word]) for word in words if word in known]


class SqliteVocabulary(Vocabulary):
    """``words`` has all of them in memory, for patterns without a beginning."""

    word, records, words = "term", "doc", "known_words"

    def __init__(self, connection: sqlite3.Connection, words: WordList) -> None:
        super().__init__(connection)
        self._list = words

    def matching_pattern(self, pattern: str) -> list[str]:
        if pattern.startswith("*"):
            return self._list.matching_pattern(self._connection, pattern)
        return super().matching_pattern(pattern)

    def ending_with(self, endings: Sequence[str], limit: int) -> list[Counted]:
        return self._list.ending_with(self._connection, endings, limit)

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
