"""The names of agents in records: those of other programs, whose clients find what we read, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SPELLED: Final[Mapping[str, str]] = {
    "claude-code": "claude",
    "codex-cli": "codex",
    "copilot-cli": "copilot",
    "cursor-cli": "cursor",
    "cursor-editor": "cursor",
    "gemini-cli": "gemini",
    "kiro-ide": "kiro",
    "qwen-code": "qwen",
}
"""What sources, programs and clients call an agent otherwise."""


def platform_named(name: str) -> str:
    """The agent that is called ``name``: ``claude`` for ``Claude Code``; "" for no name."""
    spelled = "-".join(name.lower().split())
    return _SPELLED.get(spelled, spelled)
