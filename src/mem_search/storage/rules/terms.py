"""The terms that an index of words has of a text, from the tokenizer of SQLite's FTS5 itself.

Every store cuts, folds and stems alike: ``porter unicode61 remove_diacritics 2``. A tokenizer cuts
at everything that is no letter or digit, so a text is cut at such signs of ASCII first, and the
tokenizer is asked once for each distinct piece.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from functools import cache
from threading import Lock
from typing import Final

from mem_search.patterns import pattern

TOKENIZER: Final = "porter unicode61 remove_diacritics 2"

PIECE: Final = pattern("[A-Za-z0-9\x80-\U0010ffff]+")
"""What the tokenizer is given: it is one term, several, or none."""

Terms = tuple[str, ...]

_MAX_KEPT: Final = 200_000
"""Pieces in memory: about 30 MB, when an archive has so many words."""

_MAX_KEPT_CHARS: Final = 40
"""Characters of a piece that is worth keeping; longer ones are hashes, or text without spaces."""

_asking = Lock()
_known: dict[str, Terms] = {}


def terms_of(pieces: Iterable[str]) -> Mapping[str, Terms]:
    """Each of ``pieces`` (``PIECE``) → its terms in order; there may be others in it."""
    lacking = [piece for piece in pieces if piece not in _known]
    if not lacking:
        return _Joined()
    with _asking:
        asked = _asked(list(dict.fromkeys(lacking)))
        if len(_known) > _MAX_KEPT:
            _known.clear()
        kept = {piece: terms for piece, terms in asked.items() if len(piece) <= _MAX_KEPT_CHARS}
        _known.update(kept)
    return _Joined(asked)


class _Joined(dict[str, Terms]):
    """Terms that were just asked for; others are in memory."""

    def __missing__(self, piece: str) -> Terms:
        terms = _known.get(piece)
        if terms is None:  # another thread emptied the memory
            with _asking:
                terms = _asked([piece])[piece]
            self[piece] = terms
        return terms


def stem(word: str) -> str:
    """The word as an index holds it; a word of several terms stays as it is."""
    terms = terms_of([word])[word]
    return terms[0] if len(terms) == 1 else word


@cache
def _tokenizer() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    connection.execute(
        f"create virtual table pieces using fts5(piece, content='', tokenize='{TOKENIZER}')"
    )
    connection.execute("create virtual table terms using fts5vocab(pieces, instance)")
    return connection


def _asked(pieces: list[str]) -> dict[str, Terms]:
    connection = _tokenizer()
    connection.execute("begin")
    connection.executemany("insert into pieces(rowid, piece) values(?, ?)", enumerate(pieces))
    by_place: dict[int, list[tuple[int, str]]] = {}
    for term, place, offset in connection.execute("select term, doc, offset from terms"):
        by_place.setdefault(place, []).append((offset, term))
    connection.execute("rollback")
    return {
        piece: tuple(term for _, term in sorted(by_place.get(place, ())))
        for place, piece in enumerate(pieces)
    }
