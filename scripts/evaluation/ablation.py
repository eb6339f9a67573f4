"""What a part of the ranking is worth: without one that is on, and with one that is off.

A part that is on is switched off by its own constant; one that is off is asked for by the query.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mem_search.model import SearchRequest
from mem_search.retrievers import keyword
from mem_search.search import candidates, context, feedback, fusion, pipeline
from mem_search.storage.sqlite import successions
from mem_search.text import sketch

PARTS = {
    "neighbours": (context, "NEIGHBOURS", {}),
    "session": (context, "SESSION_WEIGHT", 0.0),
    "length": (keyword, "CHAT_KINDS", frozenset()),
    "rank-bonus": (fusion, "RANK_BONUS", 0.0),
    "code-weight": (fusion, "CODE_DENSE", 1.0),
    "cosine-floor": (candidates, "COSINE_FLOOR", -1.0),
    "depth-200": (pipeline, "DEPTH", 100),
    "supersession": (successions, "FARTHEST", 0),
    "feedback": (feedback, "ANSWERS", 0),
    "folding": (sketch, "MOST_DIFFERENT", -1),
}
"""Part → (module, constant, value that switches it off)."""

OPTIONS: dict[str, dict[str, Any]] = {
    "recency": {"boosts": ("recency",)},
    "importance": {"boosts": ("importance",)},
    "diversity": {"per_session": 3},
}
"""Part → what a query asks for to have it."""


def leave_out(names: list[str]) -> None:
    """Switch parts off for this process. Raises KeyError for an unknown part."""
    for name in names:
        module, constant, value = PARTS[name]
        setattr(module, constant, value)


def with_options(query: SearchRequest, names: list[str]) -> SearchRequest:
    """The query, asking for parts that are off. Raises KeyError for an unknown one."""
    wanted = [OPTIONS[name] for name in names]
    boosts = tuple(boost for option in wanted for boost in option.get("boosts", ()))
    return replace(query, **{**{k: v for o in wanted for k, v in o.items()}, "boosts": boosts})
