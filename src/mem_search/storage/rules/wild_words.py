"""Which words of a store a prefix, a misspelling or a wildcard stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from mem_search.storage.rules.terms import stem
from mem_search.text import spelling
from mem_search.text.query.parse import MAX_MEANT

Counted = tuple[str, int]
"""A word and the number of records with it."""


class Lookup(Protocol):
    """The words of one store, in lower case."""

    def beginning_with(self, prefix: str, limit: int) -> list[Counted]:
        """Longer words that begin with ``prefix``, the most frequent first."""
        ...

    def like(self, word: str) -> list[Counted]:
        """Words of which ``word`` may be a misspelling, unranked."""
        ...

    def alike(self, pattern: str) -> list[str]:
        """The words that a pattern such as ``au*tion`` stands for, the most frequent first."""
        ...


MAX_NEIGHBOURS: Final = 8
"""Most words that a misspelling stands for; further ones are unrelated."""


def expand(lookup: Lookup, wild: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """For each word the words it stands for; ``auth*`` means all words with that prefix."""
    found = {}
    for word in wild:
        if word.endswith("~"):
            found[word] = neighbours(lookup, word[:-1])
        elif "*" in word[:-1]:
            found[word] = tuple(filter(str.isalnum, lookup.alike(word)))
        else:
            found[word] = beginnings(lookup, word[:-1])
    return found


def beginnings(lookup: Lookup, prefix: str) -> tuple[str, ...]:
    """The words that begin with ``prefix``, and ``prefix*`` where the index can look that up.

    The index holds stems: ``authent`` does not begin with ``authenti``, and ``running*`` would be
    looked up as ``run*``. So words are listed one by one, as long as they are few. Of words in a
    row (``rate_lim``) the last is a prefix.
    """
    before, sign, prefix = prefix.rpartition("_")
    if sign:
        return tuple(f"{before}_{word}" for word in beginnings(lookup, prefix))
    rows = lookup.beginning_with(prefix, MAX_MEANT)
    found = tuple(word for word, _ in rows if word.isalnum())
    if len(rows) == MAX_MEANT or stem(prefix) == prefix:
        return (f"{prefix}*", *found)
    return (prefix, *found)


def neighbours(lookup: Lookup, word: str) -> tuple[str, ...]:
    """Words of the store that ``word`` may be a misspelling of, the likeliest first."""
    if not (word.isascii() and word.isalnum() and spelling.edits_allowed(word)):
        return ()
    near = spelling.nearest(word, lookup.like(word), MAX_NEIGHBOURS)
    return tuple(other for other in near if other.isalnum())
