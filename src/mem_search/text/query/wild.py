"""Words with signs, which stand for words of the store: ``auth*``, ``authentcation~``, ``au*tion``.

The store finds those words later; here the signs are read, in a query and in the value of a field.
"""

from __future__ import annotations

from typing import Final

from mem_search.model import Condition, Term
from mem_search.patterns import pattern
from mem_search.text.words import is_cjk, runs_of

FORMS: Final = ("prefix", "fuzzy", "wildcard")
"""The forms of terms that stand for words of the store."""

MAX_INNER: Final = 4
"""Wildcards inside and before words in one query: each may read all words of the store."""

TOO_MANY: Final = f"only {MAX_INNER} words may have * inside or in front: {{}}"

MIN_LETTERS: Final = 3
"""Letters beside the signs of ``au*tion`` and ``*tion``."""

PATTERN: Final = pattern(r"(?=\*|\w+\*\w)\*?\w+(?:\*\w+)*\*?")
"""``au*tion``, ``*tion`` and ``*tion*``."""

_SIGN_BEHIND: Final = pattern(r"([^\W_](?:\w*[^\W_])?)([*~])")
_SIGN_AT_LETTER: Final = pattern(r"[^\W\d_]\*|\*[^\W\d_]|[^\W\d_]~(?!\w)")
_SHOWN: Final = 24


def read(text: str) -> Term | str | None:
    """The prefix, misspelling or wildcard that the word ``text`` is, or why it is none.

    None for words that have no such sign, or not as one: ``2*3``, ``a*``.
    """
    if "*" not in text and "~" not in text:
        return None
    sign = _SIGN_BEHIND.fullmatch(text)
    words = runs_of(text)
    letters = "".join(words)
    if sign and (not letters.isascii() or len(letters) >= (2 if sign[2] == "*" else 3)):
        return Term(words, "prefix" if sign[2] == "*" else "fuzzy")
    pieces = [piece for piece in text.split("*") if piece]
    # A number beside the sign is a product, and one letter on both sides may be one.
    if not PATTERN.fullmatch(text) or any(not any(map(str.isalpha, p)) for p in pieces):
        return None
    shown = f"“{text[:_SHOWN]}”"
    if sum(map(str.isalpha, text)) < MIN_LETTERS:
        return f"{shown} has fewer than three letters beside its *"
    if "_" in text:
        return f"* stands for a part of one word, and _ ends a word: {shown}"
    if len(words) != len(pieces) or any(map(is_cjk, words)):
        return None
    signs = (text.startswith("*"), text.endswith("*"))
    return Term(("*" * signs[0] + "*".join(words) + "*" * signs[1],), "wildcard")


def of_value(text: str) -> Term | str:
    """What a title or a text has to have for the value ``text``, or what is wrong with the value.

    Words in a row, of which the last may be a prefix (``rate lim*``), or one word with signs.
    """
    words = runs_of(text)
    if not words:
        return "has no word"
    term = read(text)
    if isinstance(term, str):
        return f"cannot be looked up: {term}"
    if term is not None:
        return term
    if not _SIGN_AT_LETTER.search(text):
        return Term(words)
    if text.endswith("*") and not _SIGN_AT_LETTER.search(text[:-1]) and len(words[-1]) > 1:
        return Term(words, "prefix")
    return "cannot be looked up: * stands for a part of one word, or ends the last one"


def terms_of(condition: Condition) -> list[Term]:
    """The terms with signs among the values of a field."""
    demands = [filters.demand for filters in condition.any_of]
    return [each for each in demands if isinstance(each, Term) and each.form != "exact"]
