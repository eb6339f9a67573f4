"""Times in a question: which days it names, and whether it asks for anything else.

A phrase is taken where it can hardly mean anything else: a word of the question is kept rather
than taken for a time. Not taken is what is quoted, in code or part of an identifier; a word that
is capitalised as in a name (``Last Week Tonight``); ``last 30 days of logs`` and ``older than 3
days ago``; ``due next week``; a time that is still to come. Times in other languages are those of
``text.languages``. In a question that asks only what happened (``what did we
do Tuesday``) any date of ``date_words`` is taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final, Literal

from mem_search.errors import InputError
from mem_search.model import DateRange, FoundDate
from mem_search.patterns import pattern
from mem_search.text import languages, words
from mem_search.text.calendar_words import HOLIDAY, MONTHS, SEASON
from mem_search.text.date_words import COUNT, UNIT, WEEKDAY, WEEKDAYS, to_ms
from mem_search.text.dates import local_range, normalised, parse_range

MAX_TIMES: Final = 4
"""Times of one question; further ones stay words."""

EMPTY: Final = (
    words.STOP_WORDS
    | languages.EMPTY
    | frozenset(
        "about accomplish accomplished achieve achieved activities activity again all any"
        " anything been being can change changed complete completed could discuss discussed"
        " display documents doing done else entries everything finish finished get give go going"
        " got happen happened happening happens items just let list look me more one our over"
        " overview please recall recap records remember remind review see should show so some"
        " something stuff summaries summarise"
        " summarize summary talk talked tell there thing things through time together up us went"
        " work worked working worth".split()
    )
)
"""Words that ask for nothing in particular beside a time; with those that never rank."""

_ASKS_FOR_A_TIME: Final = frozenset(
    "accomplish accomplished achieved activity anything changed completed did display done"
    " everything finished happened list recap show summarise summarize summary was worked".split()
)
"""One of these makes clear that ``Tuesday`` in the question is a day."""

_EVENTS: Final = frozenset(
    "added announced bought built committed created decided deleted deployed fixed learned merged"
    " ordered paid published pushed received released removed reverted sent shipped signed written"
    " wrote entschieden gekauft geliefert veröffentlicht publié sorti comprado publicado".split()
)
"""What can be asked of a time without naming anything: its events are those from then."""

_ASKING: Final = frozenset("what which was wurde qu que qué quoi".split())

# Phrases that can hardly mean anything else.
_LONG_MONTH: Final = "|".join(name for name in MONTHS if name != "may")
_CAPITAL_MONTH: Final = "|".join(name.title()[:3] for name in MONTHS if name != "may")
_ANY_MONTH: Final = rf"(?:{'|'.join(MONTHS)}|sept|{_CAPITAL_MONTH.lower()})\.?"
# "may" is a verb, and code has "dec" and "mar": alone they need a capital.
_SURE_MONTH: Final = rf"(?:{_LONG_MONTH}|(?-i:May|Sept|(?:{_CAPITAL_MONTH})\.?))"
_NO_NAME: Final = "(?:january|february|(?-i:March)|july|september|october|november|december)"
"""Months after which nobody is called: a mail from April may be hers."""
_YEAR: Final = "(?:19[89]|20[0-9])[0-9]"
# "in 2000 files": a number before a plural or a unit is no year.
_NO_COUNT: Final = r"(?:as|is|was|has|does|this|its|us|vs|across|versus)\b"
_LONE_YEAR: Final = rf"{_YEAR}(?!\s+(?!{_NO_COUNT})(?:[a-z]+s|token|record|[kmg]?b|px)\b)"
_NTH: Final = "[0-3]?[0-9](?:st|nd|rd|th)?"
_MONTH_YEAR: Final = rf"{_ANY_MONTH}(?:,\s?|\s){_YEAR}"
_DAY_YEAR: Final = rf"(?:{_ANY_MONTH}\s{_NTH}|{_NTH}\s(?:of\s)?{_ANY_MONTH})(?:,\s?|\s){_YEAR}"
_DAY: Final = rf"(?:{_DAY_YEAR}|{_ANY_MONTH}\s{_NTH}|{_NTH}\s(?:of\s)?{_ANY_MONTH})"
_ISO: Final = rf"{_YEAR}-[01][0-9](?:-[0-3][0-9])?"
_EXPLICIT: Final = "|".join(
    (
        r"day\sbefore\syesterday|yesterday\s(?:morning|afternoon|evening)|yesterday|today|tonight",
        r"this\s(?:morning|afternoon|evening)|last\snight|(?:this|last|past)\s(?:week|month|year)",
        rf"(?:this|last|past)\sweekend|week\sof\s(?:{_ISO}|{_DAY})",
        rf"{COUNT}\s{UNIT}\sago|(?:last|past)\s{COUNT}\s{UNIT}|past\s(?:day|hour)",
        rf"(?:last|this)\s(?:{_SURE_MONTH}|{WEEKDAY})",
        rf"{_DAY_YEAR}|{_MONTH_YEAR}|(?-i:(?:{_CAPITAL_MONTH})[a-z]*)\s{_NTH}",
    )
)
# "Spring" is a framework, and "fall" a verb: alone they need an article.
_HOLIDAY: Final = HOLIDAY.replace(" ", r"\s")
_LONG: Final = (
    rf"(?:{SEASON}\s(?:of\s)?{_YEAR}|(?:last|this)\s{SEASON}|(?:summer|autumn|winter)|the\s{SEASON}"
    rf"|[QH][1-4]|(?:last|this|first|second|third|fourth|1st|2nd|3rd|4th)\s(?:quarter|half)"
    rf"|{_HOLIDAY})(?:,?\s(?:of\s)?{_YEAR})?"
)
_SURE_LONG: Final = (
    rf"(?:last|this)\s(?:{SEASON}|quarter)|{SEASON}\s(?:of\s)?{_YEAR}|[QH][1-4]\s(?:of\s)?{_YEAR}"
    rf"|(?:first|second|third|fourth|1st|2nd|3rd|4th)\s(?:quarter|half)\s(?:of\s)?{_YEAR}"
    rf"|(?:around|last)\s{_HOLIDAY}(?:\s{_YEAR})?|{_HOLIDAY}\s{_YEAR}"
)
_TOLD_LATER: Final = pattern(rf"\b(?:{SEASON}|{HOLIDAY})\b", re.IGNORECASE)
_DAYS_OF_A_MONTH: Final = (
    rf"{_ANY_MONTH}\s{_NTH}\s?(?:and|to|until|till|-|–)\s?(?:the\s)?{_NTH}(?:,?\s{_YEAR})?"
    rf"|(?:the\s)?{_NTH}\s?(?:and|to|until|till|-|–)\s?(?:the\s)?{_NTH}\s(?:of\s)?{_ANY_MONTH}(?:,?\s{_YEAR})?"
)
POINT: Final = rf"(?:the\s)?(?:{_EXPLICIT}|{_ISO}|{_DAY}|{WEEKDAY}|{_SURE_MONTH}|{_LONE_YEAR})"
QUOTED: Final = pattern(
    r""" "[^"]*(?:"|\Z) | “[^”]*(?:”|\Z) | `[^`]*(?:`|\Z) | (?<!\w)'[^'\n]{1,200}'(?!\w) """,
    re.VERBOSE,
)
# "the week before March" is one week, not all time before March.
_DISTANCE: Final = pattern(rf"\b(?:{UNIT}|{WEEKDAY}|night|morning)\s$", re.IGNORECASE)
_CLOSING: Final = tuple("?!.,;:)]}")
_PHRASE: Final = pattern(
    rf"""(?<![\w\-./@\#:])
    (?P<date> (?:between|from)\s(?:{_DAYS_OF_A_MONTH})
      | (?:between|from)\s{_LONG}\s(?:and|to|until|till|-)\s{_LONG}
      | (?:(?:on|from|in|of)\s)?(?:{_DAYS_OF_A_MONTH})(?=\s*[?.!,]|\s*\Z|\s[a-z])
      | (?:since|after|before|until|till)\s(?:the\s)?{_LONG}
      | (?:in|during|over|at|from|of)\s(?:the\s)?{_LONG}
      | (?:the\s)?(?:{_SURE_LONG})
      | (?:between|from)\s{POINT}\s(?:and|to|until|till|-)\s{POINT}
      | (?:since|after|before|until|till|as\sof)\s{POINT}
      | by\s(?:{_DAY}|{_ISO}|{_MONTH_YEAR})
      | (?:in|during)\s(?:{_ISO}|{_MONTH_YEAR}|{_SURE_MONTH}|{_LONE_YEAR})
      | (?:on|from)\s(?:{_DAY}|{_ISO}|{_MONTH_YEAR}|{WEEKDAY})
      | (?:on|over|at)\s(?:the\s)?weekend
      | from\s{_NO_NAME}(?!\s(?:to|until|till|and|-)\s)
      | from\s{_LONE_YEAR}(?!\s(?:to|until|till|-)\s)
      | (?:(?:in|on|during|from|over|within|of|for)\s)?(?:the\s)?(?:{_EXPLICIT})
    )(?:['’]s)?(?![\w\-/@\#]|\.\w)""",
    re.VERBOSE | re.IGNORECASE,
)

