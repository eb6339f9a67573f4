"""How careful the worker is with a search: the levels of seed 000, "Security Considerations".

TRUSTED is the machine's person on the machine: no limit, no check, no time spent. BASIC is
everybody else: limits. STRICT is what research agents do from elsewhere: lower limits, and
questions are checked for patterns (``patterns``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mem_search.access.callers import Caller


class Level(StrEnum):
    """In reports and logs by these words."""

    TRUSTED = "trusted"
    BASIC = "basic"
    STRICT = "strict"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """``remote``: it may come from another machine. ``research``: a step of deep research.

    ``agent``: asked over MCP.
    """

    caller: Caller
    remote: bool = False
    research: bool = False
    agent: bool = False


def level_of(asked: Circumstances) -> Level:
    """What the circumstances of a search ask for."""
    if not asked.caller.user and not asked.remote:
        return Level.TRUSTED
    if asked.remote and (asked.research or asked.agent):
        return Level.STRICT
    return Level.BASIC
