"""The ranking stages of this process: our own, and those that packages add as entry points.

A stage of a package, of the group ``mem_search.stages``, adds to the score of records under its
name, or orders hits and leaves some out; nothing else of what it returns counts. So it can find
nothing that the search did not, and what it does wrong costs only itself: the search says so and
goes on without it (docs/extending.md).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import numpy as np

from mem_search.model import LegReport
from mem_search.patterns import pattern
from mem_search.search.stages import STAGES, inserted
from mem_search.search.state import RankingInput, RankingState, Stage, StageData

log = logging.getLogger(__name__)

ENTRY_POINTS: Final = "mem_search.stages"
LEFT_OUT: Final = "results are ranked without the stage "
"""How the detail of a report begins where a stage of a package failed."""

MAX_DETAIL_CHARS: Final = 200
_NAME: Final = pattern(r"[a-z][a-z0-9-]{0,39}")
_TAKEN: Final = frozenset({"keyword", "vector", "graph"})
"""Legs, whose scores stand beside those of the stages."""


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
