"""Measure what a part of the ranking is worth: leave one out, or add one that is off.

A stage is left out of the list of stages. A constant switches off a part of a leg or of the
fusion. The request asks for a part that is off by default.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mem_search.errors import InputError
from mem_search.model import SearchRequest
from mem_search.search import pipeline
from mem_search.search.stages import STAGES, scoring, stages_without
from mem_search.search.state import Stage
from mem_search.storage.sqlite import fulltext

CONSTANTS = {
    "length": (fulltext, "for_chats", lambda *given: given[1]),
    "rank-bonus": (scoring, "RANK_BONUS", 0.0),
    "code-weight": (scoring, "CODE_DENSE", 1.0),
    "depth-200": (pipeline, "DEPTH", 100),
}
"""Part of a leg or of the fusion → (module, constant, value that switches it off)."""

PARTS = (*CONSTANTS, *(stage.name for stage in STAGES if not stage.required))
"""Everything that can be left out: those, and the stages of the ranking by their own names."""

OPTIONS: dict[str, dict[str, Any]] = {
    "recency": {"boosts": ("recency",)},
    "importance": {"boosts": ("importance",)},
    "diversity": {"per_session": 3},
}
"""Part → what a query asks for to have it."""


def leave_out(names: list[str]) -> tuple[Stage, ...]:
    """``STAGES`` without those called ``names``.

    Constants in ``names`` are switched off for this process. Raises InputError for an unknown
    name, and for a stage that cannot be left out.
    """
    if unknown := sorted(set(names) - set(PARTS)):
        raise InputError(f"{unknown[0]!r} cannot be left out; these can: {', '.join(PARTS)}")
    for name in CONSTANTS.keys() & set(names):
        module, constant, value = CONSTANTS[name]
        setattr(module, constant, value)
    return stages_without(set(names) - CONSTANTS.keys())


def with_options(query: SearchRequest, names: list[str]) -> SearchRequest:
    """The request with the optional parts ``names``. Raises KeyError for an unknown one."""
    wanted = [OPTIONS[name] for name in names]
    boosts = tuple(boost for option in wanted for boost in option.get("boosts", ()))
    return replace(query, **{**{k: v for o in wanted for k, v in o.items()}, "boosts": boosts})
