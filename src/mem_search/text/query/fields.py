"""``field:value`` as a condition on records: the known fields and their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Final, Protocol

from mem_search.errors import InputError
from mem_search.model import Condition, Demand, Filters, Kind
from mem_search.text import dates
from mem_search.text.dates import clipped


class KnownKinds(Protocol):
    """The kinds of record that a query can name (``records.registry``)."""

    @property
    def names(self) -> tuple[Kind, ...]: ...

    def named(self, word: str) -> Kind | None:
        """The kind that ``word`` means (``notes``, ``session``), or None."""
        ...


TYPES: Final = frozenset({"bugfix", "feature", "refactor", "change", "discovery", "decision"})
"""The types of observation that ``is:`` accepts; ``type:`` accepts any type."""

STATES: Final = ("archived", "active", "superseded", "current")

_DATES: Final = {
    "before": "before ",
    "after": "after ",
    "since": "since ",
    "until": "until ",
    "in": "",
}
NAMES: Final = (
    "type", "kind", "project", "tag", "file", "concept", "source", "session", "folder", "domain",
    "is", "scope", *_DATES,
)  # fmt: skip
_ALSO: Final = {f"{name}s": name for name in NAMES[:10]}
_FIELD: Final = re.compile(r"([A-Za-z_]{2,20}):(?!:|//)")
_QUOTED: Final = re.compile(r'"([^"]*)"')
_PHRASE_OF_DATE: Final = re.compile(r"[^\s\"()]+(?:[ \t]+(?!AND\b|OR\b|NOT\b)[^\s\"():]+){0,3}")
_LAST_WORD: Final = re.compile(r"[ \t]+[^ \t]+\Z")
_PLAIN: Final = re.compile(r'(?!:|//)[^\s",()`]+')
_MOST_VALUES: Final = 32


@dataclass(frozen=True, slots=True)
class Fields:
    """Reads fields with the kinds, the clock and the scopes of one caller.

    ``scopes`` is lower-case name → demand.
    """

    kinds: KnownKinds
    now: datetime
    tz: tzinfo
    scopes: Mapping[str, Demand] = field(default_factory=dict)

    def read(self, text: str, at: int, inside: bool) -> tuple[Condition, int] | str | None:
        """The condition at ``at`` and its end; a warning; or None when no field begins there.

        ``inside`` parentheses a closing one ends the value.
        """
        match = _FIELD.match(text, at)
        if match is None:
            return None
        name = _ALSO.get(match[1].lower(), match[1].lower())
        if name not in NAMES:
            near = next((known for known in NAMES if _is_near(name, known)), None)
            warning = f"{match[1]}: is no field, did you mean {near}:? It is read as text"
            return warning if near else None
        if name in _DATES:
            return self._date(name, text, match.end(), inside)
        values, end = _values(text, match.end(), inside)
        if not values:
            return f"{name}: has no value right after it; it is read as text"
        found: list[Filters] = []
        for value in values:
            filters = self._filters(name, value)
            if isinstance(filters, str):
                return filters
            found.append(filters)
        return Condition(f"{name}:{','.join(map(_written, values))}", tuple(found)), end

    def _filters(self, name: str, value: str) -> Filters | str:
        """The filters of one value, or a warning."""
        if name in ("kind", "type", "is"):
            return self._sort_of(name, value)
        match name:
            case "project":
                return Filters(project=value)
            case "session":
                return Filters(session=value)
            case "source":
                return Filters(source=value)
            case "tag":
                return Filters(tags=(value,))
            case "concept":
                return Filters(concepts=(value,))
            case "folder":
                return Filters(facets=(("folder", value),))
            case "domain":
                domain = value.lower().removeprefix("www.")
                return Filters(any_facets=(("domain", domain), ("domain", f"www.{domain}")))
            case "scope":
                return self._scope(value)
            case _:
                return Filters(files=(value,))

    def _sort_of(self, name: str, value: str) -> Filters | str:
        kind, word = self.kinds.named(value), value.lower()
        if kind is not None:
            return Filters(kinds=(kind,))
        if name == "kind":
            known = ", ".join(self.kinds.names)
            return f"no kind is called {clipped(value)}, known are {known}; it is read as text"
        if name == "is":
            if word in ("archived", "active"):
                return Filters(archived=word == "archived")
            if word in ("superseded", "current"):
                return Filters(superseded=word == "superseded")
            if word not in TYPES:
                known = ", ".join((*STATES, *sorted(TYPES)))
                return f"is:{clipped(value)} has no meaning; known are {known} and kinds"
        return Filters(types=(value,))

    def _scope(self, name: str) -> Filters | str:
        demand = self.scopes.get(name.lower())
        if demand is None:
            known = ", ".join(self.scopes) or "none yet"
            return f"no scope is called {clipped(name)}, known are {known}; it is read as text"
        return Filters(demand=demand)

    def _date(self, name: str, text: str, at: int, inside: bool) -> tuple[Condition, int] | str:
        quoted = _QUOTED.match(text, at)
        values: Iterator[tuple[str, int]] = (
            iter([(quoted[1].strip(), quoted.end())]) if quoted else _date_words(text, at)
        )
        tried = ""
        for value, end in values:
            tried = value
            try:
                found = dates.parse_range(f"{_DATES[name]}{value}", now=self.now, tz=self.tz)
            except InputError:
                continue
            return Condition(f"{name}:{_written(value)}", (Filters(created=found),)), end
        if not tried:
            return f"{name}: has no value right after it; it is read as text"
        return (
            f'{name}:{clipped(tried)} is no date, such as 2025-10-03 or "last week"; read as text'
        )


def _date_words(text: str, at: int) -> Iterator[tuple[str, int]]:
    """Candidates for a date at ``at``, the longest first: ``last week``, ``May 2024``."""
    match = _PHRASE_OF_DATE.match(text, at)
    value = match[0] if match else ""
    while value:
        yield value, at + len(value)
        shorter = _LAST_WORD.sub("", value)
        if shorter == value:
            return
        value = shorter


def _values(text: str, at: int, inside: bool) -> tuple[tuple[str, ...], int]:
    """Comma-separated values, each quoted or up to a space; empty when the first is missing."""
    found: list[str] = []
    while len(found) < _MOST_VALUES:
        if quoted := _QUOTED.match(text, at):
            value, end = quoted[1].strip(), quoted.end()
        else:
            end = _end_of_value(text, at, inside)
            value = text[at:end]
        if not value:
            break
        found.append(value)
        at = end
        more = text.startswith(',"', at) or _end_of_value(text, at + 1, inside) > at + 1
        if not (text.startswith(",", at) and more):
            break
        at += 1
    return tuple(dict.fromkeys(found)), at


def _end_of_value(text: str, at: int, inside: bool) -> int:
    depth = 0
    while at < len(text) and not text[at].isspace() and text[at] not in '",':
        if text[at] == "(":
            depth += 1
        elif text[at] == ")":
            if not depth and inside:
                break
            depth -= 1
        at += 1
    return at


def _written(value: str) -> str:
    """A value as it can be read again, quoted if necessary."""
    return value if _PLAIN.fullmatch(value) else f'"{value}"'


def _is_near(word: str, known: str) -> bool:
    """Whether a letter is changed, added, omitted or swapped, in words of at least four."""
    if len(known) < 4 or abs(len(word) - len(known)) > 1 or word[0] != known[0]:
        return False
    same = 0
    while same < min(len(word), len(known)) and word[same] == known[same]:
        same += 1
    rest, other = word[same:], known[same:]
    swapped = rest[:2] == other[:2][::-1] and rest[2:] == other[2:]
    return swapped or other == rest[1:] or rest == other[1:] or rest[1:] == other[1:]
