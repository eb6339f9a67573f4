"""What a question in plain words names becomes filters: kinds, formats, senders, facts.

``text.plain_words`` finds the words; the store decides what they mean: a kind of which there are no
records, and a person whom no record names, stay words. What is sure filters, and its words do not
rank; the rest raises records (a lift), and its words rank as well. Where the filters together leave
nothing, they only raise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from mem_search.model import AllOf, Condition, Demand, Filters, FoundFilter, Term
from mem_search.storage.ports.search import SearchSnapshot
from mem_search.text import words
from mem_search.text.plain_facts import DOCUMENTS, Named
from mem_search.text.query.demands import any_of
from mem_search.text.query.field_values import written
from mem_search.text.query.fields import Fields
from mem_search.text.question_times import EMPTY

MIN_PART_LETTERS: Final = 4
"""Letters of a name that may be a part of a word: ``bank`` in ``fjordbank``."""

MAX_PEOPLE: Final = 20_000
"""Addresses and names of a store among which a person is looked for. 10,000 take 40 ms of processor
time, only where a question names somebody.
"""

MAX_NAMES: Final = 20
"""Addresses and names that one person may have in a store."""


@dataclass(frozen=True, slots=True)
class PlainReading:
    """How a question was read: ``text`` remains to rank, ``demand`` filters, ``lifts`` raise."""

    text: str
    demand: Demand | None
    lifts: tuple[Filters, ...]
    readings: tuple[FoundFilter, ...]


def read(
    snapshot: SearchSnapshot,
    text: str,
    found: Sequence[Named],
    fields: Fields,
    filters: Filters,
    *,
    may_list: bool,
) -> PlainReading | None:
    """The reading of ``found`` in ``text`` within ``filters``; None where nothing is read.

    A question of nothing but a kind and a person, or a fact, lists all such records. So does one
    of nothing but a kind with ``may_list``, or where no record has its words, and one of a fact and
    a sort of document (``bills due in June``) where no record with that fact has that word.
    """
    conditions = [
        (each, condition)
        for named in found
        for each, condition in _condition(snapshot, named, fields)
        if snapshot.matches_any(_within(filters, [condition]))
    ]
    if not conditions:
        return None
    sure = [(named, condition) for named, condition in conditions if named.sure]
    if sure and not snapshot.matches_any(_within(filters, [each for _, each in sure])):
        sure = []
    rest = _without(text, [named for named, _ in sure])
    demands = [condition for _, condition in sure]
    runs = words.runs_of(rest)
    if EMPTY.issuperset(runs):
        says_more = any(named.part != "kind" for named, _ in sure)
        if len(conditions) == len(sure) and not (
            may_list or says_more or _is_nowhere(snapshot, filters, text)
        ):
            return None
        rest = ""
    elif any(named.part == "fact" for named, _ in sure) and (EMPTY | DOCUMENTS).issuperset(runs):
        rest = "" if _is_nowhere(snapshot, _within(filters, demands), rest) else rest
    kept = [each for each in conditions if each not in sure]
    return PlainReading(
        text=rest,
        demand=AllOf(tuple(demands)) if demands[1:] else next(iter(demands), None),
        lifts=tuple(_within(Filters(), [condition]) for _, condition in kept),
        readings=tuple(
            FoundFilter(
                named.phrase,
                condition.text,
                named.part,
                "filter" if (named, condition) in sure else "lift",
            )
            for named, condition in conditions
        ),
    )


def _is_nowhere(snapshot: SearchSnapshot, filters: Filters, text: str) -> bool:
    """Whether no record that passes ``filters`` has a word of ``text``."""
    said = any_of(Term((word,)) for word in words.runs_of(text))
    return not snapshot.matches_any(_within(filters, [said]))


def _condition(
    snapshot: SearchSnapshot, named: Named, fields: Fields
) -> list[tuple[Named, Condition]]:
    """What a record has to be; none when it is of a person whom no record names.

    A name that is only a part of one is not sure.
    """
    if named.part != "person":
        return _of_field(named, named.field, fields)
    facets = ("from", "author") if named.field == "from" else (named.field,)
    known = [value for facet in facets for value in snapshot.values_of(facet, MAX_PEOPLE)]
    split = [(value, set(words.runs_of(value))) for value in dict.fromkeys(known)]
    for name in named.names:
        runs, is_whole = words.runs_of(name), True
        called = [value for value, parts in split if runs and parts.issuperset(runs)]
        if not called and len(runs) == 1 and len(runs[0]) >= MIN_PART_LETTERS:
            called, is_whole = [v for v, parts in split if any(runs[0] in p for p in parts)], False
        if called:
            pairs = tuple((facet, value) for value in called[:MAX_NAMES] for facet in facets)
            sure = named.sure and is_whole and name == named.names[0]
            condition = Condition(f"{named.field}:{written(name)}", (Filters(any_facets=pairs),))
            return [(replace(named, sure=sure), condition)]
    return _of_field(replace(named, sure=False), named.otherwise, fields)


def _of_field(named: Named, text: str, fields: Fields) -> list[tuple[Named, Condition]]:
    asked = fields.read(text, 0, False) if text else None
    return [(named, asked[0])] if isinstance(asked, tuple) and asked[1] == len(text) else []


def _within(filters: Filters, conditions: Sequence[Demand]) -> Filters:
    demands = [*([filters.demand] if filters.demand is not None else []), *conditions]
    return replace(filters, demand=AllOf(tuple(demands)) if demands[1:] else demands[0])


def _without(text: str, named: Sequence[Named]) -> str:
    """The text without the phrases, and without the words that led to them."""
    for each in sorted(named, key=lambda each: -each.start):
        text = f"{text[: each.start]} {text[each.end :]}"
    return " ".join(text.split()).strip(" ,;")
