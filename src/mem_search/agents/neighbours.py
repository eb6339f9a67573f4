"""Programs that may answer at a port that is ours: what tells them, and how to live beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A program that does not name itself: its reply to ``GET /api/health`` has the key ``sign``.

    ``also`` completes "the port is taken by NAME's worker", and ``hint`` says what to do.
    """

    name: str
    sign: str
    also: str
    hint: str


CLAUDE_MEM: Final = Neighbour(
    name="claude-mem",
    sign="mcpReady",
    also="which goes on recording",
    hint="run mem-search beside it: MEM_SEARCH_PORT=0 for any free port, or port in config.toml;"
    " then mem-search sync claude-mem reads its store",
)
NEIGHBOURS: Final = (CLAUDE_MEM,)


def neighbour_named(name: str) -> Neighbour | None:
    """The neighbour of that name."""
    return next((each for each in NEIGHBOURS if each.name == name), None)


def neighbour_in(health: dict[str, Any]) -> str:
    """The name of the program that sent this health; empty for one that is not known."""
    return next((each.name for each in NEIGHBOURS if each.sign in health), "")