_MARKS: Final = frozenset(
    "ago half last past quarter sept this today tonight weekend yesterday".split()
    + [name[:length] for name in MONTHS for length in (3, len(name))]
    + WEEKDAYS
    + re.findall(r"[a-z]{3,}", SEASON + HOLIDAY)
) - {"new", "day", "eve"}
"""A phrase has one of these words, or a year or a quarter. Where none is, nobody needs the pattern
of phrases, which takes 54 ms to compile: a sixteenth of the time to the first answer."""

_NUMBER_MARK: Final = pattern(rf"{_YEAR}|\b[qh][1-4]\b", re.IGNORECASE)
_LETTERS: Final = pattern(r"[^\W\d_]+")
_MAX_DUE_CHARS: Final = 24
"""Characters before a time that may say what it is the time of."""

DUE: Final = "|".join(each.due for each in languages.LANGUAGES if each.due)
IS_DUE: Final = pattern(rf"(?<!\w)(?:{DUE})\s(?:on\s|by\s|the\s)?$", re.IGNORECASE)
"""Before a time: by then something is due; nothing was made then."""

_MAX_TIME_CHARS: Final = 120
"""Characters of a question that may be only a time."""

_MAX_TEXT_CHARS: Final = 1_000
"""Characters; a longer text is pasted, and its times are those of its own story."""

