"""Words are looked up in posting lists: which passages have a word, and how often.

FTS5 spends about two microseconds on each passage that has a word of a question. The lists are in
a mapped file instead, and numpy scores them: the scores are FTS5's own (``words.scores``), by its
formula and its sums. FTS5 answers phrases, beginnings of words, and whatever is asked while there
is no file: it is made again behind the searches. A worker that rests writes what is new into it.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import numpy as np

from mem_search.errors import StorageError
from mem_search.model.arrays import are_among
from mem_search.model.kind_codes import KIND_CODES
from mem_search.model.statistics import Corpus
from mem_search.patterns import pattern
from mem_search.storage.rules import bm25
from mem_search.storage.rules.terms import terms_of
from mem_search.storage.sqlite import posting_lists, words
from mem_search.storage.sqlite.column_blocks import newest_write
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.passage_map import PassageMapCache
from mem_search.storage.sqlite.posting_file import ListsDamaged
from mem_search.storage.sqlite.posting_lists import PostingList, PostingLists
from mem_search.text.words import AnyWords, WordPhrase, WordQuery, known_word

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_AT_ONCE: Final = 50
"""Passages written since that a search reads itself, in some milliseconds; more are read behind
the searches, and FTS5 answers meanwhile."""

MIN_CHANGED: Final = 512
"""Passages that the file has not as they are, from which on it is made anew."""

_MAX_READ: Final = 4096
"""Passages that are read at most to bring the lists up to date; all are made as quickly."""

_SHARE: Final = 1 / 8
"""Of the passages of a large store, from which on it is."""

_PAUSE: Final = 60.0
"""Seconds after a failure before the file is tried again."""

_ONE_WORD: Final = pattern('"([^" ]+)"')


class _Ended(StorageError):
    """The store is being closed."""


class Postings:
    """The posting lists of one store. Close them before the store."""

    def __init__(self, database: Database) -> None:
        self.file = database.path.with_name(f"{database.path.name}.words")
        self._database = database
        self._stopped = threading.Event()
        self._changing = threading.Lock()
        self._working: asyncio.Task[Exception | None] | None = None
        self._failed_at = -_PAUSE
        self.reset_caches()

    def reset_caches(self) -> None:
        """Forget what was read: it is read again when it is asked for."""
        self.passage_map = PassageMapCache()
        self._lists: PostingLists | None = None
        self._is_opened, self._is_behind = False, False

    def release_pages(self) -> None:
        """Let the system have the pages of the file that were read."""
        if (known := self._lists) is not None:
            known.segments[0].release_pages()

    async def close(self) -> None:
        """End what is being made."""
        self._stopped.set()
        if self._working is not None:
            await asyncio.wait([self._working])

    # Searches

    def scores(
        self,
        connection: sqlite3.Connection,
        query: WordQuery,
        corpus: Corpus,
        own: Corpus | None = None,
    ) -> tuple[words.Passages, words.Scores]:
        """Every passage that matches ``query``, with its score; in order of their numbers.

        With ``own`` only the passages of its kinds, with the scores that they would have in an
        index of nothing else.
        """
        terms: list[str] = []
        others: list[WordQuery] = []
        asked = [*bm25.phrases_of(query)]
        for part, term in zip(asked, _terms_of(asked), strict=True):
            if term is None:
                others.append(part)
            else:
                terms.append(term)
        parts = query.of if isinstance(query, AnyWords) else (query,)
        is_any = all(isinstance(part, WordPhrase) for part in parts)
        lists, postings = None, list[PostingList]()
        if terms and (is_any or own is not None):
            lists, postings = self._postings_of(connection, terms)
        if lists is None and terms and own is not None:  # FTS5 knows no kinds
            lists = posting_lists.of_index(connection, terms)
            postings = [lists.of(term) for term in terms]
        if lists is None:
            return words.scores(connection, query)
        if own is not None:
            postings = [self._of_kinds(connection, each, own) for each in postings]
            mean = lists.mean_length * own.mean_length / corpus.mean_length
            lists = replace(lists, passages=own.size, mean_length=mean)
        passages = [each for each, _ in postings]
        scores = [lists.scores(each) for each in postings]
        if others:
            more, their = words.scores(connection, AnyWords(tuple(others)))
            passages.append(more)
            scores.append(their)
        # Every score is above 0.
        sums = np.bincount(np.concatenate(passages), np.concatenate(scores))
        matching: words.Passages = np.flatnonzero(sums > 0)  # of booleans, ten times as quick
        if not is_any:
            every = words.matched(connection, query)
            matching = matching[are_among(matching, np.sort(every, kind="stable"))]
        return matching, words.rounded(np.asarray(sums[matching], np.float64))

    def matched(self, connection: sqlite3.Connection, query: WordQuery) -> words.Passages:
        """Every passage that matches ``query``, in order; of one word from its list."""
        (term,) = _terms_of([query]) if isinstance(query, WordPhrase) else (None,)
        lists, postings = self._postings_of(connection, [term]) if term else (None, [])
        passages = postings[0][0] if lists else words.matched(connection, query)
        return np.sort(passages, kind="stable")  # which they nearly are

    def holders(self, connection: sqlite3.Connection, asked: Sequence[str], most: int) -> list[int]:
        """How many passages have each of the words ``asked``, counted up to ``most``."""
        phrases = [known_word(word) for word in asked]
        terms = {word: term for word, term in zip(asked, _terms_of(phrases), strict=True) if term}
        lists, counts = self._of_lists(
            connection, lambda lists: [*map(lists.count, terms.values())]
        )
        known = dict(zip(terms, counts, strict=True)) if lists else {}
        others = [word for word in asked if word not in known]
        known |= dict(zip(others, words.holders(connection, others, most), strict=True))
        return [min(most, known[word]) for word in asked]

    def _postings_of(
        self, connection: sqlite3.Connection, terms: Sequence[str]
    ) -> tuple[PostingLists | None, list[PostingList]]:
        """The lists of ``terms``; none where FTS5 has to answer."""
        return self._of_lists(connection, lambda lists: [lists.of(term) for term in terms])

    def _of_lists(
        self, connection: sqlite3.Connection, read: Callable[[PostingLists], list[T]]
    ) -> tuple[PostingLists | None, list[T]]:
        """What ``read`` returns of the lists; none where FTS5 has to answer."""
        lists = self.current(connection)
        try:
            return lists, read(lists) if lists else []
        except ListsDamaged as error:
            self._drop(error)
            self._is_behind = True
            return None, []

    def _of_kinds(
        self, connection: sqlite3.Connection, postings: PostingList, own: Corpus
    ) -> PostingList:
        """``postings`` in passages of the kinds of ``own``."""
        passages, counts = postings
        kinds = self.passage_map.up_to(connection, int(passages.max(initial=0))).kinds[passages]
        inside = np.isin(kinds, KIND_CODES.among(own.passages))
        return passages[inside], counts[inside]

    def current(self, connection: sqlite3.Connection) -> PostingLists | None:
        """The lists of what ``connection`` sees; None where they are newer, or far behind."""
        revision, known = newest_write(connection), self._lists
        if known is None and self._is_opened:
            self._is_behind = True
        elif known is None or known.revision < revision:
            with self._changing:
                known = self._lists = self._lists or self._opened(connection)
                if known is not None and known.revision < revision:
                    # More is read behind the searches.
                    known = known.followed(connection, self.passage_map, MAX_AT_ONCE)
                    self._lists = known or self._lists
            self._is_behind = known is None
        return known if known is not None and known.revision == revision else None

    def _opened(self, connection: sqlite3.Connection) -> PostingLists | None:
        """The lists of the file; None where it has to be made."""
        if self._is_opened:  # and is damaged
            return None
        self._is_opened = True
        try:
            return posting_lists.opened(connection, self.file)
        except (ListsDamaged, OSError, ValueError) as error:
            self._drop(error)
            return None

    def _drop(self, error: Exception) -> None:
        log.warning("%s is not used and is made again: %s", self.file, error)
        self._lists = None

    # Making them

    def wake(self) -> None:
        """Begin to read what searches have found to be too much; call it in the event loop."""
        if not self._is_behind or (self._working is not None and not self._working.done()):
            return
        if not self._database.unwritable and time.monotonic() - self._failed_at >= _PAUSE:
            self._begin(MIN_CHANGED, _SHARE)

    async def keep_up(self, least: int = MIN_CHANGED) -> None:
        """Read what was written since, and make the file where ``least`` passages, and an eighth of
        all, are not in it as they are. A failure is logged: FTS5 answers meanwhile.
        """
        if not self._database.unwritable:
            await self._in_turn(least, _SHARE)

    async def without_deleted(self) -> None:
        """Write a file anew that has lists of what was deleted. Raises StorageError or OSError."""
        if self.file.exists() and (error := await self._in_turn(1, 0.0)):
            raise error

    async def _in_turn(self, least: int, share: float) -> Exception | None:
        while self._working is not None and not self._working.done():
            await asyncio.wait([self._working])
        return await self._begin(least, share)

    def _begin(self, least: int, share: float) -> asyncio.Task[Exception | None]:
        self._working = asyncio.create_task(self._work(least, share), name="posting lists")
        return self._working

    async def _work(self, least: int, share: float) -> Exception | None:
        self._is_behind = False
        try:
            noted = await self._database.read_behind(self._made, least, share)
            if noted:
                await self._database.write(posting_lists.note, noted)
                await self._database.read_behind(self._use_file)
        except _Ended as error:
            return error
        except (StorageError, OSError) as error:
            self._failed_at = time.monotonic()
            log.warning("words are looked up in the full-text index for now: %s", error)
            return error
        return None

    def _made(self, connection: SqliteConnection, least: int, share: float) -> str:
        """Bring the lists up to date; what to note of the file, if one was made."""
        for part in self.file.parent.glob(f".{self.file.name}.*.part"):
            part.unlink(missing_ok=True)  # a worker was killed that made it
        with self._changing:
            known = self._lists or self._opened(connection)
        try:
            if known is not None and known.revision < newest_write(connection):
                most = max(_MAX_READ, len(known.home) // 4)
                known = known.followed(connection, self.passage_map, most)
            if known is not None and known.changed < max(least, share * len(known.home)):
                with self._changing:
                    self._lists = known
                return ""
            if known is not None:
                return known.write(self.file, self._until_closed)
        except ListsDamaged as error:
            self._drop(error)
        return posting_lists.write_all(connection, self.file, self._until_closed)

    def _use_file(self, connection: SqliteConnection) -> None:
        """Use the file that was made from now on; who reads the former one keeps it."""
        with self._changing:
            self._is_opened = False
            self._lists = self._opened(connection)

    def _until_closed(self, pieces: Iterable[T]) -> Iterator[T]:
        for piece in pieces:
            if self._stopped.is_set():
                raise _Ended("the store is being closed")
            yield piece


def _terms_of(phrases: Sequence[WordPhrase]) -> list[str | None]:
    """The term that each phrase is in the full-text index; None where FTS5 has to look it up."""
    asked = [_ONE_WORD.fullmatch(words.expression(each)) for each in phrases]
    known = terms_of([word[1] for word in asked if word])
    terms = [known[word[1]] if word else () for word in asked]
    return [each[0] if len(each) == 1 else None for each in terms]
