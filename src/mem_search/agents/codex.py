"""Codex CLI: MCP server in ``config.toml``, hooks in ``hooks.json``, and the skill."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mem_search.agents.base import NAME, Agent, Entry, Part, Setup


def _settings(setup: Setup) -> Path:
    return setup.folder("CODEX_HOME", ".codex")


def _parts(setup: Setup) -> Iterable[Part]:
    folder = _settings(setup)
    yield Entry(folder / "config.toml", ("mcp_servers", NAME), setup.server)
    seconds = {"SessionStart": 10, "UserPromptSubmit": 5, "Stop": 5}
    yield from setup.hooks("codex", folder / "hooks.json", seconds)
    yield setup.skill(folder / "skills")


AGENT = Agent(
    name="codex",
    title="Codex CLI",
    settings=_settings,
    parts=_parts,
    resume="codex resume {session}",
    documented="https://developers.openai.com/codex/hooks",
    afterwards="Codex runs new hooks when you have trusted them: type /hooks in Codex",
)
