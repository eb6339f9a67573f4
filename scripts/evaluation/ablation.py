"""What ranking is worth without one of its parts: each part is switched off by its own constant."""

from __future__ import annotations

from mem_search.retrievers import keyword
from mem_search.search import context, engine, fusion, matching

PARTS = {
    "neighbours": (context, "NEIGHBOURS", {}),
    "session": (context, "SESSION_WEIGHT", 0.0),
    "length": (keyword, "CHAT_KINDS", frozenset()),
    "rank-bonus": (fusion, "RANK_BONUS", 0.0),
    "code-weight": (fusion, "CODE_DENSE", 1.0),
    "cosine-floor": (matching, "COSINE_FLOOR", -1.0),
    "depth-200": (engine, "DEPTH", 100),
}
"""Part → (module, constant, value that switches it off)."""


def leave_out(names: list[str]) -> None:
    """Switch parts off for this process. Raises KeyError for an unknown part."""
    for name in names:
        module, constant, value = PARTS[name]
        setattr(module, constant, value)
