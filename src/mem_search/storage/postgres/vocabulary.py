"""Words and names of the store that complete a prefix: titles, projects, tags, files.

A query skips from one distinct value to the next in an index where it can, so a value costs the
same however many records have it. Letters of ASCII count in either case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mem_search.model import SAMPLE
from mem_search.storage.ports.search import Counted, Names
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.word_lists import LAST
from mem_search.storage.rules.names import ascii_lower
from mem_search.text.query.parse import MAX_MEANT
from mem_search.text.spelling import edits_allowed, other_beginnings

MAX_WORD_CHARS: Final = 40
"""Characters; longer words are hashes or text without spaces."""

MAX_VALUES: Final = 1_000
"""Distinct values that are read: beyond them a completion can be missed, but none is slow."""

_TITLE: Final = 100
"""Characters of a title that the index has."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """``rules.wild_words.Lookup`` over ``connection``."""

    connection: Connection

    def beginning_with(self, prefix: str, limit: int) -> list[Counted]:
        return self._words(
            "word > %s and word < %s and length(word) <= %s and word !~ '^[0-9]'"
            " order by records desc, word limit %s",
            (prefix, prefix + LAST, MAX_WORD_CHARS, limit),
        )

    def like(self, word: str) -> list[Counted]:
        """Words with the first or second letter of ``word``, and those one edit away."""
        edits = edits_allowed(word)
        found: dict[str, int] = {}
        for initial in dict.fromkeys(word[:2]):
            found |= self._words(
                "word >= %s and word < %s and length(word) between %s and %s",
                (initial, initial + LAST, len(word) - edits, len(word) + edits),
            )
        found |= self._words("word = any(%s::text[])", (list(other_beginnings(word)),))
        return list(found.items())

    def alike(self, pattern: str) -> list[str]:
        """What precedes the first ``*`` is looked up; without it all words are compared."""
        beginning = pattern.partition("*")[0]
        like = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        found = self._words(
            "word >= %s and word < %s and word like %s and length(word) <= %s"
            " order by records desc, word limit %s",
            (beginning, beginning + LAST, like.replace("*", "%"), MAX_WORD_CHARS, MAX_MEANT),
        )
        return [word for word, _ in found]

    def _words(self, condition: str, values: Sequence[object]) -> list[Counted]:
        return self.connection.execute(
            f"select word, records from words where {condition}", values
        ).fetchall()


def names_beginning_with(
    connection: Connection, names: Names, prefix: str, limit: int
) -> list[Counted]:
    """See ``SearchSnapshot``."""
    match names:
        case "title":
            return _titles(connection, prefix, limit)
        case "file":
            return _files(connection, prefix, limit)
        case "project":
            counted = "select 1 from records where project = %s"
        case "tag":
            counted = "select 1 from facets where name = 'tag' and value = %s"
    return _begun(connection, names, counted, prefix, limit)


def values_of(connection: Connection, field: str, most: int = MAX_VALUES) -> list[str]:
    """The first ``most`` values of ``project``, ``source`` or of the facet ``field``, in order."""
    following = "select min(value) from facets where name = %(name)s and value > {}"
    if field in ("project", "source"):
        following = f"select min({field}) from records where {field} > {{}}"
    first, further = following.format("''"), following.format("each.value")
    rows = connection.execute(
        f"with recursive each(value, place) as (select ({first}), 1"
        f" union all select ({further}), place + 1 from each"
        " where each.value is not null and place < %(most)s)"
        " select value from each where value is not null",
        {"most": most, "name": field},
    )
    return [value for (value,) in rows]


def _titles(connection: Connection, prefix: str, limit: int) -> list[Counted]:
    """Titles with their number of records, in alphabetical order."""
    begun = ascii_lower(prefix)
    return connection.execute(
        "select min(title), count(*) from records where title != '' and source != %s"
        " and title_lower >= %s and title_lower < %s"
        " and starts_with(lower(title), %s) group by lower(title) order by lower(title) limit %s",
        (SAMPLE, begun[:_TITLE], begun[:_TITLE] + LAST, begun, limit),
    ).fetchall()


def _files(connection: Connection, prefix: str, limit: int) -> list[Counted]:
    """Paths whose last part begins with ``prefix``, and how many records touched them.

    A prefix with a slash is compared with the whole path; then case matters.
    """
    told, begun = (
        ("value", prefix)
        if "/" in prefix
        else ("lower(regexp_replace(value, '^.*/', ''))", ascii_lower(prefix))
    )
    return connection.execute(
        "select value, count(distinct record_id) from facets"
        " where name in ('file_read', 'file_modified', 'path')"
        f" and {told} >= %s and {told} < %s group by value order by 2 desc, 1 limit %s",
        (begun, begun + LAST, limit),
    ).fetchall()


def _begun(
    connection: Connection, field: str, counted: str, prefix: str, limit: int
) -> list[Counted]:
    """Values with ``prefix``, the most used first; counts stop at 1000."""
    folded = prefix.casefold()
    found = [v for v in values_of(connection, field) if v.casefold().startswith(folded)]
    counts = [
        (value, connection.count(f"select count(*) from ({counted} limit 1000) c", (value,)))
        for value in found[: 5 * limit]
    ]
    return sorted(counts, key=lambda item: (-item[1], item[0]))[:limit]
