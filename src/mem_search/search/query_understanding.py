"""Query understanding: the text of a request becomes the question that every leg gets.

The store decides what the query language leaves open: which words a prefix or a misspelling
stands for, and whether quoted words stand together anywhere at all.

``filters_of`` adds what a request filters by beside its words: scope, folder, domain, and the
hidden scratchpad. A scope is written in the query language, of fields alone: it filters the same
way in every search, and nothing in it ranks. Scopes do not contain each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
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
    FoundFilter,
    Kind,
    Not,
    SearchRequest,
    Term,
)
from mem_search.search import word_parts
from mem_search.search.questions_in_words import both_demands, read_in_words, times_demand
from mem_search.search.respelling import Respellings, respelled_alone
from mem_search.search.word_parts import VariantsByWord
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text.query import demands, parse
from mem_search.text.query.fields import Fields, KnownKinds

EVERYTHING: Final = "*"
"""The question that all records answer, newest first."""


@dataclass(frozen=True, slots=True)
class UnderstoodRequest:
    """A request with all its filters, its question, and how its text was parsed.

    ``is_ranked``: words and meaning order the records, not their dates. ``variants`` are looked for
    beside words that few records have, ``respellings`` instead of those that none has.
    """

    request: SearchRequest
    question: Question
    analyzed: Analyzed
    is_ranked: bool = False
    variants: VariantsByWord = field(default_factory=dict)
    respellings: Respellings = field(default_factory=dict)


def understand(
    snapshot: SearchSnapshot,
    request: SearchRequest,
    kinds: KnownKinds,
    scratchpad: Sequence[int],
) -> UnderstoodRequest:
    """All that a search reads of the store before the legs, as ``filters_of`` takes and raises."""
    request = replace(request, filters=filters_of(snapshot, request, kinds, scratchpad))
    question, analyzed = question_of(snapshot, request, kinds)
    by_filters = request.order != "relevance" and filters_decide(question)
    if by_filters or question.text.strip() in ("", EVERYTHING):
        return UnderstoodRequest(request, question, analyzed)
    if request.match == "all":
        question = replace(question, filters=demanding_every_word(question))
    question, variants = word_parts.with_variants(snapshot, question, request.text)
    respellings: Respellings = {}
    if request.mode == "vector":  # the keyword leg would tell which words are unknown
        question, respellings = respelled_alone(snapshot, question)
    named = word_parts.variants_by_word(variants)
    return UnderstoodRequest(request, question, analyzed, True, named, respellings)


def selected_by(
    snapshot: SearchSnapshot,
    request: SearchRequest,
    kinds: KnownKinds,
    scratchpad: Sequence[int],
) -> Filters:
    """The filters that select every record with all words and fields of ``request``."""
    request = replace(request, filters=filters_of(snapshot, request, kinds, scratchpad))
    question, _ = question_of(snapshot, request, kinds, selects=True)
    return demanding_every_word(question)


def question_of(
    snapshot: SearchSnapshot, request: SearchRequest, kinds: KnownKinds, *, selects: bool = False
) -> tuple[Question, Analyzed]:
    """The question, and how the text of the request was parsed.

    The text of the question is empty when the request has only filters. Where it ``selects``, words
    such as "last week" are looked for like others, and those with signs (``auth*``) are demanded.
    """
    now = request.asked_at or datetime.now().astimezone()
    if now.tzinfo is None:
        now = now.astimezone()
    scopes = {}
    if "scope:" in request.text.lower():
        scopes = named_scopes(snapshot, now, kinds)
    # Weights of the caller alone decide the order of a weighted search.
    in_words = not selects and request.fusion is None
    times = in_words and {"time", "all"}.isdisjoint(request.as_words)
    reading = parse.read(
        request.text, now=now, kinds=kinds, scopes=scopes, times=times, signs=selects
    )
    near: dict[str, tuple[str, ...]] = {}
    nowhere: list[Term] = []
    if reading.wild or reading.quoted:
        near, nowhere = _look_up(snapshot, reading.wild, reading.quoted, request.filters)
    if near or nowhere:
        reading = parse.read(
            request.text,
            now=now,
            kinds=kinds,
            near=near,
            demand_quotes=not nowhere,
            scopes=scopes,
            times=times,
            signs=selects,
        )
    analyzed = reading.analyzed
    if nowhere:
        phrases = ", ".join(f"“{' '.join(term.words)}”" for term in nowhere)
        # Nobody asked for the numbers of what is hidden.
        where = " within the filters" if replace(request.filters, without=()) else ""
        warning = f"no record{where} has the phrase {phrases}; its words are looked for instead"
        analyzed = replace(analyzed, warnings=(*analyzed.warnings, warning))
    filters = request.filters
    if reading.demand is not None:
        asked = _with_words(snapshot, reading.demand)
        filters = replace(filters, demand=both_demands(filters.demand, asked))
    if filters.demand is not None:
        analyzed = _with_signed(analyzed, filters.demand)
    if filters.demand is not None and (kinds_asked := demands.kinds_of(filters)):
        filters = replace(filters, kinds=kinds_asked)
    lifted: tuple[DateRange, ...] = ()
    if analyzed.dates:
        lifted = tuple(date.range for date in analyzed.dates if date.use == "lift")
    question = Question(reading.text, reading.words, filters, request.is_research, lifted)
    # In an expression each word is there for a reason; beside fields alone it may name a kind.
    if in_words and not (analyzed.alone or analyzed.operators or analyzed.excluded):
        return read_in_words(snapshot, request, kinds, question, analyzed, now)
    return question, analyzed


def _with_words(snapshot: SearchSnapshot, demand: Demand) -> Demand:
    """``demand`` with the store's words for what its fields have signs in: ``title:auth*``."""
    terms = tuple(demands.signed_in_fields(demand))
    if not terms:
        return demand
    names = tuple(dict.fromkeys(map(demands.written_term, terms)))
    near = snapshot.expand_words(names)
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


