"""How a record came to be stored, in the eight words of ``source_types``.

Every record has exactly one, decided by its kind and, for what agents and people write alike,
by its source. The same table is read both ways: as the word of a record and as a filter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from mem_search.model import Kind

SourceType = Literal[
    "direct_input",
    "document_upload",
    "web_scrape",
    "api_import",
    "conversation",
    "reflection",
    "checkpoint",
    "checkpoint_recall",
]

AGENTS: Final = ("claude-mem", "claude-code", "codex")
"""Sources that read what was said and seen in sessions of an agent."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Records of these kinds; of those sources only (True), or of all others (False)."""

    word: SourceType
    kinds: tuple[Kind, ...]
    of_agents: bool | None = None


RULES: Final[tuple[Rule, ...]] = (
    Rule("web_scrape", ("website",)),
    Rule("document_upload", ("file", "email")),
    Rule("checkpoint", ("session_summary",)),
    Rule("reflection", ("report",)),
    Rule("conversation", ("conversation", "user_prompt")),
    Rule("conversation", ("observation", "note", "memory"), of_agents=True),
    Rule("direct_input", ("note", "memory"), of_agents=False),
    Rule("api_import", ("observation",), of_agents=False),
)
"""Each kind stands in rules that leave nothing out and do not overlap. None of ours comes back
from a checkpoint: ``checkpoint_recall`` is a valid filter that matches nothing."""


def word_for(kind: Kind, source: str) -> SourceType:
    """The one word for a record of ``kind`` from ``source``."""
    for rule in RULES:
        if kind in rule.kinds and rule.of_agents in (None, source in AGENTS):
            return rule.word
    # A kind that a package of third parties brought: it came in through a source of theirs.
    return "api_import"


def rules_for(words: Iterable[SourceType]) -> tuple[Rule, ...]:
    """The rules that a record has to meet one of."""
    wanted = set(words)
    return tuple(rule for rule in RULES if rule.word in wanted)