_OF: Final = pattern(r"\s+of\s", re.IGNORECASE)
_ENDS_IN_UNIT: Final = pattern(rf"(?:last|this|past)\s(?:{COUNT}\s)?{UNIT}", re.IGNORECASE)
_THAN: Final = pattern(r"\bthan\s$", re.IGNORECASE)
_NUMBERED: Final = pattern(r"\s+(?:the\s+)?[0-3]?[0-9](?:st|nd|rd|th)\b", re.IGNORECASE)
_RELATIVE: Final = pattern(
    r"\b(?:Yesterday|Today|Tonight|Last|This|Past|Week|Weekend|Month|Year|Night|Morning|Afternoon"
    r"|Evening|Ago|Day|Days|Weeks|Months|Years)\b"
)
_TODAYS: Final = pattern(r"(?:today|tonight)['’]s", re.IGNORECASE)
_MONTH_ALONE: Final = pattern(rf"(?:{_ANY_MONTH})")
_MONTH_AFTER: Final = pattern(rf"\b(?:in|during|of|for|from|last)\s+{_ANY_MONTH}", re.IGNORECASE)
_NO_DATE: Final = pattern(r"[0-9. +-]*[a-z]?|now")
_WORD: Final = pattern(r"[\w'’.,/-]+")


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a question. ``rest`` is the question without them; ``alone``: it has only
    empty words, so the question asks for all that is from these times. ``binds``: beside a verb,
    as in ``what was released in December``, only what is from these times is asked for.
    """

    dates: tuple[FoundDate, ...]
    rest: str
    alone: bool
    binds: bool = False


def find_times(text: str, now: datetime, tz: tzinfo) -> Times | None:
    """The times that a question names, at most ``MAX_TIMES``; None when it names none."""
    if len(text) > _MAX_TEXT_CHARS:
        return None
    spans = _clear_phrases(text, now, tz)
    rest = text
    for start, end, _ in reversed(spans):
        rest = _without(rest, start, end)
    alone = _is_empty(rest)
    if not alone:
        rest = _without_times(text, spans)
    if spans and not alone:
        todays = (span for span in spans if not _TODAYS.search(text, *span[:2]))
        present = to_ms(now)
        kept = [each for each in todays if each[2].start is None or each[2].start <= present]
        if kept != spans:
            spans, rest = kept, _without_times(text, kept)
    if spans:
        binds = not alone and _is_of_events(rest)
        use: Literal["lift", "filter"] = "filter" if alone or binds else "lift"
        dates = [_date_of(text[start:end], span, use, now, tz) for start, end, span in spans]
        return Times(tuple(dates), rest, alone, binds)
    return _only_a_time(text, now, tz)


def _without_times(text: str, spans: list[tuple[int, int, DateRange]]) -> str:
    """``text`` without the words of ``spans``. A season or a holiday stays: what is told of a
    summer is told in autumn, and says summer.
    """
    for start, end, _ in reversed(spans):
        if not _TOLD_LATER.search(text, start, end):
            text = _without(text, start, end)
    return text


def _date_of(
    phrase: str, span: DateRange, use: Literal["lift", "filter"], now: datetime, tz: tzinfo
) -> FoundDate:
    ahead = span.start is not None and span.start > to_ms(now)
    return FoundDate(phrase, span, use, local_range(span, tz, now), ahead)


def _clear_phrases(text: str, now: datetime, tz: tzinfo) -> list[tuple[int, int, DateRange]]:
    """The places and ranges of phrases that are times, in the order of the text."""
    asked = _LETTERS.findall(text.lower())
    quoted = [match.span() for match in QUOTED.finditer(text)]
    phrases: list[tuple[int, int, DateRange]] = []
    may_name_one = not _MARKS.isdisjoint(asked) or _NUMBER_MARK.search(text)
    for match in _PHRASE.finditer(text) if may_name_one else ():
        start, end = match.span()
        if any(start < after and first < end for first, after in quoted):
            continue
        if _is_something_else(text, match):
            continue
        try:
            span = parse_range(match["date"], now=now, tz=tz)
        except InputError:  # "on 31 February" remains in the query as words
            continue
        phrases.append((start, end, span))
        if len(phrases) == MAX_TIMES:
            break
    if languages.TIME_MARKS.isdisjoint(asked):
        return phrases
    return _with_foreign(text, phrases, quoted, now, tz)


def _with_foreign(
    text: str,
    phrases: list[tuple[int, int, DateRange]],
    quoted: list[tuple[int, int]],
    now: datetime,
    tz: tzinfo,
) -> list[tuple[int, int, DateRange]]:
    """``phrases`` with the times in other languages; of two in one place the longer one stays."""
    for start, end, english in languages.foreign_times(text):
        there = [each for each in phrases if start < each[1] and each[0] < end]
        is_shorter = any(after - first >= end - start for first, after, _ in there)
        is_quoted = any(start < after and first < end for first, after in quoted)
        if is_shorter or is_quoted or IS_DUE.search(text[max(0, start - _MAX_DUE_CHARS) : start]):
            continue
        try:
            span = parse_range(english, now=now, tz=tz)
        except InputError:
            continue
        phrases = [each for each in phrases if each not in there] + [(start, end, span)]
    return sorted(phrases, key=lambda each: each[0])[:MAX_TIMES]


def _is_something_else(text: str, match: re.Match[str]) -> bool:
    """Whether the words around a phrase, or its capitals, show that it is no time."""
    start, end = match.span()
    before, phrase = text[max(0, start - _MAX_DUE_CHARS) : start], match["date"]
    if phrase[:6].lower().startswith(("before", "after")) and _DISTANCE.search(before):
        return True
    if _THAN.search(before) or IS_DUE.search(before):
        return True
    if _OF.match(text, end) and _ENDS_IN_UNIT.search(phrase):
        return True
    if re.search(rf"{WEEKDAY}$", phrase, re.IGNORECASE) and _NUMBERED.match(text, end):
        return True
    # A capital is usual only at the beginning, or where everything is in capitals.
    first = len(text) - len(text.lstrip())
    spelt = phrase.replace("New Year", "new year")  # its capitals are usual
    capitals = [at.start() + start for at in _RELATIVE.finditer(spelt)]
    return not text.isupper() and any(at > first for at in capitals)


def _is_empty(text: str) -> bool:
    return EMPTY.issuperset(words.runs_of(text))


def _is_of_events(text: str) -> bool:
    """Whether ``text`` asks what was done, and names nothing: ``what was released``."""
    runs = set(words.runs_of(text))
    return bool(runs & _EVENTS) and (EMPTY | _EVENTS).issuperset(runs) and bool(runs & _ASKING)


def _only_a_time(text: str, now: datetime, tz: tzinfo) -> Times | None:
    """A question like ``what did we do Tuesday``: any date between words that ask for nothing."""
    if len(text) > _MAX_TIME_CHARS or '"' in text or "`" in text:
        return None
    asked = list(_WORD.finditer(text))
    if not _ASKS_FOR_A_TIME & {word[0].lower().strip(".,") for word in asked}:
        return None
    full = [at for at, word in enumerate(asked) if not _is_empty(word[0])]
    if not full:
        return None
    start, end = asked[full[0]].start(), asked[full[-1]].end()
    phrase = text[start:end].rstrip(".,")
    plain = normalised(phrase)
    if _NO_DATE.fullmatch(plain) and not re.fullmatch(_ISO, plain):
        return None
    if _MONTH_ALONE.fullmatch(plain) and not _MONTH_AFTER.search(text):
        return None
    try:
        span = parse_range(phrase, now=now, tz=tz)
    except InputError:
        return None
    date = _date_of(phrase, span, "filter", now, tz)
    return Times((date,), _without(text, start, end), True)


def _without(text: str, start: int, end: int) -> str:
    before, after = text[:start].rstrip(), text[end:].lstrip()
    if not before:
        return after.lstrip(" ,;:").rstrip()
    return (before + ("" if after.startswith(_CLOSING) else " ") + after).rstrip()
