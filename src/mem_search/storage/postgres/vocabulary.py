"""Words and names of a server (``storage.sql.vocabulary``): its words are a table."""

from __future__ import annotations

from typing import Final

from mem_search.model import SAMPLE
from mem_search.storage.ports.search import Counted
from mem_search.storage.rules.names import ascii_lower
from mem_search.storage.sql.vocabulary import FILES, LAST, Vocabulary

_TITLE: Final = 100
"""Characters of a title that the index has."""


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
