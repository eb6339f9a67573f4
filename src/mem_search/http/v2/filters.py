"""The filters of ``/api/v2/search`` as the filters that every leg applies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from mem_search.http.v2.source_types import AGENTS, Rule, SourceType, rules_for
from mem_search.http.values import kind_of
from mem_search.model import AllOf, AnyOf, Condition, DateRange, Demand, Filters, Kind, Not


def read(
    *,
    memory_types: Sequence[str] = (),
    source_types: Sequence[SourceType] = (),
    tags: Sequence[str] = (),
    tags_all: Sequence[str] = (),
    tags_not: Sequence[str] = (),
    importance: float | None = None,
    created: DateRange = DateRange(),  # noqa: B008 - frozen
    user: str = "",
) -> Filters:
    """All of these hold; the values of one are alternatives, but for ``tags_all``."""
    demands = [
        *([_types(memory_types)] if memory_types else []),
        *([_any(_met(rule) for rule in rules_for(source_types))] if source_types else []),
        *(Not(_tagged(tag)) for tag in tags_not),
    ]
    return Filters(
        tags=tuple(tags),
        facets=(*(("tag", tag) for tag in tags_all), *([("user_id", user)] if user else [])),
        importance=importance,
        created=created,
        demand=AllOf(tuple(demands)) if demands else None,
    )


def _types(words: Sequence[str]) -> Demand:
    """A word that names a kind means the kind, any other a type: ``memories``, ``fact``."""
    kinds = tuple(dict.fromkeys(kind for word in words if (kind := kind_of(word))))
    types = tuple(word for word in words if not kind_of(word))
    any_of = [
        *([Filters(kinds=kinds)] if kinds else []),
        *([Filters(types=types)] if types else []),
    ]
    return Condition(f"memory_types:{','.join(words)}", tuple(any_of))


def _met(rule: Rule) -> Demand:
    of_kind = Condition(f"source_type:{rule.word}", (Filters(kinds=rule.kinds),))
    if rule.of_agents is None:
        return of_kind
    of_agents = Condition("source:agents", tuple(Filters(source=source) for source in AGENTS))
    return AllOf((of_kind, of_agents if rule.of_agents else Not(of_agents)))


def _tagged(tag: str) -> Demand:
    return Condition(f"tag:{tag}", (Filters(tags=(tag,)),))


def _any(demands: Iterable[Demand]) -> Demand:
    """At least one; of none, nothing: no kind is called that."""
    nothing = Condition("nothing", (Filters(kinds=(cast(Kind, ""),)),))
    return AnyOf(tuple(demands) or (nothing,))
