"""What a language says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
