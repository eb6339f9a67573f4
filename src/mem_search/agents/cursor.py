"""Cursor, the editor and its CLI: MCP server, hooks and skill."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mem_search.agents.base import NAME, Agent, Entry, Part, Setup

_EVENTS = ("sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd")


def _settings(setup: Setup) -> Path:
    return setup.home / ".cursor"


def _parts(setup: Setup) -> Iterable[Part]:
    folder = _settings(setup)
    yield Entry(folder / "mcp.json", ("mcpServers", NAME), setup.server)
    hooks = folder / "hooks.json"
    yield Entry(hooks, ("version",), 1)
    for event in _EVENTS:
        yield Entry(hooks, ("hooks", event), {"command": setup.hook_line("cursor")}, in_list=True)
    yield setup.skill(folder / "skills")


AGENT = Agent(
    name="cursor",
    title="Cursor",
    settings=_settings,
    parts=_parts,
    resume="cursor-agent --resume={session}",
    documented="https://cursor.com/docs/hooks",
)
