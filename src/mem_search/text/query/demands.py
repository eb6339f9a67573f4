"""Demands on records: made from the tree in a normal form, and written in canonical form.

Reading the canonical form gives the same demand again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, Literal

from mem_search.model import AllOf, AnyOf, Condition, Demand, Filters, Kind, Not, Term
from mem_search.text.query.grammar import DEPENDENT, Chain, Group, Leaf, Must, Never, Node
from mem_search.text.query.lexer import Token
from mem_search.text.query.wild import FORMS

MAX_LEAVES: Final = 64
MAX_DEPTH: Final = 20

NearWords = Mapping[str, tuple[str, ...]]
"""``auth*``, ``authentcation~`` or ``*oriz*`` → the store's words that it stands for."""


def is_explicit(node: Node, *, signs: bool = False) -> bool:
    """Whether the node is a demand beside other nodes, not only words that rank.

    With ``signs`` prefixes, misspellings and wildcards are demands, too.
    """
    match node:
        case Leaf():
            return node.token.sort == "field" or (signs and node.token.sort in FORMS)
        case Group():
            return any(is_explicit(item, signs=signs) for item in node.of)
        case _:
            return True


def of_node(node: Node, near: NearWords) -> Demand:
    """The demand of a node."""
    match node:
        case Leaf():
            return _of_leaf(node, near)
        case Must():
            return of_node(node.of, near)
        case Never():
            return negated(of_node(node.of, near))
        case Chain():
            join = all_of if node.operator == "and" else any_of
            return join(of_node(item, near) for item in node.of)
        case Group():
            # Words side by side are alternatives, in parentheses as well as outside.
            plain = [of_node(item, near) for item in node.of if not is_explicit(item)]
            explicit = [of_node(item, near) for item in node.of if is_explicit(item)]
            return all_of([any_of(plain), *explicit] if plain else explicit)


def all_of(demands: Iterable[Demand]) -> Demand:
    """All of at least one demand, flat and without repeats."""
    flat = _flat(demands, AllOf)
    return flat[0] if len(flat) == 1 else AllOf(flat)


def any_of(demands: Iterable[Demand]) -> Demand:
    """One of at least one demand, flat and without repeats."""
    flat = _flat(demands, AnyOf)
    return flat[0] if len(flat) == 1 else AnyOf(flat)


def negated(demand: Demand) -> Demand:
    """The negation; a double negation cancels out."""
    return demand.of if isinstance(demand, Not) else Not(demand)


def canonical(demand: Demand | None) -> str:
    """The demand as the query language writes it; empty for none."""
    if demand is None:
        return ""
    written = _written(demand)
    if not isinstance(demand, Term):
        return written
    # A word alone would only rank; the sign makes it a demand. A number takes no sign.
    return (
        f"+{written}" if written[0] == '"' or written[0].isalpha() else f"{written} AND {written}"
    )


def leaves(demand: Demand, positive: bool = True) -> Iterator[tuple[Term | Condition, bool]]:
    """Every term and condition, and whether it is wanted rather than excluded."""
    match demand:
        case Not():
            yield from leaves(demand.of, not positive)
        case AllOf() | AnyOf():
            for part in demand.of:
                yield from leaves(part, positive)
        case _:
            yield demand, positive


def signed_in_fields(demand: Demand) -> Iterator[Term]:
    """The terms with signs inside fields, such as that of ``title:auth*``."""
    for leaf, _ in leaves(demand):
        if isinstance(leaf, Condition):
            for filters in leaf.any_of:
                if filters.demand is not None:
                    yield from signed_in_fields(filters.demand)
        elif leaf.column and leaf.form != "exact":
            yield leaf


