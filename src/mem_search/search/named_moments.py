"""When something happened that a question names: the release of a version, the move to a tool.

A version is of the moment at which a record says that it was released: a commit ``Release 0.20``,
a tag. A move is of the first record that says so in its title.
"""

from __future__ import annotations

import re
from typing import Final

from mem_search.model import DateRange, Filters, Record
from mem_search.patterns import pattern
from mem_search.storage.ports.search import SearchSnapshot
from mem_search.text import identifiers, words
from mem_search.text.moments import Moment
from mem_search.text.words import all_of

MAX_HOLDERS: Final = 500
"""Records that may name a version; with more it is none that tells a moment."""

MAX_SAYING: Final = 200
"""Records with the words of a move that are looked at, the oldest first."""

_RELEASED: Final = pattern(
    r"\b(?:release[ds]?|prepar\w+|publish\w*|tag(?:ged)?|bump\w*|version)\b", re.IGNORECASE
)
_MOVED: Final = pattern(
    r"\b(?:mov(?:e|ed|ing)|switch\w*|migrat\w+|adopt\w*|introduc\w+|initial|port(?:ed)?|replac\w+"
    r"|add(?:ed)?|start\w*|upgrad\w+|drop(?:ped)?|remov\w+|use)\b",
    re.IGNORECASE,
)


def find(snapshot: SearchSnapshot, moment: Moment, filters: Filters) -> DateRange | None:
    """The range that ``moment`` bounds; None where the store does not know when it was."""
    at = (
        _released(snapshot, moment.version, filters)
        if moment.version
        else _moved(snapshot, moment.what, filters)
    )
    if at is None:
        return None
    return DateRange(end=at - 1) if moment.bound == "before" else DateRange(start=at)


def _released(snapshot: SearchSnapshot, version: str, filters: Filters) -> int | None:
    names = identifiers.find(version)
    if not names:
        return None
    held = snapshot.exact_matches(names[0], filters, MAX_HOLDERS).records.tolist()
    said = [each for each in snapshot.records(held).values() if _is_release(each, version)]
    alone = [each for each in said if re.fullmatch(r"\W*v?[\d.]+\w*\W*", each.title.strip())]
    return min((each.created_at for each in alone or said), default=None)


def _is_release(record: Record, version: str) -> bool:
    """Whether its title says that ``version`` was released, not that something came before it."""
    number = re.escape(version.lstrip("vV"))
    title = record.title
    return re.search(rf"(?<![\d.])v?{number}(?![\d.]*\d)", title, re.IGNORECASE) is not None and (
        _RELEASED.search(title) is not None or len(title) <= len(version) + 2
    )


def _moved(snapshot: SearchSnapshot, what: str, filters: Filters) -> int | None:
    asked = words.read(what)
    query = all_of(asked)
    if query is None:
        return None
    candidates, _ = snapshot.word_matches(query, filters, MAX_SAYING)
    records = snapshot.records(candidates.records.tolist()).values()
    said = [
        each
        for each in records
        if _MOVED.search(each.title) and set(asked.words) <= set(words.runs_of(each.title))
    ]
    return min((each.created_at for each in said), default=None)
