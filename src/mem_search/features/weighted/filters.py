"""The filters of ``/api/v2/search`` as the filters that every leg applies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mem_search.agents import SESSION_SOURCES
from mem_search.model import AllOf, AnyOf, Condition, Demand, Filters, Kind, Not
from mem_search.records.registry import installed_kinds

SourceType = Literal[
    "direct_input",
    "document_upload",
    "web_scrape",
    "api_import",
    "conversation",
    "reflection",
    "checkpoint",
    "checkpoint_recall",
]


@dataclass(frozen=True, slots=True)
class Rule:
    """Records of these kinds; of those sources only (True), or of all others (False)."""

    word: str
    kinds: tuple[Kind, ...]
    of_agents: bool | None = None


def _rules() -> Iterator[Rule]:
    """The rules of all kinds (``source_type``, ``agent_source_type``) by source type."""
    kinds_of: dict[tuple[str, bool | None], list[Kind]] = {}
    for kind in installed_kinds():
        if kind.agent_source_type:
            kinds_of.setdefault((kind.agent_source_type, True), []).append(kind.name)
            kinds_of.setdefault((kind.source_type, False), []).append(kind.name)
        else:
            kinds_of.setdefault((kind.source_type, None), []).append(kind.name)
    for (word, of_agents), kinds in kinds_of.items():
        yield Rule(word, tuple(kinds), of_agents)


RULES: Final = tuple(_rules())
"""The rules of a kind cover all of its records and do not overlap. No record has the type of a
checkpoint: ``checkpoint_recall`` is a valid filter that matches nothing.
"""


def word_for(kind: Kind, source: str) -> str:
    """The source type of a record of ``kind`` from ``source``."""
    found = installed_kinds().get(kind)
    return (source in SESSION_SOURCES and found.agent_source_type) or found.source_type


def rules_for(words: Iterable[SourceType]) -> tuple[Rule, ...]:
    """The rules for these source types; a record has to meet one of them."""
    wanted = set(words)
    return tuple(rule for rule in RULES if rule.word in wanted)


def demand(
    memory_types: Sequence[str] | None,
    source_types: Sequence[SourceType] | None,
    tags_not: Sequence[str],
) -> Demand | None:
    """The filters by type, tag and source type; None without any. The values of one list are
    alternatives.
    """
    demands = [
        *([_types(memory_types)] if memory_types else []),
        *([_any(_met(rule) for rule in rules_for(source_types))] if source_types else []),
        *(Not(_tagged(tag)) for tag in tags_not),
    ]
    return AllOf(tuple(demands)) if demands else None


def tagged(tags_all: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The facets that require all of these tags."""
    return tuple(("tag", tag) for tag in tags_all)


def _types(words: Sequence[str]) -> Demand:
    """A word that names a kind filters by kind, any other by type: ``memories``, ``fact``."""
    kind_of = installed_kinds().named
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
    of_agents = Condition(
        "source:agents", tuple(Filters(source=source) for source in SESSION_SOURCES)
    )
    return AllOf((of_kind, of_agents if rule.of_agents else Not(of_agents)))


def _tagged(tag: str) -> Demand:
    return Condition(f"tag:{tag}", (Filters(tags=(tag,)),))


def _any(demands: Iterable[Demand]) -> Demand:
    """A filter by these kinds; without any it matches nothing."""
    nothing = Condition("nothing", (Filters(kinds=("",)),))
    return AnyOf(tuple(demands) or (nothing,))
