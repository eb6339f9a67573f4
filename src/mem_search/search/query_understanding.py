"""Query understanding: the text of a request becomes the question that every leg gets.

The store decides what the query language leaves open: which words a prefix or a misspelling
stands for, and whether quoted words stand together anywhere at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mem_search.contracts import Question
from mem_search.model import (
    AllOf,
    Analyzed,
    AnyOf,
    Condition,
    Demand,
    Filters,
    Not,
    SearchRequest,
    Term,
)
from mem_search.search.scopes import named
from mem_search.storage.ports.search import SearchSnapshot, SearchStore
from mem_search.text import query as language
from mem_search.text.query import demands
from mem_search.text.query.fields import KnownKinds


async def understand_query(
    store: SearchStore, request: SearchRequest, kinds: KnownKinds
) -> tuple[Question, Analyzed]:
    """The question, and how the text of the request was parsed.

    The text of the question is empty when the request has only filters.
    """
    now = request.asked_at or datetime.now().astimezone()
    if now.tzinfo is None:
        now = now.astimezone()
    scopes = await named(store, request.text, now, kinds)
    reading = language.read(request.text, now=now, kinds=kinds, scopes=scopes)
    near: dict[str, tuple[str, ...]] = {}
    nowhere: list[Term] = []
    if reading.wild or reading.quoted:
        near, nowhere = await store.read(_look_up, reading.wild, reading.quoted, request.filters)
    if near or nowhere:
        reading = language.read(
            request.text,
            now=now,
            kinds=kinds,
            near=near,
            demand_quotes=not nowhere,
            scopes=scopes,
        )
    analyzed = reading.analyzed
    if nowhere:
        phrases = ", ".join(f"“{' '.join(term.words)}”" for term in nowhere)
        where = " within the filters" if request.filters else ""
        warning = f"no record{where} has the phrase {phrases}; its words are looked for instead"
        analyzed = replace(analyzed, warnings=(*analyzed.warnings, warning))
    filters = replace(request.filters, demand=_both(request.filters.demand, reading.demand))
    return Question(reading.text, reading.words, filters, request.is_research), analyzed


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


def _both(one: Demand | None, other: Demand | None) -> Demand | None:
    return AllOf((one, other)) if one is not None and other is not None else one or other


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
