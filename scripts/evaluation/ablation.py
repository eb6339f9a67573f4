"""Measure what a part of the ranking is worth: leave one out.

A stage is left out of the list of stages. A constant switches off a part of a leg or of the
fusion. A part that is off by default is added by the request (``systems.OPTIONS``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from systems import System

from mem_search.errors import InputError
from mem_search.retrievers import vector as vector_leg
from mem_search.search import pipeline
from mem_search.search.stages import STAGES, scoring, stages_without
from mem_search.search.state import Stage
from mem_search.storage.rules import bm25

CONSTANTS: dict[str, tuple[ModuleType, str, Any]] = {
    "length": (bm25, "for_chats", lambda scores, *_: scores),
    "rank-bonus": (scoring, "RANK_BONUS", 0.0),
    "code-weight": (scoring, "CODE_DENSE", 1.0),
    "depth-200": (pipeline, "DEPTH", 100),
    "fewer-entries": (vector_leg, "SPARE", 1e9),
}
"""Part of a leg or of the fusion → (module, constant, value that switches it off)."""

PARTS = (*CONSTANTS, *(stage.name for stage in STAGES if not stage.required))
"""Everything that can be left out: those, and the stages of the ranking by their own names."""


def leave_out(names: Sequence[str]) -> tuple[Stage, ...]:
    """``STAGES`` without those called ``names``.

    Constants in ``names`` are switched off for this process. Raises InputError for an unknown
    name, and for a stage that cannot be left out.
    """
    if unknown := sorted(set(names) - set(PARTS)):
        raise InputError(f"{unknown[0]!r} cannot be left out; these can: {', '.join(PARTS)}")
    for name in CONSTANTS.keys() & set(names):
        setattr(*CONSTANTS[name])
    return stages_without(set(names) - CONSTANTS.keys())


class WithoutPart:
    """Hybrid search that leaves ``part`` out while it answers.

    ``stages`` is the list that the pipeline runs: it is changed for each answer and restored.
    """

    def __init__(self, part: str, stages: list[Stage], hybrid: System) -> None:
        self._part, self._stages, self._hybrid = part, stages, hybrid

    async def search(self, text: str, project: str) -> list[str]:
        with self._left_out():
            return await self._hybrid.search(text, project)

    @contextmanager
    def _left_out(self) -> Iterator[None]:
        before = [*self._stages]
        constant = CONSTANTS.get(self._part)
        value = getattr(*constant[:2]) if constant else None
        try:
            if constant:
                setattr(*constant)
            self._stages[:] = [each for each in before if each.name != self._part]
            yield
        finally:
            self._stages[:] = before
            if constant:
                setattr(*constant[:2], value)

    def close(self) -> None:
        """Does nothing: ``hybrid`` is closed by whoever opened it."""


def without_each(hybrid: System, stages: list[Stage]) -> dict[str, System]:
    """``without PART`` → hybrid search without it, for every part that a plain search runs."""
    running = {each.name for each in stages if not each.option or each.option == "fold"}
    parts = [part for part in PARTS if part in CONSTANTS or part in running]
    return {f"without {part}": WithoutPart(part, stages, hybrid) for part in parts}
