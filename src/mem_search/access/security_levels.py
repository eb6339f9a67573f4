"""Words of a question that somebody may have meant as an attack: seed 000's list, in any case.

What is found is told, never refused: nothing here runs a question as code or hands it to a
model, and whoever looks for "drop table" in their notes means just that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

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


class Template:
    r"""``\$\{.*\}`` in linear time: on one line the first ``${`` with a ``}`` behind it."""

    def search(self, text: str) -> bool:
        for line in text.split("\n"):
            start = line.find("${")
            if start >= 0 and line.find("}", start + 2) >= 0:
                return True
        return False


_PATTERNS: Final = (
    ("prompt_injection", re.compile(r"ignore\s+(?:previous|all|above)", re.IGNORECASE)),
    ("prompt_leaking", re.compile(r"system\s+prompt", re.IGNORECASE)),
    ("script_injection", re.compile(r"<script|javascript:|onclick=", re.IGNORECASE)),
    ("template_injection", Template()),
    ("sql_injection", re.compile(r"union\s+select|drop\s+table", re.IGNORECASE)),
)
MOST: Final = 10_000
"""Characters of a question that are looked at: more than a question may have."""


def flags(text: str) -> tuple[str, ...]:
    """The names of the patterns that ``text`` has, in the order of the list."""
    text = text[:MOST]
    return tuple(name for name, pattern in _PATTERNS if pattern.search(text))