def with_near(demand: Demand, near: NearWords) -> Demand:
    """``demand`` with the store's words for the terms of ``signed_in_fields``."""

    def known(part: Demand) -> Demand:
        return with_near(part, near)

    match demand:
        case Term():
            is_signed = demand.column and demand.form != "exact"
            words = near.get(written_term(demand), ()) if is_signed else demand.near
            return replace(demand, near=words)
        case Condition():
            return replace(
                demand,
                any_of=tuple(
                    each if each.demand is None else replace(each, demand=known(each.demand))
                    for each in demand.any_of
                ),
            )
        case Not():
            return Not(known(demand.of))
        case AllOf() | AnyOf():
            return replace(demand, of=tuple(map(known, demand.of)))


def kinds_of(filters: Filters) -> tuple[Kind, ...]:
    """The kinds of which every record within ``filters`` is, by its demand, too; empty for any."""
    asked = None if filters.demand is None else _kinds(filters.demand)
    if asked is None or not filters.kinds:
        return filters.kinds if asked is None else tuple(sorted(asked))
    return tuple(kind for kind in filters.kinds if kind in asked) or filters.kinds


def _kinds(demand: Demand) -> set[Kind] | None:
    """The kinds that ``demand`` leaves; None for any."""
    match demand:
        case Condition():
            each = [kinds_of(filters) for filters in demand.any_of]
            return set(chain(*each)) if all(each) else None
        case AllOf():
            some = [kinds for part in demand.of if (kinds := _kinds(part)) is not None]
            return set.intersection(*some) if some else None
        case AnyOf():
            parts = [_kinds(part) for part in demand.of]
            return None if None in parts else set(chain(*filter(None, parts)))
        case _:
            return None


def is_too_large(demand: Demand) -> bool:
    """Whether a demand has too many parts, or is nested too deeply, to be a real query."""
    return _depth(demand) > MAX_DEPTH or sum(1 for _ in leaves(demand)) > MAX_LEAVES


def _depth(demand: Demand) -> int:
    match demand:
        case Not():
            return 1 + _depth(demand.of)
        case AllOf() | AnyOf():
            return 1 + max(map(_depth, demand.of))
        case _:
            return 0


_SIGNS: Final = {"prefix": "*", "fuzzy": "~", "wildcard": ""}


def written_term(term: Term) -> str:
    """``auth``, ``"vector index"``, ``auth*``, ``auth~``, ``*oriz*``."""
    if term.form != "exact":
        return "_".join(term.words) + _SIGNS[term.form]
    text = " ".join(term.words)
    # A stop word without quotes would not be an operand (``grammar.resolve_operators``).
    is_plain = len(term.words) == 1 and text[0].isalpha() and text not in DEPENDENT
    return text if is_plain else f'"{text}"'


def _written(demand: Demand) -> str:
    match demand:
        case Term():
            return written_term(demand)
        case Condition():
            return demand.text
        case Not():
            return f"NOT {_operand(demand.of)}"
        case AllOf():
            return " AND ".join(map(_operand, demand.of))
        case AnyOf():
            return " OR ".join(map(_operand, demand.of))


def _operand(demand: Demand) -> str:
    return f"({_written(demand)})" if isinstance(demand, AllOf | AnyOf) else _written(demand)


def _of_leaf(leaf: Leaf, near: NearWords) -> Demand:
    token = leaf.token
    if token.condition is not None:
        return token.condition
    if token.sort not in FORMS:
        return Term(token.words)
    term = wild_term(token)
    return Term(term.words, term.form, near.get(written_term(term), ()))


def wild_term(token: Token) -> Term:
    """The term of a prefix, a misspelling or a wildcard, without its words."""
    form: Literal["prefix", "fuzzy", "wildcard"] = token.sort  # type: ignore[assignment]
    return Term(token.words, form)


def _flat(demands: Iterable[Demand], join: type[AllOf] | type[AnyOf]) -> tuple[Demand, ...]:
    parts: list[Demand] = []
    for demand in demands:
        inner: Sequence[Demand] = demand.of if isinstance(demand, join) else (demand,)
        parts += inner
    return tuple(dict.fromkeys(parts))
