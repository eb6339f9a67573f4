"""Times in other languages, said in English: ``vor zwei Wochen`` → ``2 week ago``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.date_words import MONTHS, WEEKDAYS
from mem_search.text.languages.language import TimeWords

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
                english = f"{between} {self._said(match['from'])} {to} {self._said(match['to'])}"
            elif match["prefix"]:
                prefix = self._prefixes[match["prefix"].lower().replace("’", "'")]
                english = f"{prefix} {self._said(match['bare'])}"
            else:
                english = self._said(match["point"])
            yield match.start(), match.end(), english

    def _said(self, phrase: str) -> str:
        """A phrase without a word before it, in English."""
        for form, english in self._forms:
            if match := form.fullmatch(phrase):
                groups = [(each or "").lower() for each in match.groups()]
                return english.format(*(self._english.get(each, each) for each in groups)).strip()
        return self._english.get(phrase.lower(), phrase)


def _any(words: Iterable[str]) -> str:
    listed = sorted(set(words), key=len, reverse=True)
    return "|".join(re.escape(word).replace("'", "['’]").replace(r"\ ", " ") for word in listed)


def _filled(form: str, places: dict[str, str]) -> str:
    return re.sub(
        "MONTH|WEEKDAY|UNIT|COUNT|DAY|YEAR",
        lambda found: places[found[0]] if found[0] == "YEAR" else f"(?:{places[found[0]]})",
        form,
    )
