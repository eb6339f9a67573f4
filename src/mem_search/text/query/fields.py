"""``field:value`` as a condition on records: the known fields and their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Final, Literal, Protocol, cast

from mem_search.errors import InputError
from mem_search.model import (
    AllOf,
    AnyOf,
    Condition,
    Demand,
    Filters,
    Kind,
    MetadataTest,
    Not,
)
from mem_search.model.requests import Comparison
from mem_search.patterns import pattern
from mem_search.text import dates, spelling
from mem_search.text.dates import clipped
from mem_search.text.plain_words import Vocabulary
from mem_search.text.query import wild
from mem_search.text.query.field_values import QUOTED, listed, parts_of, values_at, written
from mem_search.text.search_fields import DOCUMENT_FIELDS, FIELDS, PEOPLE, holding


class KnownKinds(Protocol):
    """The kinds of record that a query can name (``records.registry``)."""

    @property
    def names(self) -> tuple[Kind, ...]: ...

    @property
    def without(self) -> str:
        """``; …`` for each kind that is installed and cannot be used, and what mends it."""
        ...

    @property
    def vocabulary(self) -> Vocabulary: ...

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
NAMES: Final = tuple(name for name in FIELDS if name != "meta")
_ALSO: Final = {f"{name}s": name for name in (*NAMES[:10], *DOCUMENT_FIELDS)} | {
    "sender": "from", "recipient": "to", "recipients": "to", "organization": "organisation",
    "organizations": "organisation", "attendee_names": "attendee", "total_amount": "amount",
    "addresses": "address", "subject": "title", "categories": "category", "currencies": "currency",
}  # fmt: skip
_HAS: Final = {"file": ("files_read", "files_modified", "file_read", "file_modified", "path")}
"""What ``has:`` looks for, beside the metadata and the facets of that name."""

_MEANT: Final = {
    "name": "title", "text": "content",
    "body": "content", "site": "domain", "host": "domain", "link": "url", "dir": "folder",
    "directory": "folder", "label": "tag", "by": "author", "filename": "file",
    "date": "in", "on": "in", "repo": "project", "metadata": "meta.NAME",
}  # fmt: skip
"""Names of other query languages → ours."""

_COMPARED: Final = "|".join(
    name
    for name in (*DOCUMENT_FIELDS, *_ALSO)
    if DOCUMENT_FIELDS.get(_ALSO.get(name, name), ("",))[0] in ("number", "date")
)
"""Fields whose values are compared, under all their names."""

_META: Final = pattern(
    rf"(?:meta\.([A-Za-z_][\w-]{{0,60}}(?:\.[A-Za-z_][\w-]{{0,60}}){{0,4}})|({_COMPARED}))"
    "(:(?!:|//)|>=|<=|>|<|=)"
)
_CURRENCY_SIGNS: Final = "$€£¥ "
_REFUSED: Final = {
    "number": "is not a number; it is read as text",
    "date": 'is not a date, such as 2025-10-03 or "next week"; it is read as text',
    "": "compares with neither a number nor a date",
}
_NUMBER: Final = pattern(r"[+-]?\d{1,15}(?:\.\d{1,15})?")
_DAY: Final = pattern(r"\d{4}-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?)?")
_FIELD: Final = pattern(r"([A-Za-z_]{2,20}):(?!:|//)")
_PHRASE_OF_DATE: Final = pattern(r"[^\s\"()]+(?:[ \t]+(?!AND\b|OR\b|NOT\b)[^\s\"():]+){0,3}")
_LAST_WORD: Final = pattern(r"[ \t]+[^ \t]+\Z")
_AS_TEXT: Final = pattern(r"[;,] (?:it is )?read as text\Z")


_Bounds = tuple[float, float]


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
        if meta := _META.match(text, at):
            return self._metadata(meta, text, inside)
        match = _FIELD.match(text, at)
        if match is None:
            return None
        name = _ALSO.get(match[1].lower(), match[1].lower())
        if name not in NAMES:
            near = _MEANT.get(name) or spelling.closest(name, NAMES) if len(name) > 2 else None
            warning = f"{match[1]} is not a field; did you mean {near}:? It is read as text"
            return warning if near else None
        if name in _DATES:
            return self._date(name, text, match.end(), inside)
        values, end = values_at(text, match.end(), inside)
        if not values:
            return f"{name}: has no value right after it; it is read as text"
        alternatives: list[Filters] = []
        for value in values:
            filters = self._filters(name, value)
            if isinstance(filters, str):
                return filters
            alternatives.append(filters)
        condition = Condition(f"{name}:{listed(values)}", tuple(alternatives))
        if (
            len([each for each in wild.terms_of(condition) if each.form == "wildcard"])
            > wild.MAX_INNER
        ):
            return f"{name}: {wild.TOO_MANY.format(listed(values))}; it is read as text"
        return condition, end

    def asked(self, name: str, values: Iterable[str]) -> Demand:
        """What a parameter ``name`` with ``values`` asks for, outside of a query.

        Values are alternatives, and so are the parts of one between commas; quotes hold a comma.
        Each ``meta`` holds (``status:open``, ``amount>100``), and each comparison. Raises
        InputError naming the field.
        """
        if name not in FIELDS and not name.startswith("meta."):
            near = spelling.closest(name, FIELDS)
            meant = f"did you mean {near}?" if near else f"choose one of {', '.join(FIELDS)}"
            raise InputError(f"there is no field {clipped(name)}; {meant}", field=name)
        help_text = FIELDS.get(name, FIELDS["meta"])
        demands: list[Demand] = []
        for text in dict.fromkeys(_texts(name, values)):
            match self.read(text, 0, False):
                case (condition, end) if end == len(text):
                    demands.append(condition)
                case str(warning):
                    raise InputError(_AS_TEXT.sub("", warning), field=name)
                case _:
                    raise InputError(f"cannot read {clipped(text)}; {help_text}", field=name)
        if not demands:
            raise InputError(f"has no value; {help_text}", field=name)
        each_holds = name == "meta" or any(
            value.lstrip().startswith(("<", ">")) for value in values
        )
        join = AllOf if each_holds else AnyOf
        return join(tuple(demands)) if demands[1:] else demands[0]

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
            case "filetype":
                return Filters(facets=(("filetype", value.lower().removeprefix(".")),))
            case "domain":
                domain = value.lower().removeprefix("www.")
                return Filters(any_facets=(("domain", domain), ("domain", f"www.{domain}")))
            case "scope":
                return self._scope(value)
            case "url":
                return Filters(url=value)
            case "author" | "from" | "to" | "cc":
                return Filters(metadata=(MetadataTest(PEOPLE[name], "contains", value),))
            case _ if name in DOCUMENT_FIELDS:
                test: Comparison = "is" if DOCUMENT_FIELDS[name][0] == "word" else "contains"
                return Filters(metadata=(MetadataTest(holding(name), test, value),))
            case "has":
                return _has(value)
            case "failed":
                return self._failed(value)
            case "title" | "content":
                term = wild.of_value(value)
                if isinstance(term, str):
                    return f"{name}:{clipped(value)} {term}; it is read as text"
                column: Literal["title", "text"] = "title" if name == "title" else "text"
                return Filters(demand=replace(term, column=column))
            case _:
                return Filters(files=(value,))

    @staticmethod
    def _failed(value: str) -> Filters:
        test = MetadataTest(("failed", "error"), "has")
        match value.lower():
            case "true" | "yes":
                return Filters(metadata=(test,))
            case "false" | "no":
                return Filters(demand=Not(Condition("failed:true", (Filters(metadata=(test,)),))))
            case _:
                return Filters(metadata=(replace(test, test="contains", value=value),))

    def _metadata(
        self, match: re.Match[str], text: str, inside: bool
    ) -> tuple[Condition, int] | str:
        """The condition of ``meta.NAME:VALUE`` or of a comparison such as ``amount>100``."""
        name, operator = match[1] or match[2], match[3]
        field = _ALSO.get(name, name)
        typed, *_ = DOCUMENT_FIELDS.get(field, ("",)) if match[2] else ("",)
        names = holding(field) if match[2] else (name,)
        values, end = values_at(text, match.end(), inside)
        if not values:
            return f"{match[0]} has no value right after it; it is read as text"
        tests: list[Filters] = []
        for value in values:
            bounds, days = self._bounds(value, typed)
            if bounds is None and (typed or operator not in ":="):
                return f"{match[0]}{clipped(value)} {_REFUSED[typed]}"
            sort = cast(Comparison, "is" if operator in ":=" else operator)
            tests.append(Filters(metadata=(MetadataTest(names, sort, value, bounds, days),)))
        return Condition(f"{match[0]}{listed(values)}", tuple(tests)), end

    def _bounds(self, value: str, typed: str) -> tuple[_Bounds | None, _Bounds | None]:
        """The bounds and the days of ``MetadataTest``. ``typed`` is what the value has to be."""
        number = value.strip(_CURRENCY_SIGNS) if typed == "number" else value
        if typed != "date" and _NUMBER.fullmatch(number):
            return (float(number), float(number)), None
        if typed == "date" or (not typed and _DAY.fullmatch(value)):
            try:
                span = dates.parse_range(value, now=self.now, tz=self.tz)
            except InputError:
                return None, None
            if span.start is not None and span.end is not None:
                days = dates.as_utc(span.start, self.tz), dates.as_utc(span.end, self.tz)
                return (span.start, span.end), days
        return None, None

    def _sort_of(self, name: str, value: str) -> Filters | str:
        kind, word = self.kinds.named(value), value.lower()
        if kind is not None:
            return Filters(kinds=(kind,))
        if name == "kind":
            known = ", ".join(self.kinds.names)
            near = spelling.closest(value, self.kinds.names)
            meant = f"did you mean {name}:{near}? Choose" if near else "choose"
            told = f"no kind is called {clipped(value)}; {meant} one of {known}"
            return f"{told}{self.kinds.without}; it is read as text"
        if name == "is":
            if word in ("archived", "active"):
                return Filters(archived=word == "archived")
            if word in ("superseded", "current"):
                return Filters(superseded=word == "superseded")
            if word not in TYPES:
                known = ", ".join((*STATES, *sorted(TYPES)))
                near = spelling.closest(value, (*STATES, *sorted(TYPES), *self.kinds.names))
                meant = f"did you mean is:{near}? Choose" if near else "choose"
                return f"is:{clipped(value)} has no meaning; {meant} one of {known}, or a kind"
        return Filters(types=(value,))

    def _scope(self, name: str) -> Filters | str:
        demand = self.scopes.get(name.lower())
        if demand is None:
            known = (
                f"choose one of {', '.join(self.scopes)}" if self.scopes else "there are none yet"
            )
            return f"no scope is called {clipped(name)}; {known}; it is read as text"
        return Filters(demand=demand)

    def _date(self, name: str, text: str, at: int, inside: bool) -> tuple[Condition, int] | str:
        quoted = QUOTED.match(text, at)
        values: Iterator[tuple[str, int]] = (
            iter([(quoted[1].strip(), quoted.end())]) if quoted else _date_words(text, at)
        )
        tried = ""
        for value, end in values:
            tried = value
            try:
                span = dates.parse_range(f"{_DATES[name]}{value}", now=self.now, tz=self.tz)
            except InputError:
                continue
            return Condition(f"{name}:{written(value)}", (Filters(created=span),)), end
        if not tried:
            return f"{name}: has no value right after it; it is read as text"
        known = 'is not a date, such as 2025-10-03 or "last week"; read as text'
        return f"{name}:{clipped(tried)} {known}"


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


def _texts(name: str, values: Iterable[str]) -> Iterator[str]:
    """The values of a parameter as the query language writes the field."""
    if name == "meta":
        for value in values:
            match = _META.match(f"meta.{value}")
            yield f"{match[0]}{listed(parts_of(value[match.end() - 5 :]))}" if match else value
    elif name in _DATES:
        yield from (f"{name}:{written(part)}" for value in values for part in parts_of(value))
    elif DOCUMENT_FIELDS.get(name, ("",))[0] in ("number", "date"):
        for part in (part for value in values for part in parts_of(value)):
            bare = part.lstrip("<>=")
            yield f"{name}{part[: len(part) - len(bare)] or ':'}{written(bare.strip())}"
    else:
        parts = [part for value in values for part in parts_of(value)]
        if parts:
            yield f"{name}:{listed(parts)}"


def _has(value: str) -> Filters:
    """Records with something under that name: a URL, a title, or metadata."""
    name = value.lower().removesuffix("s")
    if name == "url":
        return Filters(url=":")
    names = (value, name, f"{name}s", *_HAS.get(name, ()))
    if (field := _ALSO.get(value.lower(), name)) in DOCUMENT_FIELDS:
        names += holding(field)
    return Filters(metadata=(MetadataTest(tuple(dict.fromkeys(names)), "has"),))
