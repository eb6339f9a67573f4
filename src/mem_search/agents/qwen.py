"""Qwen Code: MCP server and hooks in ``settings.json``, and the skill."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mem_search.agents.base import NAME, Agent, Entry, Part, Setup

_MS = 1000
"""Qwen's times are in milliseconds."""


def _settings(setup: Setup) -> Path:
    return setup.folder("QWEN_HOME", ".qwen")


def _parts(setup: Setup) -> Iterable[Part]:
    file = _settings(setup) / "settings.json"
    yield Entry(file, ("mcpServers", NAME), setup.server)
    seconds = {"SessionStart": 10, "UserPromptSubmit": 5, "Stop": 5, "SessionEnd": 2}
    yield from setup.hooks("qwen", file, seconds, _MS)
    yield setup.skill(_settings(setup) / "skills")


AGENT = Agent(
    name="qwen",
    title="Qwen Code",
    settings=_settings,
    parts=_parts,
    resume="qwen --resume {session}",
    documented="https://qwenlm.github.io/qwen-code-docs/en/users/features/hooks",
)
