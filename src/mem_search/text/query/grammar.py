"""The grammar of operators: tokens become a small tree. AND binds tighter than OR.

    query   = { chain }                      side by side
    chain   = both { "OR" both }
    both    = operand { "AND" operand }
    operand = { "NOT" } [ "+" | "-" ] primary
    primary = word | phrase | field | "(" query ")"

An operator without an operand is read as a word, with a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mem_search.text.query.lexer import Token
from mem_search.text.query.wild import FORMS


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

        found = [read()]
        while self._sort() == operator:
            token = self._take()
            node = read() if self._sort() in _STARTS else None
            if node is None:
                self._read_as_text(token)
            else:
                found.append(node)
        operands = tuple(node for node in found if node is not None)
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
