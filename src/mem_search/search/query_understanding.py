"""Query understanding: the text of a request becomes the question that every leg gets.

The store decides what the query language leaves open: which words a prefix or a misspelling
stands for, and whether quoted words stand together anywhere at all.

``filters_of`` adds what a request filters by beside its words: scope, folder, domain, and the
hidden scratchpad. A scope is written in the query language, of fields alone: it filters the same
way in every search, and nothing in it ranks. Scopes do not contain each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Final, cast

from mem_search.contracts import Question
from mem_search.errors import InputError, MissingField
from mem_search.model import (
    AllOf,
    Analyzed,
    AnyOf,
    Condition,
    DateRange,
    Demand,
    Filters,
    FoundDate,
    FoundFilter,
    Kind,
    Not,
    SearchRequest,
    Term,
)
from mem_search.patterns import pattern
from mem_search.search import named_moments, plain_reading, related_records
from mem_search.search.related_records import RelatedRecords
from mem_search.storage.ports.search import SearchSnapshot, SearchStore
from mem_search.text import (
    dates,
    exclusions,
    intents,
    moments,
    plain_words,
    related_questions,
    words,
)
from mem_search.text.languages import FUNCTION_WORDS
from mem_search.text.moments import Moment
from mem_search.text.plain_facts import Named
from mem_search.text.query import demands, parse
from mem_search.text.query.fields import Fields, KnownKinds
from mem_search.text.related_questions import RelatedQuestion


async def understand_query(
    store: SearchStore, request: SearchRequest, kinds: KnownKinds, *, times: bool = True
) -> tuple[Question, Analyzed]:
    """The question, and how the text of the request was parsed.

    The text of the question is empty when the request has only filters. Without ``times`` words
    such as "last week" are looked for like others.
    """
    now = request.asked_at or datetime.now().astimezone()
    if now.tzinfo is None:
        now = now.astimezone()
    scopes = {}
    if "scope:" in request.text.lower():
        scopes = await named(store, now, kinds)
    # Weights of the caller alone decide the order of a weighted search.
    in_words = times and request.fusion is None
    times = in_words and {"time", "all"}.isdisjoint(request.as_words)
    reading = parse.read(request.text, now=now, kinds=kinds, scopes=scopes, times=times)
    near: dict[str, tuple[str, ...]] = {}
    nowhere: list[Term] = []
    if reading.wild or reading.quoted:
        near, nowhere = await store.read(_look_up, reading.wild, reading.quoted, request.filters)
    if near or nowhere:
        reading = parse.read(
            request.text,
            now=now,
            kinds=kinds,
            near=near,
            demand_quotes=not nowhere,
            scopes=scopes,
            times=times,
        )
    analyzed = reading.analyzed
    if nowhere:
        phrases = ", ".join(f"“{' '.join(term.words)}”" for term in nowhere)
        where = " within the filters" if request.filters else ""
        warning = f"no record{where} has the phrase {phrases}; its words are looked for instead"
        analyzed = replace(analyzed, warnings=(*analyzed.warnings, warning))
    filters = request.filters
    if reading.demand is not None:
        asked = await _with_words(store, reading.demand)
        filters = replace(filters, demand=_both(filters.demand, asked))
    if filters.demand is not None:
        analyzed = _with_signed(analyzed, filters.demand)
    if filters.demand is not None and (kinds_asked := demands.kinds_of(filters)):
        filters = replace(filters, kinds=kinds_asked)
    lifted: tuple[DateRange, ...] = ()
    if analyzed.dates:
        lifted = tuple(date.range for date in analyzed.dates if date.use == "lift")
    question = Question(reading.text, reading.words, filters, request.is_research, lifted)
    if in_words and times and (moment := moments.find(question.text)):
        question, analyzed = await _at_moment(store, moment, question, analyzed, now)
    if in_words and {"relation", "all"}.isdisjoint(request.as_words):
        led = await _led(store, request, filters, dated=bool(analyzed.dates))
        if led is not None:
            return _with_related(request, question, analyzed, led)
    # In an expression each word is there for a reason; beside fields alone it may name a kind.
    is_plain = in_words and not (analyzed.alone or analyzed.operators or analyzed.excluded)
    vocabulary = kinds.vocabulary
    may_name = vocabulary.asks.search(reading.text) or _ASKS.search(reading.text) or (
        question.times and plain_words.listed_in(reading.text, vocabulary)
    )
    if is_plain and (request.translated or may_name):
        return await _read_plainly(store, request, kinds, question, analyzed, now)
    return question, analyzed


_ASKS: Final = pattern(rf"(?<!\w)(?:{exclusions.MARK}|{intents.MARK})(?!\w)", re.IGNORECASE)
"""Only a text with one of these leaves something out, or has words of intent."""


async def _with_words(store: SearchStore, demand: Demand) -> Demand:
    """``demand`` with the store's words for what its fields have signs in: ``title:auth*``."""
    terms = tuple(demands.signed_in_fields(demand))
    if not terms:
        return demand
    names = tuple(dict.fromkeys(map(demands.written_term, terms)))
    near = await store.read(lambda snapshot: snapshot.expand_words(names))
    return demands.with_near(demand, near)


