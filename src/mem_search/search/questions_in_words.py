"""A question in plain words: what it names beside its topic, and which of its words are the topic.

In turn: a moment that the store knows (``since we moved to Postgres``), a relation that leads to
the answer (``the fix after …``), words of intent and failure, what it leaves out, and the kinds,
people and facts that ``plain_reading`` turns into filters. A caller can take each part back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Final, cast

from mem_search.contracts import Question
from mem_search.model import (
    AllOf,
    Analyzed,
    Condition,
    DateRange,
    Demand,
    Filters,
    FoundDate,
    FoundFilter,
    SearchRequest,
)
from mem_search.patterns import pattern
from mem_search.search import plain_reading, related_records, translation
from mem_search.search.related_records import RelatedRecords
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text import (
    dates,
    exclusions,
    intents,
    plain_words,
    related_questions,
    words,
)
from mem_search.text.languages import FUNCTION_WORDS
from mem_search.text.plain_facts import NamedField
from mem_search.text.query import demands
from mem_search.text.query.fields import Fields, KnownKinds
from mem_search.text.related_questions import Moment, RelatedQuestion

_ASKS: Final = pattern(rf"(?<!\w)(?:{exclusions.MARK}|{intents.MARK})(?!\w)", re.IGNORECASE)
"""Only a text with one of these leaves something out, or has words of intent."""


def read_in_words(
    snapshot: SearchSnapshot,
    request: SearchRequest,
    kinds: KnownKinds,
    question: Question,
    analyzed: Analyzed,
    now: datetime,
) -> tuple[Question, Analyzed]:
    """The question and its analysis with all that it says in plain words."""
    taken_back = set(request.as_words)
    if taken_back.isdisjoint({"time", "all"}) and (
        moment := related_questions.find_moment(question.text)
    ):
        question, analyzed = _at_moment(snapshot, moment, question, analyzed, now)
    if taken_back.isdisjoint({"relation", "all"}):
        led = _led(snapshot, request, question.filters, dated=bool(analyzed.dates))
        if led is not None:
            return _with_related(request, question, analyzed, led)
    vocabulary = kinds.vocabulary
    if (
        request.translated
        or vocabulary.asks.search(question.text)
        or _ASKS.search(question.text)
        or (question.times and plain_words.listed_in(question.text, vocabulary))
    ):
        return _read_plainly(snapshot, request, kinds, question, analyzed, now)
    return question, analyzed


def _read_plainly(
    snapshot: SearchSnapshot,
    request: SearchRequest,
    kinds: KnownKinds,
    question: Question,
    analyzed: Analyzed,
    now: datetime,
) -> tuple[Question, Analyzed]:
    """The question with the kinds and people that it names as filters or lifts."""
    intent = intents.NO_INTENT
    if {"intent", "all"}.isdisjoint(request.as_words):
        intent = intents.find(question.text, has_time=bool(question.times))
    named = [*_named(question, request, kinds), *intent.named]
    if not (named or intent.light):
        return question, analyzed
    # "the bill for June" may be from July, and says June.
    covered = [date for date in analyzed.dates if date.phrase.lower().startswith("for ")]
    if covered:
        dates = tuple(date for date in analyzed.dates if date not in covered)
        text = " ".join([question.text, *(date.phrase for date in covered)])
        spans = tuple(date.range for date in dates)
        question = replace(question, text=text, words=words.read(text), times=spans)
        analyzed = replace(analyzed, dates=dates)
        named = [*_named(question, request, kinds), *intent.named]
    fields = Fields(kinds, now, cast(tzinfo, now.tzinfo))
    read = plain_reading.read(
        snapshot, question.text, named, fields, question.filters, may_list=bool(question.times)
    )
    if read is None:
        return _lightened(question, analyzed, intent.light if not intent.fails else frozenset())
    filters, spans, dates = question.filters, question.times, analyzed.dates
    demand = read.demand
    binds = any(each.filter == intents.FAILED and each.use == "filter" for each in read.readings)
    if (binds or not read.text) and spans:  # "emails from last week", "what failed yesterday"
        demand = both_demands(demand, times_demand(spans))
        spans, dates = (), tuple(replace(date, use="filter") for date in dates)
    if demand is not None:
        filters = replace(filters, demand=both_demands(filters.demand, demand))
    found_words = question.words if read.text == question.text else words.read(read.text)
    parts = {each.part for each in read.readings}
    is_failure = any(each.filter == intents.FAILED for each in read.readings)
    return _lightened(
        replace(
            question,
            text=read.text,
            words=found_words,
            filters=filters,
            times=spans,
            lifts=read.lifts,
            leanings=read.leanings,
            is_for_document=is_failure or not parts.isdisjoint(_OF_DOCUMENTS),
            in_words=analyzed.demanded == "",
            naming=_SAYING_NOTHING.intersection(found_words.words).union(
                word
                for each in read.readings
                if each.use == "lift"
                for word in words.read(each.phrase).words
            ),
        ),
        replace(
            analyzed,
            text=read.text,
            words=(*found_words.words, *found_words.cjk),
            dates=dates,
            readings=read.readings,
        ),
        intent.light if is_failure or not intent.fails else frozenset(),
    )


def _led(
    snapshot: SearchSnapshot, request: SearchRequest, filters: Filters, *, dated: bool
) -> tuple[RelatedQuestion, RelatedRecords] | None:
    """What a question in two steps asks, and the records to which it leads; mostly None."""
    asked = related_questions.find(request.text)
    if asked is None or (dated and asked.step in ("next", "previous")):  # "before November"
        return None
    related = related_records.find(snapshot, asked, filters)
    return (asked, related) if related else None


def _with_related(
    request: SearchRequest,
    question: Question,
    analyzed: Analyzed,
    led: tuple[RelatedQuestion, RelatedRecords],
) -> tuple[Question, Analyzed]:
    asked, related = led
    refs = " OR ".join(str(each.ref) for each in related.answers)
    reading = FoundFilter(f"{asked.phrase} {related.beside.ref}", refs, "relation", "lift")
    whole = words.read(request.text)  # "before the move" names no time
    question = replace(
        question,
        text=request.text,
        words=whole,
        times=(),
        related=tuple(each.number for each in related.answers),
    )
    analyzed = replace(
        analyzed, text=request.text, words=(*whole.words, *whole.cjk), dates=(),
        readings=(*analyzed.readings, reading),
    )  # fmt: skip
    return question, analyzed


def _at_moment(
    snapshot: SearchSnapshot, moment: Moment, question: Question, analyzed: Analyzed, now: datetime
) -> tuple[Question, Analyzed]:
    """The question with the time that ``moment`` bounds, where the store knows when it was."""
    span = related_records.bounded_by(snapshot, moment, question.filters)
    rest = " ".join(f"{question.text[: moment.start]} {question.text[moment.end :]}".split())
    if span is None or not words.read(rest):
        return question, analyzed
    read_as = dates.local_range(span, cast(tzinfo, now.tzinfo), now)
    date = FoundDate(moment.phrase, span, "lift", read_as)
    rest_words = words.read(rest)
    return (
        replace(question, text=rest, words=rest_words, times=(*question.times, span)),
        replace(
            analyzed,
            text=rest,
            words=(*rest_words.words, *rest_words.cjk),
            dates=(*analyzed.dates, date),
        ),
    )


_OF_DOCUMENTS: Final = frozenset({"kind", "person", "fact"})
"""Parts of a question that say which document is meant."""


_SAYING_NOTHING: Final = FUNCTION_WORDS | exclusions.SORTS | exclusions.BEFORE_OBJECTS
"""Words that a store need not know to have an answer."""


def _lightened(
    question: Question, analyzed: Analyzed, light: frozenset[str]
) -> tuple[Question, Analyzed]:
    """The question without the words of ``light``, unless it has no others."""
    kept = tuple(word for word in question.words.words if word not in light)
    if not light or not (kept or question.words.cjk or question.words.phrases):
        return question, analyzed
    kept_words = replace(question.words, words=kept)
    text = " ".join(_kept_text(question.text, light))
    return (
        replace(question, words=kept_words, text=text, naming=question.naming | light),
        replace(analyzed, text=text, words=(*kept, *kept_words.cjk)),
    )


def _kept_text(text: str, light: frozenset[str]) -> Iterator[str]:
    return (word for word in text.split() if word.lower().strip(",.?!;:") not in light)


def _named(question: Question, request: SearchRequest, kinds: KnownKinds) -> list[NamedField]:
    text = question.text
    mentions = [*plain_words.find(text, kinds.vocabulary), *exclusions.find(text)]
    if question.times and (listed := plain_words.listed_in(text, kinds.vocabulary)):
        mentions = [listed]
    mentions = mentions or plain_reading.sort_in(text)
    return [
        named
        for named in (*mentions, *translation.named_in(request.translated, text, mentions))
        if {named.part, "all"}.isdisjoint(request.as_words)
    ]


def times_demand(spans: Iterable[DateRange]) -> Demand:
    """What a record is that is from one of ``spans``."""
    return demands.any_of(Condition("in", (Filters(created=span),)) for span in spans)


def both_demands(one: Demand | None, other: Demand) -> Demand:
    """Both demands."""
    return other if one is None else AllOf((one, other))
