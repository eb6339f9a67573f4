"""The words of a language that show what a question in plain words asks for.

Each language is one file of data and one line in ``LANGUAGES``. ``plain_words`` reads kinds, people
and facts with them, ``question_times`` the times. Every set is the union over all languages,
because people mix them (``Mails from Ilse``). A word is left out where it means something else in
another language: German ``an`` (to) is an English article.
"""

from __future__ import annotations

from typing import Final

from mem_search.text.languages.de import GERMAN
from mem_search.text.languages.en import ENGLISH
from mem_search.text.languages.es import SPANISH
from mem_search.text.languages.fr import FRENCH
from mem_search.text.languages.language import Calendar, Language

LANGUAGES: Final[tuple[Language, ...]] = (ENGLISH, GERMAN, FRENCH, SPANISH)
CALENDARS: Final = tuple(Calendar(each.times) for each in LANGUAGES if each.times is not None)
TIME_MARKS: Final = frozenset(word for each in CALENDARS for word in each.marks)
"""Only a text with one of these words, lower-case, can name a time in another language."""


def words(name: str) -> frozenset[str]:
    """The words that all languages list under ``name``, such as ``leading``."""
    return frozenset(word for each in LANGUAGES for word in getattr(each, name).split())


EMPTY: Final = words("empty")
FUNCTION_WORDS: Final = EMPTY.union(
    *map(words, "leading own following never senders recipients auxiliaries persons articles"
         " joining particles".split())
)  # fmt: skip
"""Words that are no slip for another one."""


def foreign_times(text: str) -> list[tuple[int, int, str]]:
    """(start, end, the same in English) for each time in ``text`` in another language.

    In the order of the text, without overlaps: the longest reading of a place has it.
    """
    read = [each for calendar in CALENDARS for each in calendar.find(text)]
    times: list[tuple[int, int, str]] = []
    for start, end, english in sorted(read, key=lambda each: each[0] - each[1]):
        if all(end <= first or after <= start for first, after, _ in times):
            times.append((start, end, english))
    return sorted(times)
