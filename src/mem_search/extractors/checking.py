"""Whether a text has what its file holds: a reader counts it in a second, cheap way (``held``).

What is missing is named, by the words that are missing, so that nothing is lost in silence.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.counted import counted

_WORD: Final = pattern(r"[^\W_]{2,}")
_UNSEEN: Final = pattern("[\u00ad\u034f\u200b-\u200f\u2060-\u2064\ufeff]")
"""Characters inside words that nobody sees."""

_QUOTED_WORDS: Final = 6
_MAX_QUOTED_CHARS: Final = 25


def missing(text: str, parts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A sentence for each of ``parts`` (its name, its words) with words that no ``text`` has.

    A word that stands somewhere else in the text is not missed: this is a count, and no proof.
    """
    known = set(_words(text))
    joined = ""
    for where, said in parts:
        words = list(dict.fromkeys(_words(said)))
        lost = [word for word in words if word not in known]
        if lost:
            joined = joined or "".join(_folded(text).split())  # where words are cut otherwise
            lost = [word for word in lost if word not in joined]
        if lost:
            quoted = " ".join(word[:_MAX_QUOTED_CHARS] for word in lost[:_QUOTED_WORDS])
            more = " …" if len(lost) > _QUOTED_WORDS else ""
            yield f"{where} has {counted(len(lost), 'word')} missing in the text: {quoted}{more}"


def _words(text: str) -> list[str]:
    return _WORD.findall(_folded(text))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold()
