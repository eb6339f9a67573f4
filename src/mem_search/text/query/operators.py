"""Which of AND, OR and NOT are operators, and which are words of a question.

A question in capitals has these words as every question does, and so has one that stresses a word
(``why does it NOT work``). They are operators only where the rest of the text is not in capitals
and where what stands on both sides means something by itself.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from mem_search.text.query.demands import DEPENDENT
from mem_search.text.query.lexer import Token
from mem_search.text.query.wild import FORMS
from mem_search.text.words import runs_of

OPERATORS: Final = ("and", "or", "not")

_SIGNS: Final = ("minus", "plus", "not")
_ENDS: Final = ("word", "phrase", *FORMS, "field", "close")
_BEFORE_NOT: Final = DEPENDENT | frozenset(
    "am been being can cannot could may might must shall should".split()
)
"""Words whose negation is a statement: ``it must NOT fail``."""

CAPITALS: Final = 0.9
"""The share of capitals among the letters from which on a text is in capitals: some words, such as
``pH`` and ``mRNA``, never are."""


def settled(tokens: Sequence[Token], text: str) -> tuple[list[Token], list[str]]:
    """The tokens, with the operators that are words of a question as words; and a warning each."""
    found = list(tokens)
    asked = [at for at, token in enumerate(found) if token.sort in OPERATORS]
    if not asked:
        return found, []
    warnings: list[str] = []
    if _in_capitals(found, text):
        names = ", ".join(dict.fromkeys(_written(found[at], text) for at in asked))
        warnings.append(
            f"the question is in capitals, so {names} {'is' if ',' not in names else 'are'} read as"
            " text; +word requires a word and -word excludes one"
        )
        for at in asked:
            found[at] = _as_word(found[at], text)
        return found, warnings
    # From the end: whether NOT is an operator decides what AND before it joins.
    as_words: set[int] = set()
    for at in reversed(asked):
        alone = _dependent_side(found, at, text, as_words)
        if alone is not None:
            as_words.add(at)
            operator = _written(found[at], text)
            found[at] = _as_word(found[at], text)
            warnings.append(
                f"“{alone}” cannot be searched for by itself, so {operator} is read as text;"
                f' "{alone}" in quotes can'
            )
    return found, list(dict.fromkeys(reversed(warnings)))


def _in_capitals(tokens: Sequence[Token], text: str) -> bool:
    """Whether the words outside of fields and quotes are in capitals."""
    words = "".join(
        text[each.start : each.end] for each in tokens if each.sort in ("word", "fuzzy")
    )
    large = sum(map(str.isupper, words))
    return large > 0 and large >= CAPITALS * (large + sum(map(str.islower, words)))


def _dependent_side(
    tokens: Sequence[Token], at: int, text: str, as_words: Container[int]
) -> str | None:
    """The word beside the operator ``tokens[at]`` that means nothing by itself, if any.

    Operators at ``as_words`` turned out to be words.
    """
    after = _next(tokens, at, 1)
    while after is not None and (tokens[after].sort in _SIGNS or after in as_words):
        after = _next(tokens, after, 1)
    before = _next(tokens, at, -1)
    is_not = tokens[at].sort == "not"
    for place, dependent in ((after, DEPENDENT), (before, _BEFORE_NOT if is_not else DEPENDENT)):
        if place is None:
            continue
        is_group = tokens[place].sort in ("open", "close")
        inside = [tokens[each] for each in (_group(tokens, place) if is_group else (place,))]
        if all(each.sort == "word" and dependent.issuperset(each.words) for each in inside):
            return " ".join(_written(each, text) for each in inside)
    return None


def _next(tokens: Sequence[Token], at: int, step: int) -> int | None:
    """The place of the next token that is not noise, forwards or backwards."""
    at += step
    while 0 <= at < len(tokens):
        if tokens[at].sort != "noise":
            return at
        at += step
    return None


def _group(tokens: Sequence[Token], at: int) -> list[int]:
    """The places of the tokens inside the parentheses that begin or end at ``at``."""
    step = 1 if tokens[at].sort == "open" else -1
    depth, place = 0, at
    inside = []
    while 0 <= place < len(tokens):
        sort = tokens[place].sort
        depth += (sort == "open") - (sort == "close")
        if not depth:
            break
        if sort in _ENDS and sort != "close":
            inside.append(place)
        place += step
    return sorted(inside)


def _as_word(token: Token, text: str) -> Token:
    return Token("word", token.start, token.end, runs_of(_written(token, text)))


def _written(token: Token, text: str) -> str:
    return text[token.start : token.end]
