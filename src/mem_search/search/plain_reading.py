"""What a question in plain words names becomes filters: kinds, formats, senders, facts.

Rules read every question; where the setting ``translate`` names a language model, it adds what they
miss (``translation``).

``text.plain_words`` finds the words; the store decides what they mean: a kind of which there are no
records, and a person whom no record names, stay words. What is sure filters, and its words do not
rank; the rest raises records (a lift), and its words rank as well. Where the filters together leave
nothing, they only raise. A stated fact never hides a record that has every word of the question. A
sort of document beside a fact (``invoice over 700 euros``) means all records of that type, whatever
word they use, and those with the word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from mem_search.metadata import MODELS
from mem_search.model import (
    AllOf,
    Condition,
    Demand,
    Filters,
    FoundFilter,
    Not,
    Term,
)
from mem_search.patterns import pattern
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text import words
from mem_search.text.intents import FAILED
from mem_search.text.plain_facts import DOCUMENTS, NamedField
from mem_search.text.query.demands import all_of, any_of
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

_WORDS: Final = pattern(r"[^\W_]+")
_PLURALS: Final = ("s", "e", "n", "en")
"""What names of documents end with in the plural, in the languages of questions."""


@dataclass(frozen=True, slots=True)
class PlainReading:
    """How a question was read: ``text`` remains to rank, ``demand`` filters, ``lifts`` raise, and
    ``leanings`` raise a little.
    """

    text: str
    demand: Demand | None
    lifts: tuple[Filters, ...]
    leanings: tuple[Filters, ...]
    readings: tuple[FoundFilter, ...]


def read(
    snapshot: SearchSnapshot,
    text: str,
    mentions: Sequence[NamedField],
    fields: Fields,
    filters: Filters,
    *,
    may_list: bool,
) -> PlainReading | None:
    """The reading of ``mentions`` in ``text`` within ``filters``; None where nothing is read.

    A question of nothing but a kind and a person, or a fact, lists all such records. So does one
    of nothing but a kind with ``may_list``, or where no record has its words, and one of a fact and
    a sort of document (``bills due in June``) where no record with that fact has that word.
    """
    conditions = [
        (each, condition)
        for named in mentions
        for each, condition in _condition(snapshot, named, fields)
        if snapshot.matches_any(_within(filters, [condition]))
    ]
    if not conditions:
        return None
    sure = [(named, condition) for named, condition in conditions if named.sure]
    if sure and not snapshot.matches_any(_within(filters, [each for _, each in sure])):
        sure = []
    rest = _without(text, [named for named, _ in sure])
    demands: list[Demand] = [condition for _, condition in sure]
    if any(named.part == "fact" for named, _ in sure):
        if _says_more(snapshot, filters, text, demands, rest):
            sure, demands, rest = [], [], text
        else:
            rest = _typed(snapshot, rest, fields, filters, demands)
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
        lifts=tuple(_within(Filters(), [each]) for named, each in kept if not _leans(named)),
        leanings=tuple(_within(Filters(), [each]) for named, each in kept if _leans(named)),
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


def _leans(named: NamedField) -> bool:
    """Whether it only tips the balance: what was decided may stand in a note as well."""
    return named.part == "intent" and named.field != FAILED


def _is_nowhere(snapshot: SearchSnapshot, filters: Filters, text: str) -> bool:
    """Whether no record that passes ``filters`` has a word of ``text``."""
    said = any_of(Term((word,)) for word in words.runs_of(text))
    return not snapshot.matches_any(_within(filters, [said]))


def _says_more(
    snapshot: SearchSnapshot, filters: Filters, text: str, demands: Sequence[Demand], rest: str
) -> bool:
    """Whether a record has every word of ``text`` ("overdue tolls"), and none that meets the
    ``demands`` has those of the ``rest``.
    """
    said = [Term((word,)) for word in words.runs_of(text) if word not in EMPTY]
    left = [Term((word,)) for word in words.runs_of(rest) if word not in EMPTY | DOCUMENTS]
    return (
        bool(left)
        and not snapshot.matches_any(_within(filters, [*demands, *left]))
        and snapshot.matches_any(_within(filters, said))
    )


def _typed(
    snapshot: SearchSnapshot, rest: str, fields: Fields, filters: Filters, demands: list[Demand]
) -> str:
    """``rest`` without the first sort of document in it that has a type, which ``demands`` then
    have: records of the type say ``Rechnung`` or ``factuur`` as well, and some only have the word.
    """
    for match in _WORDS.finditer(rest):
        word = match[0].lower()
        if word not in DOCUMENTS or not (known := _type_called(word)):
            continue
        said = fields.read(f"document_type:{known}", 0, False)
        if isinstance(said, tuple):
            demand = any_of([said[0], Term((word,))])
            if snapshot.matches_any(_within(filters, [*demands, demand])):
                demands.append(demand)
                return f"{rest[: match.start()]}{rest[match.end() :]}".strip()
    return rest


def sort_in(text: str) -> list[NamedField]:
    """The sort of document that a question names which says nothing else: ``my bills``.

    It counts only where no record has its word: then those that say ``Rechnung`` are meant.
    """
    typed = [
        (match, known) for match in _WORDS.finditer(text)
        if match[0].lower() not in EMPTY and (known := _type_called(match[0].lower()))
    ]  # fmt: skip
    if len(typed) != 1 or not (EMPTY | DOCUMENTS).issuperset(words.runs_of(text)):
        return []
    match, known = typed[0]
    said, field = match[0], f"document_type:{known}"
    return [
        NamedField(said, match.start(), match.end(), field, "fact", True, names=(said.lower(),))
    ]


def _type_called(word: str) -> str:
    """The type of what a document is that a question calls ``word``, also in the plural."""
    for ending in ("", *_PLURALS):
        single = word.removesuffix(ending)
        for model in MODELS if word.endswith(ending) else ():
            if model.is_content and single in (model.type_name, *model.also, *model.headings):
                return model.type_name
    return ""


def _condition(
    snapshot: SearchSnapshot, named: NamedField, fields: Fields
) -> list[tuple[NamedField, Condition]]:
    """What a record has to be; none when it is of a person whom no record names.

    A name that is only a part of one is not sure.
    """
    if named.part == "negation":
        return _excluded(snapshot, named, fields)
    if named.part == "fact" and named.names and snapshot.matches_any(
        Filters(demand=any_of(Term((name,)) for name in named.names))
    ):  # fmt: skip
        return []
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


_FROM: Final = ("by", "from", "von", "vom", "de")
"""The end of a marker that leaves out a person: ``not from Ann``."""


def _excluded(
    snapshot: SearchSnapshot, named: NamedField, fields: Fields
) -> list[tuple[NamedField, Condition]]:
    """That a record does not have what the question leaves out. None where no record has it, and
    where a record may say the negation itself: ``runs without a lock``.
    """
    marker, *said = named.names
    runs = [run for word in said for run in words.runs_of(word)]
    left_out: Demand = all_of(Term((run,)) for run in runs)
    if marker.lower().endswith(_FROM):
        sender = _of_field(named, f"from:{written(' '.join(said))}", fields)
        left_out = any_of([left_out, *(condition for _, condition in sender)])
    said_so = Term((*words.runs_of(marker), *runs))
    known = snapshot.matches_any(Filters(demand=left_out))
    if not known or (not named.sure and snapshot.matches_any(Filters(demand=said_so))):
        return []
    text = runs[0] if len(runs) == 1 else f"({' AND '.join(runs)})"
    without = Condition(f"-{text}", (Filters(demand=Not(left_out)),))
    return [(replace(named, sure=True), without)]


def _of_field(named: NamedField, text: str, fields: Fields) -> list[tuple[NamedField, Condition]]:
    asked = fields.read(text, 0, False) if text else None
    return [(named, asked[0])] if isinstance(asked, tuple) and asked[1] == len(text) else []


def _within(filters: Filters, conditions: Sequence[Demand]) -> Filters:
    demands = [*([filters.demand] if filters.demand is not None else []), *conditions]
    return replace(filters, demand=AllOf(tuple(demands)) if demands[1:] else demands[0])


def _without(text: str, named: Sequence[NamedField]) -> str:
    """The text without the phrases, and without the words that led to them."""
    for each in sorted(named, key=lambda each: -each.start):
        text = f"{text[: each.start]} {text[each.end :]}"
    return " ".join(text.split()).strip(" ,;")
