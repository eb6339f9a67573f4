"""The bodies of ``/api/v2/search``: every field with its range and its place in a request.

Every fault names its field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import InitErrorDetails

from mem_search.agents.known import SESSION_SOURCES
from mem_search.http.core.parameter_types import (
    MAX_VALUE_CHARS,
    Text,
    fault_at,
    faults_of,
    split,
)
from mem_search.http.core.parameters import SCRATCHPAD, Body
from mem_search.model import (
    AllOf,
    AnyOf,
    Condition,
    Demand,
    Filters,
    GraphOptions,
    Kind,
    Not,
    ResultTexts,
    RrfOptions,
    SearchRequest,
)
from mem_search.model.requests import At, to_request
from mem_search.records.registry import installed_kinds
from mem_search.text import dates
from mem_search.validation import (
    input_errors_as_invalid,
    invalid_value,
    not_blank,
    note_reading,
)

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


def source_type_for(kind: Kind, source: str) -> str:
    """The source type of a record of ``kind`` from ``source``."""
    record_kind = installed_kinds().get(kind)
    return (source in SESSION_SOURCES and record_kind.agent_source_type) or record_kind.source_type


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


BASE = SearchRequest(texts=ResultTexts(snippet_length=200))
"""The defaults of ``/api/v2``."""

WEIGHTS = ("bm25_weight", "vector_weight", "graph_weight")
ROUNDING = 1e-3
"""How far the sum of the weights may be from 1: as far as three thirds with three digits are."""


def _names(value: Any) -> Any:
    """``"python,async"`` or a list, as a list without empties and repeats."""
    if value is None:
        return []
    words = split(value)
    return list(words) if isinstance(words, tuple) else words


def _utc_bound(value: Any, info: ValidationInfo, *, end: bool) -> Any:
    if value is None:
        return None
    if not isinstance(value, str):
        raise invalid_value("is not a date in quotes; write 2025-01-31 or 2025-01-31T12:00:00Z")
    now = datetime.now(UTC)
    with input_errors_as_invalid():
        bound = dates.parse_bound(value, end=end, now=now, tz=UTC, field="date")
    note_reading(info, bound, UTC)
    return bound


def _user(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise invalid_value("is not a UUID") from None


Query = Annotated[str, Field(max_length=MAX_VALUE_CHARS), AfterValidator(not_blank), At("text")]
Share = Annotated[float, Field(ge=0, le=1)]
Neighbours = Annotated[int, Field(ge=0, le=20), At("neighbours")]
Names = Annotated[list[Text], BeforeValidator(_names, json_schema_input_type=str)]
Start = Annotated[
    int | None, BeforeValidator(partial(_utc_bound, end=False), json_schema_input_type=str | None)
]
End = Annotated[
    int | None, BeforeValidator(partial(_utc_bound, end=True), json_schema_input_type=str | None)
]
User = Annotated[str, AfterValidator(_user)]


class Tagged(Body):
    """Filters by tags; ``tags`` are alternatives."""

    tags: Annotated[Names, At("filters.tags")] = Field(
        default=[], description="Any of these tags, comma-separated"
    )
    tags_all: Names = Field(default=[], description="All of these tags, comma-separated")
    tags_not: Names = Field(default=[], description="None of these tags, comma-separated")
    scratchpad: bool = Field(default=False, description=SCRATCHPAD)


class HybridBody(Tagged):
    """A search by words, meaning and links, fused by the weights of the caller."""

    query: Query = Field(description="The question, 1 to 4000 characters")
    limit: int = Field(default=20, ge=1, le=100, description="How many at most")
    bm25_weight: Annotated[Share, At("fusion.weights.keyword")] = Field(
        default=0.4, description="Weight of the words"
    )
    vector_weight: Annotated[Share, At("fusion.weights.vector")] = Field(
        default=0.4, description="Weight of the meaning"
    )
    graph_weight: Annotated[Share, At("fusion.weights.graph")] = Field(
        default=0.2, description="Weight of the links"
    )
    memory_types: list[Text] | None = Field(
        default=None, description="Types (fact, insight, …) or kinds of record; any of them"
    )
    source_types: list[SourceType] | None = Field(
        default=None, description="Source types, how the record came to be stored; any of them"
    )
    importance_threshold: Annotated[Share | None, At("filters.importance")] = Field(
        default=None, description="Lowest importance"
    )
    enable_graph_expansion: bool = Field(default=True, description="Whether links are followed")
    graph_max_depth: Annotated[int, At("fusion.graph.depth")] = Field(
        default=2, ge=1, le=5, description="Links to follow in a row"
    )
    graph_seed_limit: Annotated[int, At("fusion.graph.seeds")] = Field(
        default=10, ge=1, le=50, description="Results to start from"
    )
    rrf_k: Annotated[int, At("fusion.k")] = Field(
        default=60, ge=1, le=100, description="Constant of the rank fusion"
    )
    min_score_threshold: Annotated[Share | None, At("fusion.min_score")] = Field(
        default=None, description="Lowest final score"
    )
    include_neighbors: Neighbours = Field(
        default=2, description="Passages on either side given as context"
    )
    start_date: Annotated[Start, At("filters.created.start")] = Field(
        default=None, description="Created at or after; UTC without offset"
    )
    end_date: Annotated[End, At("filters.created.end")] = Field(
        default=None, description="Created at or before; a date includes its whole day"
    )

    def request(self, asked_at: datetime | None = None) -> SearchRequest:
        """The search, fused by the weights of the body."""
        base = replace(BASE, fusion=RrfOptions({}, graph=GraphOptions()), asked_at=asked_at)
        request = to_request(self, base)
        if not self.enable_graph_expansion:
            assert request.fusion is not None
            request = replace(request, fusion=replace(request.fusion, graph=None))
        narrowed = replace(
            request.filters,
            facets=tagged(self.tags_all),
            demand=demand(self.memory_types, self.source_types, self.tags_not),
        )
        return replace(request, filters=narrowed)

    @model_validator(mode="wrap")
    @classmethod
    def _fits_together(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Check rules over several fields; report them together with faults of single ones."""
        lines = [*_sum_of_weights(value)]
        try:
            body = handler(value)
        except ValidationError as error:
            lines = [*faults_of(error), *lines]
        else:
            lines += _contradictions(body)
            if not lines:
                return body
        raise ValidationError.from_exception_data(cls.__name__, lines)


