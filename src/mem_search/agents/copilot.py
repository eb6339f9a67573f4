"""GitHub's Copilot CLI: MCP server, hooks in a file of their own, and the skill."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from mem_search.agents.base import NAME, Agent, Entry, OwnFile, Part, Setup

_SECONDS = {"SessionStart": 10, "UserPromptSubmit": 5, "Stop": 5, "SessionEnd": 5}
"""Events with a capital have the fields that Claude Code has."""


def _settings(setup: Setup) -> Path:
    return setup.folder("COPILOT_HOME", ".copilot")


def _parts(setup: Setup) -> Iterable[Part]:
    folder = _settings(setup)
    server = {"type": "local", **setup.server, "tools": ["*"]}
    yield Entry(folder / "mcp-config.json", ("mcpServers", NAME), server)
    program, *words = setup.hook("copilot")
    hooks = {
        event: [{"type": "command", "exec": program, "args": words, "timeoutSec": seconds}]
        for event, seconds in _SECONDS.items()
    }
    text = json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"
    yield OwnFile(folder / "hooks" / f"{NAME}.json", text)
    yield setup.skill(folder / "skills")


AGENT = Agent(
    name="copilot",
    title="Copilot CLI",
    settings=_settings,
    parts=_parts,
    resume="copilot --resume={session}",
    documented="https://docs.github.com/en/copilot/reference/hooks-reference",
)