def _with_signed(analyzed: Analyzed, demand: Demand) -> Analyzed:
    """``analyzed`` with the words that signs in fields of ``demand`` stand for."""
    terms = {demands.written_term(term): term for term in demands.signed_in_fields(demand)}
    wildcards = ((name, term.near) for name, term in terms.items() if term.form == "wildcard")
    return replace(
        analyzed,
        near=(*analyzed.near, *((name, term.near) for name, term in terms.items())),
        warnings=(*analyzed.warnings, *parse.of_wildcards(wildcards)),
    )


async def _read_plainly(
    store: SearchStore,
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
    read = await store.read(
        lambda snapshot: plain_reading.read(
            snapshot, question.text, named, fields, question.filters, may_list=bool(question.times)
        )
    )
    if read is None:
        return _lightened(question, analyzed, intent.light if not intent.fails else frozenset())
    filters, spans, dates = question.filters, question.times, analyzed.dates
    demand = read.demand
    binds = any(each.filter == intents.FAILED and each.use == "filter" for each in read.readings)
    if (binds or not read.text) and spans:  # "emails from last week", "what failed yesterday"
        demand = _both(demand, _within(spans)) if demand is not None else _within(spans)
        spans, dates = (), tuple(replace(date, use="filter") for date in dates)
    if demand is not None:
        filters = replace(filters, demand=_both(filters.demand, demand))
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


async def _led(
    store: SearchStore, request: SearchRequest, filters: Filters, *, dated: bool
) -> tuple[RelatedQuestion, RelatedRecords] | None:
    """What a question in two steps asks, and the records to which it leads; mostly None."""
    asked = related_questions.find(request.text)
    if asked is None or (dated and asked.step in ("next", "previous")):  # "before November"
        return None
    found = await store.read(related_records.find, asked, filters)
    return (asked, found) if found else None


def _with_related(
    request: SearchRequest,
    question: Question,
    analyzed: Analyzed,
    led: tuple[RelatedQuestion, RelatedRecords],
) -> tuple[Question, Analyzed]:
    asked, found = led
    refs = " OR ".join(str(each.ref) for each in found.answers)
    reading = FoundFilter(f"{asked.phrase} {found.beside.ref}", refs, "relation", "lift")
    whole = words.read(request.text)  # "before the move" names no time
    question = replace(
        question,
        text=request.text,
        words=whole,
        times=(),
        related=tuple(each.number for each in found.answers),
    )
    analyzed = replace(
        analyzed, text=request.text, words=(*whole.words, *whole.cjk), dates=(),
        readings=(*analyzed.readings, reading),
    )  # fmt: skip
    return question, analyzed


async def _at_moment(
    store: SearchStore, moment: Moment, question: Question, analyzed: Analyzed, now: datetime
) -> tuple[Question, Analyzed]:
    """The question with the time that ``moment`` bounds, where the store knows when it was."""
    span = await store.read(named_moments.find, moment, question.filters)
    rest = " ".join(f"{question.text[: moment.start]} {question.text[moment.end :]}".split())
    if span is None or not words.read(rest):
        return question, analyzed
    read_as = dates.local_range(span, cast(tzinfo, now.tzinfo), now)
    date = FoundDate(moment.phrase, span, "lift", read_as)
    found = words.read(rest)
    return (
        replace(question, text=rest, words=found, times=(*question.times, span)),
        replace(
            analyzed,
            text=rest,
            words=(*found.words, *found.cjk),
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
    found = replace(question.words, words=kept)
    text = " ".join(_kept_text(question.text, light))
    return (
        replace(question, words=found, text=text, naming=question.naming | light),
        replace(analyzed, text=text, words=(*kept, *found.cjk)),
    )


def _kept_text(text: str, light: frozenset[str]) -> Iterator[str]:
    return (word for word in text.split() if word.lower().strip(",.?!;:") not in light)


def _named(question: Question, request: SearchRequest, kinds: KnownKinds) -> list[Named]:
    text = question.text
    found = [*plain_words.find(text, kinds.vocabulary), *exclusions.find(text)]
    if question.times and (listed := plain_words.listed_in(text, kinds.vocabulary)):
        found = [listed]
    return [
        named
        for named in (*found, *plain_reading.named_in(request.translated, text, found))
        if {named.part, "all"}.isdisjoint(request.as_words)
    ]


def _within(spans: Iterable[DateRange]) -> Demand:
    return demands.any_of(Condition("in", (Filters(created=span),)) for span in spans)


def from_what_it_names(question: Question) -> Question:
    """``question`` within the times, kinds and people that it names, beside its filters."""
    demand = question.filters.demand
    if question.times:
        demand = _both(demand, _within(question.times))
    for lift in question.lifts:
        demand = _both(demand, cast(Demand, lift.demand))
    return replace(question, filters=replace(question.filters, demand=demand))


def filters_read(analyzed: Analyzed) -> list[FoundFilter]:
    """The kinds, people and facts of a question in words that became filters."""
    return [each for each in analyzed.readings if each.use == "filter"]


def demanding_every_word(question: Question) -> Filters:
    """Filters that only records with every word of ``question`` pass.

    Words of an OR or a NOT are judged by that. Nothing here depends on a rank, so this is the
    selection of records that are to be forgotten.
    """
    demand = question.filters.demand
    leaves = demands.leaves(demand) if demand is not None else ()
    judged = {word for leaf, _ in leaves if isinstance(leaf, Term) for word in leaf.words}
    words = question.words
    plain = [(word,) for word in (*words.words, *words.cjk) if word not in judged]
    phrases = [phrase for phrase in words.phrases if judged.isdisjoint(phrase)]
    for term in map(Term, (*plain, *phrases)):
        demand = _both(demand, term)
    return replace(question.filters, demand=demand)


def _look_up(
    snapshot: SearchSnapshot, wild: Sequence[str], quoted: Sequence[Term], filters: Filters
) -> tuple[dict[str, tuple[str, ...]], list[Term]]:
    """The words that ``wild`` ones stand for, and those of ``quoted`` that no record has."""
    nowhere = [
        term
        for term in quoted
        if not snapshot.matches_any(replace(filters, demand=_both(filters.demand, term)))
    ]
    return snapshot.expand_words(wild), nowhere


def _both(one: Demand | None, other: Demand) -> Demand:
    return other if one is None else AllOf((one, other))


def filters_decide(question: Question) -> bool:
    """Whether every record that passes the filters of ``question`` matches, as in
    ``tag:sea OR canary``.

    Otherwise words decide: a record that passes the field of ``canary tag:sea`` has to be about
    canaries as well. Where a field, or a NOT, is one side of an OR with words on the other, a
    record matches without the words.
    """
    demand = question.filters.demand
    if demand is None or not any(map(_mixes_words_and_filters, _conjuncts(demand))):
        return False
    terms = [leaf for leaf, wanted in demands.leaves(demand) if wanted and isinstance(leaf, Term)]
    optional = {word for term in terms for word in term.words}
    # A word beside the demand has to match: login in ``login (tag:sea OR canary)``.
    return optional.issuperset((*question.words.words, *question.words.cjk))


def demands_all(question: Question) -> bool:
    """Whether every word of ``question`` is demanded, as in ``"rate limit" AND nginx``.

    Then each record that passes the filters has all of it.
    """
    demand = question.filters.demand
    if demand is None:
        return False
    terms = [leaf for leaf, wanted in demands.leaves(demand) if wanted and isinstance(leaf, Term)]
    asked = {*question.words.words, *question.words.cjk}
    asked.update(word for phrase in question.words.phrases for word in phrase)
    return bool(terms) and asked <= {word for term in terms for word in term.words}


def _conjuncts(demand: Demand) -> tuple[Demand, ...]:
    return demand.of if isinstance(demand, AllOf) else (demand,)


def _mixes_words_and_filters(demand: Demand) -> bool:
    """Whether it is an OR between what needs words and what does not."""
    return isinstance(demand, AnyOf) and len({_needs_words(part) for part in demand.of}) == 2


def _needs_words(demand: Demand) -> bool:
    match demand:
        case Term():
            return True
        case Condition() | Not():
            return False
        case AllOf():
            return any(map(_needs_words, demand.of))
        case AnyOf():
            return all(map(_needs_words, demand.of))


MAX_FILTER_CHARS = 2_000

SCRATCHPAD: Final = Filters(kinds=("note",), facets=(("folder", "scratchpad"),))
"""Notes that are working papers: hidden where a request says so (names of folders fold case)."""


async def filters_of(store: SearchStore, request: SearchRequest, kinds: KnownKinds) -> Filters:
    """All filters of ``request`` as one value.

    Raises InputError for an unknown scope, MissingField when there is neither a question nor a
    filter: that the scratchpad is hidden counts as none.
    """
    filters = request.filters
    if set(filters.kinds) >= set(kinds.names):
        filters = replace(filters, kinds=())
    asked = [] if filters.demand is None else [filters.demand]
    if request.folder or request.domain:
        asked += _narrowings(request)
    if request.where:
        now = request.asked_at or datetime.now().astimezone()
        scopes = await named(store, now, kinds) if "scope" in request.where else {}
        fields = Fields(kinds, now, now.tzinfo or cast(tzinfo, now.astimezone().tzinfo), scopes)
        asked += [fields.asked(name, values) for name, values in request.where.items()]
    if request.scope:
        now = request.asked_at or datetime.now().astimezone()
        asked.append(await scope(store, request.scope, now, kinds))
    if asked:
        demand = AllOf(tuple(asked)) if asked[1:] else asked[0]
        filters = replace(filters, demand=await _with_words(store, demand))
    if not (filters or request.filters or request.text.strip()):
        raise MissingField("give a query, or at least one filter", field="query")
    if request.hide_scratchpad and not request.folder and _asks_for(request, "note"):
        # By their numbers: mostly there are none, and then nothing is filtered.
        filters = replace(filters, without=await store.matching(SCRATCHPAD))
    return filters


def _narrowings(request: SearchRequest) -> Iterator[Demand]:
    if request.folder and _asks_for(request, "note"):
        yield _only_of("note", "folder", request.folder)
    if request.domain and _asks_for(request, "website"):
        domain = request.domain.lower().removeprefix("www.")
        yield _only_of("website", "domain", domain, f"www.{domain}")


def _asks_for(request: SearchRequest, kind: Kind) -> bool:
    return not request.filters.kinds or kind in request.filters.kinds


def _only_of(kind: Kind, facet: str, *values: str) -> Demand:
    """A record of ``kind`` has one of the values; records of other kinds need not."""
    others = Not(Condition(f"kind:{kind}", (Filters(kinds=(kind,)),)))
    alternatives = tuple((facet, value) for value in values)
    own = Filters(kinds=(kind,), any_facets=alternatives)
    return AnyOf((others, Condition(f"{facet}:{values[0]}", (own,))))


async def named(store: SearchStore, now: datetime, kinds: KnownKinds) -> dict[str, Demand]:
    """The scopes that a question may name, lower-case."""
    return {
        scope.name.lower(): demand_of(scope.filter, now, kinds)
        for scope in await store.read(lambda snapshot: snapshot.scopes())
    }


async def scope(store: SearchStore, name: str, now: datetime, kinds: KnownKinds) -> Demand:
    """What a record in the scope ``name`` has to be. Raises InputError listing the scopes."""
    scopes = {
        scope.name.lower(): scope for scope in await store.read(lambda snapshot: snapshot.scopes())
    }
    scope = scopes.get(name.strip().lower())
    if scope is not None:
        return demand_of(scope.filter, now, kinds)
    known = ", ".join(scope.name for scope in scopes.values())
    names = known or "none yet; make one: mem-search scope add"
    raise InputError(f"no scope is called {name[:60]!r}; known are {names}", field="scope")


def demand_of(text: str, now: datetime, kinds: KnownKinds) -> Demand:
    """A scope's filter as a demand. Raises InputError for what is not made of fields alone."""
    if len(text) > MAX_FILTER_CHARS:
        raise InputError(f"is longer than {MAX_FILTER_CHARS} characters", field="filter")
    reading = parse.read(text, now=now, kinds=kinds)
    plain = reading.text.strip()
    why = [*reading.analyzed.warnings, *([f"“{plain[:60]}” is none"] if plain else [])]
    if reading.demand is None or reading.wild or why:
        raise InputError(
            "; ".join(
                [
                    "a scope is made of fields only, such as project:web -tag:draft"
                    " (docs/query-language.md)",
                    *why,
                ]
            ),
            field="filter",
        )
    return reading.demand
