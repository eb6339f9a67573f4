"""Gemini CLI: MCP server and hooks in ``settings.json``, and the skill."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mem_search.agents.base import NAME, Agent, Entry, Part, Setup

_MS = 1000
"""Gemini's times are in milliseconds."""


def _settings(setup: Setup) -> Path:
    return setup.home / ".gemini"


def _parts(setup: Setup) -> Iterable[Part]:
    file = _settings(setup) / "settings.json"
    yield Entry(file, ("mcpServers", NAME), setup.server)
    seconds = {"SessionStart": 10, "BeforeAgent": 5, "AfterAgent": 5, "SessionEnd": 2}
    yield from setup.hooks("gemini", file, seconds, _MS)
    yield setup.skill(_settings(setup) / "skills")


AGENT = Agent(
    name="gemini",
    title="Gemini CLI",
    settings=_settings,
    parts=_parts,
    resume="gemini --resume {session}",
    documented="https://geminicli.com/docs/hooks/reference",
)
