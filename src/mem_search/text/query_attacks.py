"""Patterns of a question that can be an attack: those of the universal search contract
(docs/contracts/universal-search.md), in any case.

On a local search a match is reported and never refused: nothing executes a question, and somebody
may well search their notes for "drop table". What goes to a web search is refused.
"""

from __future__ import annotations

import re
from typing import Final

from mem_search.patterns import pattern


class Template:
    r"""``\$\{.*\}`` in linear time: on one line the first ``${`` with a ``}`` after it."""

    def search(self, text: str) -> bool:
        for line in text.split("\n"):
            start = line.find("${")
            if start >= 0 and line.find("}", start + 2) >= 0:
                return True
        return False


_PATTERNS: Final = (
    ("prompt_injection", pattern(r"ignore\s+(?:previous|all|above)", re.IGNORECASE)),
    ("prompt_leaking", pattern(r"system\s+prompt", re.IGNORECASE)),
    ("script_injection", pattern(r"<script|javascript:|onclick=", re.IGNORECASE)),
    ("template_injection", Template()),
    ("sql_injection", pattern(r"union\s+select|drop\s+table", re.IGNORECASE)),
)
MAX_CHECKED_CHARS: Final = 10_000
"""Characters of a query that are checked: more than a query may have."""


def flags(text: str) -> tuple[str, ...]:
    """The names of the patterns in ``text``, in the order of the list."""
    text = text[:MAX_CHECKED_CHARS]
    return tuple(name for name, pattern in _PATTERNS if pattern.search(text))
