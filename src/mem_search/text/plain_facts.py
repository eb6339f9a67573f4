"""Facts of documents in a question: ``over 100 euros``, ``due next week``, ``how much was …``.

An amount is read where it has a currency or stands right after a sort of document (``invoices over
200``). A day by which something is due may be still to come, other than a time in a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from mem_search.patterns import pattern
from mem_search.text import question_times
from mem_search.text.calendar_words import MONTHS
from mem_search.text.date_words import WEEKDAYS
from mem_search.text.languages import LANGUAGES, foreign_times, words


@dataclass(frozen=True, slots=True)
class NamedField:
    """What a question names at ``start:end``, as ``field`` of the query language.

    Of a person ``field`` is ``from`` or ``to`` alone, and ``names`` are what they may be called,
    the whole phrase first; where no record names the person, it is ``otherwise``. ``sure``: the
    words can hardly mean anything else.
    """

    phrase: str
    start: int
    end: int
    field: str
    part: Literal["kind", "person", "fact", "time", "negation", "intent"]
    sure: bool
    names: tuple[str, ...] = ()
    otherwise: str = ""


DOCUMENTS: Final = words("documents")
"""Sorts of document that a question may call by name, beside its kind or its sender."""

_SIGNS: Final = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}
_CODES: Final = "EUR USD GBP CHF JPY CAD AUD SEK NOK DKK PLN CZK".split()
_CURRENCIES: Final = (
    {code.lower(): code for code in _CODES}
    | _SIGNS
    | {word: code for each in LANGUAGES for word, code in each.money.items()}
)
_COMPARED: Final = {word: sign for each in LANGUAGES for word, sign in each.amounts.items()}


def _any(listed: object) -> str:
    return "|".join(map(re.escape, sorted(listed, key=len, reverse=True)))  # type: ignore[call-overload]


_NUMBER: Final = r"\d{1,3}(?:[.,'’ ]\d{3}){1,3}(?:[.,]\d{1,2})?|\d{1,9}(?:[.,]\d{1,2})?k?"
_CURRENCY: Final = rf"(?:{_any(_CODES)}|{_any(word for word in _CURRENCIES if word.isalpha())})\b"


def _money(name: str) -> str:
    """An amount with or without a currency before or after it."""
    sign = rf"[{''.join(_SIGNS)}]"
    return (
        rf"(?:(?P<{name}_before>{sign}|{_CURRENCY})\s?)?(?P<{name}>{_NUMBER})(?![\d%])"
        rf"(?:\s?(?P<{name}_after>{sign}|{_CURRENCY}))?"
    )


_BETWEEN: Final = dict(each.between for each in LANGUAGES)
MONEY: Final = rf"[{''.join(_SIGNS)}]\s?\d|\d\s?[{''.join(_SIGNS)}]|\d\s?{_CURRENCY}"
_AMOUNT: Final = pattern(
    rf"(?<![\w-])(?:(?P<sign>{_any(_COMPARED)})\s{_money('one')}"
    rf"|(?P<first>{_any(_BETWEEN)})\s{_money('low')}\s(?P<second>{_any(_BETWEEN.values())})\s"
    rf"{_money('high')})(?![\w-]|[.,]\d)",
    re.IGNORECASE,
)
_AFTER_NUMBER: Final = words("following") | words("senders") | words("joining")
_LAST_WORD: Final = pattern(r"([^\W\d_]+)\s*\Z")
_NEXT_WORD: Final = pattern(r"\s+([^\W_]+)")
_DECIMALS: Final = pattern(r"[.,](\d{1,2})\Z")

_MONTH_OR_DAY: Final = rf"(?:{'|'.join([*MONTHS, *WEEKDAYS])})"
_DUE: Final = pattern(
    rf"""(?<!\w)(?:{question_times.DUE})\s
    (?:(?P<by>by|before|until|till|after|since|on|in|for)\s)?(?:the\s)?
    (?P<date>next\s(?:week|month|year|{_MONTH_OR_DAY})|tomorrow|{question_times.POINT})(?![\w-])""",
    re.VERBOSE | re.IGNORECASE,
)
_DUE_FOREIGN: Final = pattern(rf"(?<!\w)(?:{question_times.DUE})\s(?:le\s|el\s)?", re.IGNORECASE)
_BY: Final = {"by": "<=", "until": "<=", "till": "<=", "before": "<", "after": ">", "since": ">="}
_BARE: Final = pattern(_MONTH_OR_DAY, re.IGNORECASE)
_ENGLISH_DATE: Final = pattern(r"(?:(by|before|until|after|since|on|in|from|during) )?(.+)")
_OVERDUE_SOURCE: Final = "|".join(each.overdue for each in LANGUAGES if each.overdue)
_OVERDUE: Final = pattern(rf"(?<!\w)(?:{_OVERDUE_SOURCE})(?!\w)", re.IGNORECASE)
_HOW_MUCH_SOURCE: Final = "|".join(each.how_much for each in LANGUAGES if each.how_much)
_HOW_MUCH: Final = pattern(rf"(?<!\w)(?:{_HOW_MUCH_SOURCE})", re.IGNORECASE)
PRICED: Final = "has:amount"
"""What ``how much was the dentist`` asks for."""

ASKING: Final = f"{question_times.DUE}|{_OVERDUE_SOURCE}|{_HOW_MUCH_SOURCE}"
"""Only a text with one of these, or with ``MONEY``, or with a sort of document names a fact."""


def find(text: str) -> list[NamedField]:
    """The facts that ``text`` names, in no particular order."""
    return [*_amounts(text), *_due(text), *_how_much(text)]


def _amounts(text: str) -> Iterator[NamedField]:
    for match in _AMOUNT.finditer(text):
        currency = next(
            (
                _CURRENCIES[match[name].lower()]
                for name in ("one_before", "one_after", "low_before", "low_after",
                             "high_before", "high_after")
                if match[name]
            ),
            None,
        )  # fmt: skip
        if currency is None and not _is_of_document(text, match):
            continue
        start, end = match.span()
        phrase = match[0]
        if match["sign"]:
            sign = _COMPARED[match["sign"].lower()]
            yield NamedField(
                phrase, start, end, f"amount{sign}{_value(match['one'])}", "fact", True
            )
        elif _BETWEEN.get(match["first"].lower()) == match["second"].lower():
            low, high = _value(match["low"]), _value(match["high"])
            yield NamedField(phrase, start, end, f"amount>={low}", "fact", True)
            yield NamedField(phrase, end, end, f"amount<={high}", "fact", True)
        if currency:  # not every document says its currency
            yield NamedField(phrase, end, end, f"currency:{currency}", "fact", False)


def _is_of_document(text: str, match: re.Match[str]) -> bool:
    """Whether a number without a currency is clearly the amount of a document."""
    before = _LAST_WORD.search(text, 0, match.start())
    after = _NEXT_WORD.match(text, match.end())
    return (
        before is not None
        and before[1].lower() in DOCUMENTS
        and (after is None or after[1].lower() in _AFTER_NUMBER)
    )


def _value(number: str) -> str:
    """``1.200,50`` → ``1200.50``, ``2k`` → ``2000``."""
    thousands = number[-1] in "kK"
    decimals = _DECIMALS.search(number)
    whole = re.sub(r"\D", "", number[: decimals.start()] if decimals else number)
    value = f"{whole}.{decimals[1]}" if decimals else whole
    return f"{float(value) * 1000:g}" if thousands else value


def _due(text: str) -> Iterator[NamedField]:
    for match in _OVERDUE.finditer(text):
        yield NamedField(match[0], *match.span(), "due_date<today", "fact", True)
    for match in _DUE.finditer(text):
        yield _due_on(text, *match.span(), (match["by"] or "").lower(), match["date"])
    foreign = [*_DUE_FOREIGN.finditer(text)]
    for start, end, english in foreign_times(text) if foreign else ():
        of = [each for each in foreign if each.end() == start]
        said = _ENGLISH_DATE.fullmatch(english)
        if of and said and not _DUE.match(text, of[0].start()):
            yield _due_on(text, of[0].start(), end, said[1] or "", said[2])


def _due_on(text: str, start: int, end: int, by: str, date: str) -> NamedField:
    """``date`` in English, perhaps after ``by``. A lone month or weekday is of this year or week:
    what is due may be still to come.
    """
    date = f"this {date}" if _BARE.fullmatch(date) else date
    field = f'due_date{_BY.get(by, ":")}"{date}"'
    return NamedField(text[start:end], start, end, field, "fact", True)


def _how_much(text: str) -> Iterator[NamedField]:
    for match in _HOW_MUCH.finditer(text):
        yield NamedField(match[0], *match.span(), PRICED, "fact", False)
