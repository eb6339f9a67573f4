"""The stages of the ranking, in their order: our own, then those that packages add.

A new stage is a function from state to state in one of the two modules and one line here; what
it needs of the store is ``StageData``, which the line declares as ``reads``.

A stage of a package, of the group ``mem_search.stages``, adds to the score of records under its
name, or orders hits and leaves some out; nothing else of what it returns counts. So it can find
nothing that the search did not, and what it does wrong costs only itself: the search says so and
goes on without it (docs/extending.md).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import numpy as np

from mem_search.errors import InputError
from mem_search.model import LegReport
from mem_search.patterns import pattern
from mem_search.search.sparse import SPARSE
from mem_search.search.stage_data import (
    COMPLETE_MATCHES,
    FEEDBACK,
    GUESSED_MATCHES,
    LEANING_RECORDS,
    LIFTED_RECORDS,
    NAMED_RECORDS,
    NEWEST_RECORDS,
    OPENING_ORDER,
    SKETCHES,
    SORT_VALUES,
    SUCCESSORS,
    TERM_COVERAGE,
)
from mem_search.search.stages import ordering, relevance, scoring
from mem_search.search.state import RankingInput, RankingState, Stage, StageData

log = logging.getLogger(__name__)

ENTRY_POINTS: Final = "mem_search.stages"
LEFT_OUT: Final = "results are ranked without the stage "
"""How the detail of a report begins where a stage of a package failed."""

MAX_DETAIL_CHARS: Final = 200
_NAME: Final = pattern(r"[a-z][a-z0-9-]{0,39}")
_TAKEN: Final = frozenset({"keyword", "vector", "graph"})
"""Legs, whose scores stand beside those of the stages."""

STAGES: Final[tuple[Stage, ...]] = (
    Stage("match", relevance.match),
    Stage("fused", scoring.fuse, required=True),
    Stage("sparse", scoring.sparse, reads=(SPARSE,)),
    Stage("neighbours", scoring.neighbours),
    Stage("session", scoring.session),
    Stage("feedback", scoring.feedback, reads=(FEEDBACK,)),
    Stage("intent-boost", scoring.intent_boost, reads=(LIFTED_RECORDS, LEANING_RECORDS)),
    Stage("time", scoring.named_time, reads=(COMPLETE_MATCHES,)),
    Stage(relevance.RELEVANT, relevance.relevant, reads=(COMPLETE_MATCHES,)),
    Stage("every-word", scoring.every_word, reads=(COMPLETE_MATCHES,)),
    Stage("recency", scoring.recency, option="boosts"),
    Stage("importance", scoring.importance, option="boosts"),
    Stage("opened", scoring.opened, option="boosts", reads=(OPENING_ORDER,)),
    Stage(relevance.CERTAINTY, relevance.certainty, reads=(TERM_COVERAGE,)),
    Stage("sort", scoring.sort, required=True),
    Stage(ordering.SUPERSESSION, ordering.supersession, reads=(SUCCESSORS,)),
    Stage("identifier-first", ordering.identifier_first, reads=(NAMED_RECORDS,)),
    Stage("folding", ordering.folding, option="fold", reads=(SKETCHES, SUCCESSORS)),
    Stage("kind-diversity", ordering.kind_diversity, reads=(COMPLETE_MATCHES,)),
    Stage("in-other-words", relevance.in_other_words, reads=(TERM_COVERAGE, COMPLETE_MATCHES)),
    Stage("diversity", ordering.diversity, option="per_session"),
    Stage("typo-demotion", ordering.typo_demotion, reads=(GUESSED_MATCHES,)),
    Stage("further-matches", ordering.further_matches, required=True),
    Stage("filter-matches", ordering.filter_matches, required=True, reads=(NEWEST_RECORDS,)),
    Stage("monotonic-scores", ordering.monotonic_scores, required=True),
    Stage("by-date", ordering.by_date, required=True),
    Stage("by-fields", ordering.by_fields, required=True, option="sort", reads=(SORT_VALUES,)),
    Stage("per-kind", ordering.per_kind, option="limit_per_kind"),
    Stage("no-answer", relevance.no_answer, reads=(TERM_COVERAGE, NAMED_RECORDS)),
)


def inserted(stages: Sequence[Stage], stage: Stage) -> tuple[Stage, ...]:
    """``stages`` with ``stage`` behind the one that it names, else as the last that adds to the
    score, before hits are made of that. Raises ValueError where none is called so.
    """
    names = [each.name for each in stages]
    if stage.after and stage.after not in names:
        raise ValueError(f"there is no stage {stage.after!r} that it could follow")
    place = names.index(stage.after) + 1 if stage.after else names.index("sort")
    return (*stages[:place], stage, *stages[place:])


def stages_without(names: Collection[str]) -> tuple[Stage, ...]:
    """``STAGES`` without ``names``. Raises InputError for an unknown name or a required stage."""
    optional = [stage.name for stage in STAGES if not stage.required]
    if unknown := sorted(set(names) - set(optional)):
        raise InputError(
            f"{unknown[0]!r} is not a ranking stage that can be left out;"
            f" these can: {', '.join(optional)}",
            field="stages",
        )
    return tuple(stage for stage in STAGES if stage.name not in names)


@dataclass(frozen=True, slots=True)
class InstalledStages:
    """The stages in their order, and why each entry point that is left out cannot be used."""

    stages: tuple[Stage, ...]
    broken: tuple[str, ...] = ()


@cache
def installed_stages() -> InstalledStages:
    """The stages of this process. One of a package that cannot be used is logged and left out."""
    return with_entry_points(entry_points(group=ENTRY_POINTS))


def with_entry_points(entries: Iterable[EntryPoint]) -> InstalledStages:
    """``STAGES`` with those that ``entries`` name."""
    stages, broken = STAGES, list[str]()
    for entry in entries:
        try:
            stages = inserted(stages, contained(_checked(entry.load(), stages)))
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything
            broken.append(
                f"{ENTRY_POINTS} entry point {entry.name!r} cannot be loaded"
                f" ({str(error) or type(error).__name__}); correct its package and install it"
                " again, or uninstall it"
            )
            log.error("%s", broken[-1])
    return InstalledStages(stages, tuple(broken))


def _checked(stage: object, others: Sequence[Stage]) -> Stage:
    if not isinstance(stage, Stage):
        raise TypeError(f"{stage!r:.60} is not a mem_search.search.state.Stage")
    names = {each.name for each in others}
    if not _NAME.fullmatch(stage.name):
        raise ValueError(f"name {stage.name!r} is not lower-case letters, digits and -")
    if stage.name in names | _TAKEN:
        raise ValueError(f"there is a stage or leg {stage.name} already")
    if stage.required or stage.option:
        raise ValueError("a stage of a package is neither required nor asked for by an option")
    return stage


def contained(stage: Stage) -> Stage:
    """``stage`` so that its faults are told in the report of the search, and end no search."""

    def read(inputs: RankingInput) -> Mapping[StageData[Any], object] | Exception:
        try:
            return {data: inputs.having(data).stored.of(data) for data in stage.reads}
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything
            return error

    needed: StageData[Any] = StageData(stage.name, read, {})

    def apply(state: RankingState) -> RankingState:
        try:
            values = state.stored.of(needed)
            if isinstance(values, Exception):
                raise values
            stored = replace(state.stored, values={**state.stored.values, **values})
            return _what_counts(stage.name, state, stage.apply(replace(state, stored=stored)))
        except Exception as error:
            log.exception("the ranking stage %s of a package", stage.name)
            why = f"{LEFT_OUT}{stage.name} of a package: {type(error).__name__}: {error}"
            report = LegReport(stage.name, "degraded", detail=why[:MAX_DETAIL_CHARS])
            return replace(state, reports=(*state.reports, report))

    apply.__doc__ = stage.apply.__doc__
    return replace(stage, apply=apply, reads=(needed,) if stage.reads else ())


def _what_counts(name: str, before: RankingState, after: RankingState) -> RankingState:
    """``before`` with the part of the score, and the hits, of ``after``.

    Raises ValueError for scores that are no numbers, and for hits that the search has not found.
    """
    state = before
    if name in after.parts:
        gained = np.asarray(after.parts[name], np.float64)
        if gained.shape != (len(before.union),) or not np.isfinite(gained).all():
            raise ValueError(f"it adds no finite number for each of {len(before.union)} records")
        state = state.added(name, gained)
    numbers = [hit.number for hit in after.hits]
    if len(set(numbers)) < len(numbers) or set(numbers) - {hit.number for hit in before.hits}:
        raise ValueError("it returns hits twice, or some that were not found")
    return state.ordered(tuple(after.hits))
