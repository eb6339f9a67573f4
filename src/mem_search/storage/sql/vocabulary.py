"""Words and names of the store that complete a prefix: titles, projects, tags, files.

A query skips from one distinct value to the next in an index where it can, so a value costs the
same however many records have it. Case does not matter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

from mem_search.storage.rules.terms import stem
from mem_search.storage.sql.connection import folded_name
from mem_search.storage.sql.filters import any_letters
from mem_search.text.query.parse import MAX_MEANT
from mem_search.text.spelling import edits_allowed, nearest, other_beginnings

Names = Literal["title", "project", "tag", "file"]
"""The sorts of names that can be completed."""

Counted = tuple[str, int]
"""A word or name, and how many records have it."""

LAST: Final = "\U0010ffff"
"""Sorts after everything that can follow a prefix."""

MAX_WORD_CHARS: Final = 40
"""Characters; longer words are hashes or text without spaces."""

MAX_VALUES: Final = 1_000
"""Distinct values that are read: beyond them a completion can be missed, but none is slow."""

MAX_CORRECTIONS: Final = 8
"""Most words that a misspelling stands for; further ones are unrelated."""

MAX_COUNTED: Final = 1_000
"""Records that are counted of one value."""

FILES: Final = "name in ('file_read', 'file_modified', 'path')"


class Vocabulary(ABC):
    """The words of the store, in lower case, and the names that complete a prefix."""

    word: ClassVar[str]
    records: ClassVar[str]
    """The columns of ``words``, a table or view that has a word perhaps twice."""
    words: ClassVar[str]

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def beginning_with(self, prefix: str, limit: int) -> list[Counted]:
        """Longer words that begin with ``prefix`` (in lower case), the most frequent first."""
        return self._rows(
            f"select {self.word}, max({self.records}) from {self.words}"
            f" where {self.word} > %s and {self.word} < %s and length({self.word}) <= %s"
            f" and not ({self.word} >= '0' and {self.word} < ':')"
            f" group by {self.word} order by 2 desc, 1 limit %s",
            (prefix, prefix + LAST, MAX_WORD_CHARS, limit),
        )

    @abstractmethod
    def ending_with(self, endings: Sequence[str], limit: int) -> list[Counted]:
        """Longer words that end with one of ``endings``, the most frequent first."""

    def correction_candidates(self, word: str) -> list[Counted]:
        """Candidates for the correction of ``word``, to be compared letter by letter.

        They begin with its first or second letter; words one edit away may begin with any letter.
        """
        edits = edits_allowed(word)
        # The cross join keeps this order: SQLite's vocabulary is asked for each word.
        rows = self._rows(
            f"select w.{self.word}, w.{self.records} from unnest(%s::text[]) one(word)"
            f" cross join {self.words} w where w.{self.word} = one.word",
            (list(other_beginnings(word)),),
        )
        for initial in dict.fromkeys(word[:2]):
            rows += self._rows(
                f"select {self.word}, {self.records} from {self.words}"
                f" where {self.word} >= %s and {self.word} < %s"
                f" and length({self.word}) between %s and %s",
                (initial, initial + LAST, len(word) - edits, len(word) + edits),
            )
        counts: dict[str, int] = {}
        for term, records in rows:
            counts[term] = max(records, counts.get(term, 0))
        return list(counts.items())

    def matching_pattern(self, pattern: str) -> list[str]:
        """The words that ``pattern`` stands for, the most frequent first: ``au*tion``, ``*tion``.

        What precedes the first ``*`` is looked up; without it all words are compared.
        """
        beginning = pattern.partition("*")[0]
        rows = self._rows(
            f"select {self.word}, max({self.records}) from {self.words}"
            f" where {self.word} >= %s and {self.word} < %s and {self.word} like %s escape '\\'"
            f" and length({self.word}) <= %s group by {self.word} order by 2 desc, 1 limit %s",
            (beginning, beginning + LAST, any_letters(pattern), MAX_WORD_CHARS, MAX_MEANT),
        )
        return [word for word, _ in rows]

    def expand(self, wild: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """For each word the words it stands for; ``auth*`` means all words with that prefix."""
        expanded = {}
        for word in wild:
            if word.endswith("~"):
                expanded[word] = self.corrections(word[:-1])
            elif "*" in word[:-1]:
                expanded[word] = tuple(filter(str.isalnum, self.matching_pattern(word)))
            else:
                expanded[word] = self.beginnings(word[:-1])
        return expanded

    def beginnings(self, prefix: str) -> tuple[str, ...]:
        """The words that begin with ``prefix``, and ``prefix*`` where the index can look that up.

        The index holds stems: ``authent`` does not begin with ``authenti``, and ``running*`` would
        be looked up as ``run*``. So words are listed one by one, as long as they are few. Of words
        in a row (``rate_lim``) the last is a prefix.
        """
        before, sign, prefix = prefix.rpartition("_")
        if sign:
            return tuple(f"{before}_{word}" for word in self.beginnings(prefix))
        rows = self.beginning_with(prefix, MAX_MEANT)
        words = tuple(word for word, _ in rows if word.isalnum())
        if len(rows) == MAX_MEANT or stem(prefix) == prefix:
            return (f"{prefix}*", *words)
        return (prefix, *words)

    def corrections(self, word: str) -> tuple[str, ...]:
        """Words of the store that ``word`` may be a misspelling of, the likeliest first."""
        if not (word.isascii() and word.isalnum() and edits_allowed(word)):
            return ()
        near = nearest(word, self.correction_candidates(word), MAX_CORRECTIONS)
        return tuple(other for other in near if other.isalnum())

    def named(self, names: Names, prefix: str, limit: int) -> list[Counted]:
        """See ``SearchSnapshot.names_beginning_with``."""
        match names:
            case "title":
                return self._titles(prefix, limit)
            case "file":
                return self._files(prefix, limit)
            case "project":
                counted = "select 1 from records where project = %s"
            case "tag":
                counted = "select 1 from facets where name = 'tag' and value = %s"
        folded = folded_name(prefix)
        values = [v for v in self.values_of(names) if folded_name(v).startswith(folded)]
        counting = f"select count(*) from ({counted} limit {MAX_COUNTED}) c"
        counts = [(v, self._connection.count(counting, (v,))) for v in values[: 5 * limit]]
        return sorted(counts, key=lambda item: (-item[1], item[0]))[:limit]

    def values_of(self, field: str, most: int = MAX_VALUES) -> list[str]:
        """The first ``most`` values of ``project``, ``source`` or of the facet ``field``."""
        following = "select min(value) from facets where name = %(name)s and value > {}"
        if field in ("project", "source"):
            following = f"select min({field}) from records where {field} > {{}}"
        first, further = following.format("''"), following.format("each.value")
        return list(
            self._connection.column(
                f"with recursive each(value, place) as (select ({first}), 1"
                f" union all select ({further}), place + 1 from each"
                " where each.value is not null and place < %(most)s)"
                " select value from each where value is not null",
                {"most": most, "name": field},
            )
        )

    @abstractmethod
    def _titles(self, prefix: str, limit: int) -> list[Counted]:
        """Titles with their number of records, in alphabetical order."""

    @abstractmethod
    def _files(self, prefix: str, limit: int) -> list[Counted]:
        """Paths whose last part begins with ``prefix``, and how many records touched them.

        A prefix with a slash is compared with the whole path; then case matters.
        """

    def _rows(self, statement: str, values: tuple[Any, ...]) -> list[Counted]:
        return list(self._connection.execute(statement, values).fetchall())