def from_what_it_names(question: Question) -> Question:
    """``question`` within the times, kinds and people that it names, beside its filters."""
    demand = question.filters.demand
    if question.times:
        demand = both_demands(demand, times_demand(question.times))
    for lift in question.lifts:
        demand = both_demands(demand, cast(Demand, lift.demand))
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
        demand = both_demands(demand, term)
    return replace(question.filters, demand=demand)


def _look_up(
    snapshot: SearchSnapshot, wild: Sequence[str], quoted: Sequence[Term], filters: Filters
) -> tuple[dict[str, tuple[str, ...]], list[Term]]:
    """The words that ``wild`` ones stand for, and those of ``quoted`` that no record has."""
    nowhere = [
        term
        for term in quoted
        if not snapshot.matches_any(replace(filters, demand=both_demands(filters.demand, term)))
    ]
    return snapshot.expand_words(wild), nowhere


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
"""Notes that are working papers: hidden unless a request asks (names of folders fold case)."""


def filters_of(
    snapshot: SearchSnapshot,
    request: SearchRequest,
    kinds: KnownKinds,
    scratchpad: Sequence[int],
) -> Filters:
    """All filters of ``request`` as one value; ``scratchpad`` are the records of ``SCRATCHPAD``.

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
        scopes = named_scopes(snapshot, now, kinds) if "scope" in request.where else {}
        fields = Fields(kinds, now, now.tzinfo or cast(tzinfo, now.astimezone().tzinfo), scopes)
        asked += [fields.asked(name, values) for name, values in request.where.items()]
    if request.scope:
        now = request.asked_at or datetime.now().astimezone()
        asked.append(scope(snapshot, request.scope, now, kinds))
    if asked:
        demand = AllOf(tuple(asked)) if asked[1:] else asked[0]
        filters = replace(filters, demand=_with_words(snapshot, demand))
    if not (filters or request.filters or request.text.strip()):
        raise MissingField("give a query, or at least one filter", field="query")
    shown = request.scratchpad or request.folder or "folder" in request.where
    if not shown and _asks_for(request, "note") and "folder:" not in request.text.lower():
        # By their numbers: mostly there are none, and then nothing is filtered.
        filters = replace(filters, without=(*filters.without, *scratchpad))
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


def named_scopes(snapshot: SearchSnapshot, now: datetime, kinds: KnownKinds) -> dict[str, Demand]:
    """The scopes that a question may name, lower-case."""
    return {scope.name.lower(): demand_of(scope.filter, now, kinds) for scope in snapshot.scopes()}


def scope(snapshot: SearchSnapshot, name: str, now: datetime, kinds: KnownKinds) -> Demand:
    """What a record in the scope ``name`` has to be. Raises InputError listing the scopes."""
    scopes = {scope.name.lower(): scope for scope in snapshot.scopes()}
    scope = scopes.get(name.strip().lower())
    if scope is not None:
        return demand_of(scope.filter, now, kinds)
    known = ", ".join(scope.name for scope in scopes.values())
    names = known or "none yet; make one: mem-search scope add"
    raise InputError(f"no scope is called {name[:60]!r}; known scopes: {names}", field="scope")


def demand_of(text: str, now: datetime, kinds: KnownKinds) -> Demand:
    """A scope's filter as a demand. Raises InputError for what is not made of fields alone."""
    if len(text) > MAX_FILTER_CHARS:
        raise InputError(f"is longer than {MAX_FILTER_CHARS} characters", field="filter")
    reading = parse.read(text, now=now, kinds=kinds)
    plain = reading.text.strip()
    why = [*reading.analyzed.warnings, *([f"“{plain[:60]}” is not one"] if plain else [])]
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
