"""The grammar of operators: tokens become a small tree. AND binds tighter than OR.

    query   = { chain }                      side by side
    chain   = both { "OR" both }
    both    = operand { "AND" operand }
    operand = { "NOT" } [ "+" | "-" ] primary
    primary = word | phrase | field | "(" query ")"

An operator without an operand is read as a word, with a warning.

A question in capitals has AND, OR and NOT as every question does, and so has one that stresses a
word (``why does it NOT work``). They are operators only where the rest of the text is not in
capitals and where what stands on both sides means something by itself (``resolve_operators``).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from mem_search.text.query.lexer import Token
from mem_search.text.query.wild import FORMS
from mem_search.text.words import STOP_WORDS, runs_of

OPERATORS: Final = ("and", "or", "not")

DEPENDENT: Final = STOP_WORDS | {"not"}
"""Words that ask for nothing by themselves, so that they are no operands without quotes."""

_SIGNS: Final = ("minus", "plus", "not")
_ENDS: Final = ("word", "phrase", *FORMS, "field", "close")
_BEFORE_NOT: Final = DEPENDENT | frozenset(
    "am been being can cannot could may might must shall should".split()
)
"""Words whose negation is a statement: ``it must NOT fail``."""

CAPITALS: Final = 0.9
"""The share of capitals among the letters from which on a text is in capitals: some words, such as
``pH`` and ``mRNA``, never are."""


def resolve_operators(tokens: Sequence[Token], text: str) -> tuple[list[Token], list[str]]:
    """The tokens, with the operators that are words of a question as words; and a warning each."""
    as_read = list(tokens)
    asked = [at for at, token in enumerate(as_read) if token.sort in OPERATORS]
    if not asked:
        return as_read, []
    warnings: list[str] = []
    if _in_capitals(as_read, text):
        names = ", ".join(dict.fromkeys(_written(as_read[at], text) for at in asked))
        warnings.append(
            f"the question is in capitals, so {names} {'is' if ',' not in names else 'are'} read as"
            " text; +word requires a word and -word excludes one"
        )
        for at in asked:
            as_read[at] = _as_word(as_read[at], text)
        return as_read, warnings
    # From the end: whether NOT is an operator decides what AND before it joins.
    as_words: set[int] = set()
    for at in reversed(asked):
        alone = _dependent_side(as_read, at, text, as_words)
        if alone is not None:
            as_words.add(at)
            operator = _written(as_read[at], text)
            as_read[at] = _as_word(as_read[at], text)
            warnings.append(
                f"“{alone}” cannot be searched for by itself, so {operator} is read as text;"
                f' "{alone}" in quotes can'
            )
    return as_read, list(dict.fromkeys(reversed(warnings)))


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


@dataclass(frozen=True, slots=True)
class Leaf:
    """A word, phrase, prefix, misspelling, wildcard or field."""

    token: Token


@dataclass(frozen=True, slots=True)
class Must:
    """``+x``."""

    of: Node


@dataclass(frozen=True, slots=True)
class Never:
    """``-x`` or ``NOT x``."""

    of: Node


@dataclass(frozen=True, slots=True)
class Chain:
    """Operands of one operator: ``and`` or ``or``."""

    operator: str
    of: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The content of parentheses, side by side."""

    of: tuple[Node, ...]


Node = Leaf | Must | Never | Chain | Group
_STARTS = frozenset({"word", "phrase", "field", "open", "not", "minus", "plus", *FORMS})


class Parser:
    """Parses the tokens into ``items``, and operators read as words into ``dangling``."""

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self.dangling: list[Token] = []
        self.warnings: list[str] = []
        self._text = text
        self._tokens = [token for token in tokens if token.sort != "noise"]
        self._at = 0
        self.items = self._side_by_side()

    def _sort(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].sort if at < len(self._tokens) else ""

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _side_by_side(self) -> tuple[Node, ...]:
        items: list[Node] = []
        while sort := self._sort():
            if sort == "close":
                break
            if sort in _STARTS:
                node = self._chain("or")
                if node is not None:
                    items.append(node)
            else:
                self._read_as_text(self._take())
        return tuple(items)

    def _chain(self, operator: str) -> Node | None:
        def read() -> Node | None:
            return self._chain("and") if operator == "or" else self._operand()

        nodes = [read()]
        while self._sort() == operator:
            token = self._take()
            node = read() if self._sort() in _STARTS else None
            if node is None:
                self._read_as_text(token)
            else:
                nodes.append(node)
        operands = tuple(node for node in nodes if node is not None)
        if not operands:
            return None
        return operands[0] if len(operands) == 1 else Chain(operator, operands)

    def _operand(self) -> Node | None:
        signs: list[Token] = []
        while self._sort() in ("not", "minus", "plus"):
            signs.append(self._take())
        node = self._primary()
        if node is None:
            for sign in signs:
                self._read_as_text(sign)
            return None
        negated = sum(sign.sort != "plus" for sign in signs) % 2
        return Never(node) if negated else Must(node) if signs else node

    def _primary(self) -> Node | None:
        if self._sort() == "open":
            self._take()
            items = self._side_by_side()
            self._take()  # the lexer guarantees the closing parenthesis
            return Group(items) if items else None
        return Leaf(self._take()) if self._sort() in _STARTS else None

    def _read_as_text(self, token: Token) -> None:
        self.dangling.append(token)
        written = self._text[token.start : token.end]
        warning = f"{written} has no operand here; it is read as text"
        if warning not in self.warnings:
            self.warnings.append(warning)