class VectorFilters(Body):
    """What a record must be."""

    memory_types: list[Text] | None = Field(
        default=None, description="Types (fact, insight, …) or kinds of record; any of them"
    )
    min_importance: Annotated[Share | None, At("filters.importance")] = Field(
        default=None, description="Lowest importance"
    )
    user_id: User | None = Field(default=None, description="Only memories of this user (UUID)")


class VectorBody(Tagged):
    """A search by meaning alone."""

    query: Query = Field(description="The question, 1 to 4000 characters")
    limit: int = Field(default=20, ge=1, le=100, description="How many at most")
    filters: Annotated[VectorFilters | None, At("")] = Field(
        default=None, description="What a record must be"
    )
    include_neighbors: Neighbours = Field(
        default=2, description="Passages on either side given as context"
    )

    def request(self, asked_at: datetime | None = None) -> SearchRequest:
        """The search by meaning alone."""
        within = self.filters or VectorFilters()
        base = replace(BASE, fusion=RrfOptions({"vector": 1.0}), asked_at=asked_at)
        request = to_request(self, to_request(within, base))
        user = (("user_id", within.user_id),) if within.user_id else ()
        narrowed = replace(
            request.filters,
            facets=(*tagged(self.tags_all), *user),
            demand=demand(within.memory_types, None, self.tags_not),
        )
        return replace(request, filters=narrowed)


def _sum_of_weights(value: Any) -> Iterator[InitErrorDetails]:
    """A fault at each weight when all are numbers in range that do not sum to 1."""
    if not isinstance(value, Mapping):
        return
    sent = {name: weight for name in WEIGHTS if (weight := value.get(name)) is not None}
    weights = [sent.get(name, HybridBody.model_fields[name].default) for name in WEIGHTS]
    if not all(isinstance(w, int | float) and not isinstance(w, bool) for w in weights):
        return
    total = sum(weights)
    # Compared in whole millionths: 1 - .999 is a little more than .001 in floating point.
    if all(0 <= weight <= 1 for weight in weights) and round(abs(total - 1), 6) > ROUNDING:
        message = f"the three weights must sum to 1.0; these sum to {total:.10g}"
        for name in WEIGHTS:
            yield fault_at(name, message, value.get(name))


def _contradictions(body: HybridBody) -> Iterator[InitErrorDetails]:
    start, end = body.start_date, body.end_date
    if start is not None and end is not None and start > end:
        yield fault_at("end_date", "is before start_date", end)
    if not body.enable_graph_expansion and not body.bm25_weight + body.vector_weight:
        message = "graph_weight is the only weight; set enable_graph_expansion to true"
        yield fault_at("enable_graph_expansion", message, False)
