"""The tokens of a query, with their places in the text.

Signs, fields and operators count only where they can be meant: ``C++``, ``--flag``, ``a::b``,
``http://x``, ``12:30`` and everything in backticks are words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, cast

from mem_search.model import Condition, Term
from mem_search.patterns import pattern
from mem_search.text.query import wild
from mem_search.text.words import hashes_alone, runs_of

Sort = Literal[
    "word", "phrase", "prefix", "fuzzy", "wildcard", "field", "and", "or", "not", "minus", "plus",
    "open", "close", "noise",
]  # fmt: skip

MAX_DEPTH: Final = 50
"""Nested parentheses; deeper ones are read as text."""

MAX_DEMANDS: Final = 300
"""Operators and fields in one query; later ones are read as text."""

_SPACE: Final = pattern(r"\s+")
_OPERATOR: Final = pattern(r'(AND|OR|NOT)(?=[\s()"]|\Z)')
_CODE: Final = pattern(r"`[^`]*`")
_SHOWN: Final = 24

FieldReader = Callable[[str, int, bool], tuple[Condition, int] | str | None]
"""(text, place, inside parentheses) → (condition, its end), a warning, or None."""


@dataclass(frozen=True, slots=True)
class Token:
    """``text[start:end]``; ``words`` of a word or phrase, ``condition`` of a field."""

    sort: Sort
    start: int
    end: int
    words: tuple[str, ...] = ()
    condition: Condition | None = None


class Lexer:
    """Reads a text in one pass into ``tokens`` and ``warnings``."""

    def __init__(self, text: str, read_field: FieldReader) -> None:
        self.tokens: list[Token] = []
        self.warnings: list[str] = []
        self._text = text
        self._read_field = read_field
        self._open: list[int] = []
        self._demands = self._inner = 0
        at = 0
        while at < len(text):
            space = _SPACE.match(text, at)
            at = space.end() if space else self._next(at)
        for index in self._open:
            self._as_text(index, "is not closed")

    def _next(self, at: int) -> int:
        """Read the token at ``at``; return its end."""
        text = self._text
        if text[at] == '"':
            return self._phrase(at)
        if text[at] == "(":
            return self._open_group(at)
        if text[at] == ")" and self._open:
            return self._close_group(at)
        if self._demands < MAX_DEMANDS:
            if operator := _OPERATOR.match(text, at):
                return self._demand(operator[1].lower(), at, operator.end())
            if text[at] in "+-" and self._is_sign(at):
                return self._demand("minus" if text[at] == "-" else "plus", at, at + 1)
            field = self._read_field(text, at, bool(self._open))
            if isinstance(field, str):
                self._warn(field)
            elif field is not None:
                condition, end = field
                terms = wild.terms_of(condition)
                self._demands += len(terms)
                self._inner += len([term for term in terms if term.form == "wildcard"])
                if self._inner <= wild.MAX_INNER:
                    self._demand("field", at, end, condition)
                    return end
                self._warn(f"{wild.TOO_MANY.format(condition.text)}; it is read as text")
        return self._word(at)

    def _phrase(self, at: int) -> int:
        end = self._text.find('"', at + 1)
        if end < 0:
            self._warn(f"the quote before {self._shown(at + 1)} is not closed; it is read as text")
            return at + 1
        words = runs_of(self._text[at + 1 : end])
        self._add("phrase" if words else "noise", at, end + 1, words)
        return end + 1

    def _open_group(self, at: int) -> int:
        if len(self._open) < MAX_DEPTH:
            self._open.append(len(self.tokens))
            self._add("open", at, at + 1)
        else:
            self._warn(f"parentheses deeper than {MAX_DEPTH} are read as text")
        return at + 1

    def _close_group(self, at: int) -> int:
        start = self._open.pop()
        if all(token.sort == "noise" for token in self.tokens[start + 1 :]):
            self._silence(start)
            self._add("noise", at, at + 1)
        else:
            self._add("close", at, at + 1)
        return at + 1

    def _word(self, at: int) -> int:
        end = self._end_of_word(at)
        text = self._text[at:end]
        term = wild.read(text) if self._demands < MAX_DEMANDS else None
        if isinstance(term, Term) and term.form == "wildcard":
            self._inner += 1
            if self._inner > wild.MAX_INNER:
                term = wild.TOO_MANY.format(f"“{text[:_SHOWN]}”")
        if isinstance(term, Term):
            self._demands += 1
            self._add(cast(Sort, term.form), at, end, term.words)
            return end
        if term is not None:
            self._warn(f"{term}; it is read as text")
        words = runs_of(text)
        self._add("word" if words else "noise", at, end, words)
        return end

    def _end_of_word(self, at: int) -> int:
        """The place of the next space or quote, or of a parenthesis that closes an outer one."""
        text, inside = self._text, 0
        while at < len(text) and not text[at].isspace() and text[at] != '"':
            if text[at] == "`" and (code := _CODE.match(text, at)):
                at = code.end()
                continue
            if text[at] == "(":
                inside += 1
            elif text[at] == ")":
                if not inside and self._open:
                    break
                inside = max(0, inside - 1)
            at += 1
        return at

    def _is_sign(self, at: int) -> bool:
        """Whether + or - is an operator: ``-w``, ``-1`` and ``--flag`` are words.

        A number takes no sign; the hash of a commit does.
        """
        text = self._text
        before = text[at - 1] if at else " "
        after = text[at + 1] if at + 1 < len(text) else " "
        if not (before.isspace() or before == "("):
            return False
        if after in '"(':
            return True
        if not after.isalpha():
            word = text[at + 1 : self._end_of_word(at + 1)]
            return hashes_alone(word) or bool(wild.PATTERN.fullmatch(word))
        # "-q", "-q/--quiet" and "-q," are flags of a program.
        is_flag = after.isascii() and not text[at + 2 : at + 3].isalnum()
        return text[at] == "+" or not is_flag

    def _demand(self, sort: str, start: int, end: int, condition: Condition | None = None) -> int:
        self._demands += 1
        if self._demands == MAX_DEMANDS:
            self._warn(f"operators and fields after the first {MAX_DEMANDS} are read as text")
        self.tokens.append(Token(sort, start, end, (), condition))  # type: ignore[arg-type]
        return end

    def _add(self, sort: Sort, start: int, end: int, words: tuple[str, ...] = ()) -> None:
        self.tokens.append(Token(sort, start, end, words))

    def _as_text(self, index: int, why: str) -> None:
        token = self.tokens[index]
        self._warn(f"the parenthesis before {self._shown(token.end)} {why}; it is read as text")
        self._silence(index)

    def _silence(self, index: int) -> None:
        """Turn a parenthesis, and the sign before it, into text."""
        token = self.tokens[index]
        self.tokens[index] = Token("noise", token.start, token.end)
        before = self.tokens[index - 1] if index else token
        if before.sort in ("minus", "plus") and before.end == token.start:
            self.tokens[index - 1] = Token("noise", before.start, before.end)

    def _shown(self, at: int) -> str:
        rest = " ".join(self._text[at : at + 4 * _SHOWN].split())
        if not rest:
            return "the end"
        return f"“{rest[:_SHOWN].rstrip()}{'…' if len(rest) > _SHOWN else ''}”"

    def _warn(self, warning: str) -> None:
        if warning not in self.warnings and len(self.warnings) < 10:
            self.warnings.append(warning)
