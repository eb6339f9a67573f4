"""OpenClaw: MCP server in ``openclaw.json``, which is JSON5, and the skill."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mem_search.agents.base import NAME, Agent, Entry, Part, Setup


def _settings(setup: Setup) -> Path:
    return setup.folder("OPENCLAW_STATE_DIR", ".openclaw")


def _parts(setup: Setup) -> Iterable[Part]:
    folder = _settings(setup)
    yield Entry(folder / "openclaw.json", ("mcp", "servers", NAME), setup.server)
    yield setup.skill(folder / "skills")


AGENT = Agent(
    name="openclaw",
    title="OpenClaw",
    settings=_settings,
    parts=_parts,
    resume="openclaw agent --session-id {session} --message TEXT",
    documented="https://docs.openclaw.ai/cli/mcp",
)
