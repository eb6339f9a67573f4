"""What the query language demands of a record, as SQL over ``records r``.

Each term asks the full-text index for the records that have it in any passage: ``a AND b``
holds when a record has both, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mem_search.model import AllOf, AnyOf, Condition, Demand, Filters, Not, Term
from mem_search.text.words import near_expression, phrase_expression

Where = Callable[[Filters], tuple[str, list[Any]]]


def condition(demand: Demand, where: Where) -> tuple[str, list[Any]]:
    """A condition with its parameters; ``where`` turns the filters of a field into one."""
    match demand:
        case Term():
            return (
                "r.id in (select q.record_id from passages_fts"
                " join passages q on q.id = passages_fts.rowid where passages_fts match ?)",
                [expression(demand)],
            )
        case Condition():
            return _joined(" or ", [where(filters) for filters in demand.any_of])
        case Not():
            inside, values = condition(demand.of, where)
            return f"not {inside}", values
        case AllOf():
            return _joined(" and ", [condition(part, where) for part in demand.of])
        case AnyOf():
            return _joined(" or ", [condition(part, where) for part in demand.of])


def expression(term: Term) -> str:
    """The term as an FTS5 query."""
    if term.form == "exact":
        return phrase_expression(term.words)
    word = "_".join(term.words)
    near = term.near or ((f"{word}*",) if term.form == "prefix" else ())
    alternatives = [near_expression(other) for other in near]
    if term.form == "fuzzy":
        alternatives.insert(0, phrase_expression(term.words))
    return " OR ".join(dict.fromkeys(alternatives))


def _joined(operator: str, parts: list[tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    return (
        f"({operator.join(f'({inside})' for inside, _ in parts)})",
        [value for _, values in parts for value in values],
    )
