"""Whether a demand settles by itself what matches, as in ``tag:sea OR canary``.

Words otherwise decide: what passes the fields of ``canary tag:sea`` has to be about canaries as
well. Where a field, or a NOT, is the other side of an OR with words, it is a match without them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from mem_search.contracts import Question
from mem_search.model import AllOf, AnyOf, Condition, Demand, Not, Term
from mem_search.storage.sqlite import records
from mem_search.text.query import demands


def filters_decide(question: Question) -> bool:
    """Whether every record that passes the filters of ``question`` answers it."""
    demand = question.filters.demand
    if demand is None or not any(map(_mixes_words_and_filters, _parts(demand))):
        return False
    terms = [leaf for leaf, wanted in demands.leaves(demand) if wanted and isinstance(leaf, Term)]
    said = {word for term in terms for word in term.words}
    # A word beside the demand has its say: login in ``login (tag:sea OR canary)``.
    return said.issuperset((*question.words.words, *question.words.cjk))


def remaining_matches(
    connection: sqlite3.Connection, question: Question, seen: Collection[int], count: int
) -> list[int]:
    """The newest ``count`` of what passes the filters of ``question`` and no leg has ranked."""
    newest = records.browse(connection, question.filters, "date_desc", count + len(seen), 0)
    return [number for number in newest if number not in seen][:count]


def _parts(demand: Demand) -> tuple[Demand, ...]:
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
