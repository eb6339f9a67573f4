"""What a language says of itself, and times in it, said in English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.calendar_words import MONTHS
from mem_search.text.date_words import WEEKDAYS

Forms = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeWords:
    """How a language names times.

    ``months`` and ``weekdays`` are in the order of the calendar, ``counts`` from one; other
    spellings of one follow after ``|``. ``units`` maps each form of a unit to the English one.
    ``forms`` are (expression, English): MONTH, WEEKDAY, UNIT, COUNT, DAY and YEAR stand for such
    words, and ``{0}`` for the first of them. ``prefixes`` maps a word before a date to English;
    after one a month, a weekday or a year is enough. ``ranges`` are the English ``(from, to)`` by
    the words before and between two dates. ``marks`` are words that show the language.
    """

    months: str
    weekdays: str
    counts: str
    units: Mapping[str, str]
    forms: Forms
    prefixes: Mapping[str, str]
    ranges: Mapping[tuple[str, str], tuple[str, str]]
    marks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The words of a language by what they do in a question, separated by spaces.

    ``leading``: before what is asked for, and ask for nothing themselves. ``own``: ``my``.
    ``following``: begin what is said about the document. ``never``: the question asks for no
    document. ``documents``: sorts of document. ``senders``, ``recipients``: before a name.
    ``sent``: after who sent it; ``inverted``: before who sent it. ``send``: after ``did NAME``.
    ``auxiliaries``: between who and ``sent``. ``persons``: I, who. ``articles``: before a name.
    ``joining``: and, or. ``as_one``: before the kind, as in ``as a PDF``. ``empty``: what of
    ``leading`` and the like is certainly empty beside a time or a kind. ``particles``: other words
    of every text, which are no slip for a word of another language. ``participles``: say what was
    done with a document of any sort: scanned.

    ``kinds`` and ``perhaps_kinds`` map words to a field of the query language, like ``asked_as``
    and ``may_be_asked_as`` of a kind. ``amounts`` maps words before an amount to its comparison,
    ``between`` are the two words around two amounts. ``money`` maps words for a currency to its
    code. ``due``, ``overdue``, ``how_much`` are regular expressions.
    """

    leading: str = ""
    own: str = ""
    following: str = ""
    never: str = ""
    documents: str = ""
    senders: str = ""
    recipients: str = ""
    sent: str = ""
    inverted: str = ""
    send: str = ""
    auxiliaries: str = ""
    persons: str = ""
    articles: str = ""
    joining: str = ""
    empty: str = ""
    particles: str = ""
    participles: str = ""
    as_one: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    perhaps_kinds: Mapping[str, str] = field(default_factory=dict)
    amounts: Mapping[str, str] = field(default_factory=dict)
    between: tuple[str, str] = ("between", "and")
    money: Mapping[str, str] = field(default_factory=dict)
    due: str = ""
    overdue: str = ""
    how_much: str = ""
    times: TimeWords | None = None


# Times in other languages, said in English: ``vor zwei Wochen`` → ``2 week ago``.

_DAY: Final = r"[0-3]?\d"
# "von 2024 Nutzern", "de 2024 personnes": a number before what is counted is no year.
_YEAR: Final = r"(?:19[89]|20\d)\d(?!\s(?:(?-i:[A-ZÄÖÜ])|\w{2,20}s\b))"


class Calendar:
    """Finds the times of one language. ``marks`` are words of which a text with a time has one."""

    def __init__(self, said: TimeWords) -> None:
        self.marks: Final = frozenset(said.marks.split())
        self._english: dict[str, str] = dict(said.units)
        places = {"DAY": _DAY, "YEAR": _YEAR, "UNIT": _any(said.units)}
        numbers = [str(number) for number in range(1, 13)]
        for name, listed, english in (
            ("MONTH", said.months, MONTHS),
            ("WEEKDAY", said.weekdays, WEEKDAYS),
            ("COUNT", said.counts, numbers),
        ):
            spelt = {
                word: meant
                for spellings, meant in zip(listed.split(), english, strict=True)
                for word in spellings.split("|")
            }
            self._english |= spelt
            places[name] = _any(spelt)
        places["COUNT"] = rf"\d{{1,3}}|{places['COUNT']}"
        self._forms = [
            (pattern(_filled(form, places), re.IGNORECASE), english) for form, english in said.forms
        ]
        point = "|".join(form.pattern for form, _ in self._forms)
        point = re.sub(r"\((?!\?)", "(?:", point)
        bare = rf"{point}|{places['MONTH']}|{places['WEEKDAY']}|{_YEAR}"
        self._prefixes, self._ranges = said.prefixes, said.ranges
        self._phrase = pattern(
            rf"(?<![\w\-./@\#:])(?:(?P<first>{_any(first for first, _ in said.ranges)})\s"
            rf"(?P<from>{bare})\s(?P<second>{_any(second for _, second in said.ranges)})\s"
            rf"(?P<to>{bare})|(?P<prefix>{_any(said.prefixes)})\s(?P<bare>{bare})"
            rf"|(?P<point>{point}))(?![\w\-/@\#]|\.\w)",
            re.IGNORECASE,
        )

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, English) for each time in ``text``."""
        for match in self._phrase.finditer(text):
            if match["first"]:
                words = match["first"].lower(), match["second"].lower()
                if words not in self._ranges:
                    continue
                between, to = self._ranges[words]
                first, last = self._said(match, "from"), self._said(match, "to")
                english = f"{between} {first} {to} {last}"
            elif match["prefix"]:
                prefix = self._prefixes[match["prefix"].lower().replace("’", "'")]
                english = f"{prefix} {self._said(match, 'bare')}"
            else:
                english = self._said(match, "point")
            yield match.start(), match.end(), english

    def _said(self, found: re.Match[str], group: str) -> str:
        """A phrase without a word before it, in English. A form may ask for the word before it."""
        for form, english in self._forms:
            if match := form.fullmatch(found.string, *found.span(group)):
                groups = [(each or "").lower() for each in match.groups()]
                return english.format(*(self._english.get(each, each) for each in groups)).strip()
        return self._english.get(found[group].lower(), found[group])


def _any(words: Iterable[str]) -> str:
    listed = sorted(set(words), key=len, reverse=True)
    return "|".join(re.escape(word).replace("'", "['’]").replace(r"\ ", " ") for word in listed)


def _filled(form: str, places: dict[str, str]) -> str:
    return re.sub(
        "MONTH|WEEKDAY|UNIT|COUNT|DAY|YEAR",
        lambda match: places[match[0]] if match[0] == "YEAR" else f"(?:{places[match[0]]})",
        form,
    )
