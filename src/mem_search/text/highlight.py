"""Which words of a text are those of a question, and the text with them set off."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from mem_search.text.snippets import stem

_WORD = re.compile(r"\w+")


class Lit:
    """The words of one question, lower-case, as they are recognised in texts.

    A word counts when it is one of them or inflects one, whatever its accents; of scripts
    without spaces between words, when one of them stands in it.
    """

    def __init__(self, words: Iterable[str]) -> None:
        known = [word for word in words if word]
        self._stems = {stem(_plain(word)) for word in known}
        self._unspaced = [word for word in known if not word.isascii()]

    def __call__(self, word: str) -> bool:
        word = word.lower()
        return stem(_plain(word)) in self._stems or any(part in word for part in self._unspaced)

    def stands_in(self, text: str) -> bool:
        """Whether any of them stands in ``text``."""
        return any(self(match[0]) for match in _WORD.finditer(text))

    def count_in(self, text: str) -> int:
        """How many different ones stand in ``text``."""
        return len({_plain(word) for word in map(str.lower, _WORD.findall(text)) if self(word)})


def highlight(text: str, words: Iterable[str]) -> str | None:
    """``text`` with each word that is one of ``words``, or inflects one, as ``**word**``.

    None when there is none: the record was found by meaning or by a link.
    """
    lit = Lit(words)
    marked = _WORD.sub(lambda match: f"**{match[0]}**" if lit(match[0]) else match[0], text)
    return marked if marked != text else None


def _plain(word: str) -> str:
    """Without accents, as the full-text index has it."""
    if word.isascii():
        return word
    composed = unicodedata.normalize("NFD", word)
    return "".join(char for char in composed if not unicodedata.combining(char))
