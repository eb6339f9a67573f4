"""Agents: those that mem-search can be installed into (``known``), and the sources of sessions."""

from __future__ import annotations

from typing import Final

from mem_search.agents import known
from mem_search.agents.base import Agent
from mem_search.agents.neighbours import NEIGHBOURS
from mem_search.errors import InputError

AGENTS: Final[tuple[Agent, ...]] = (
    known.CLAUDE_CODE,
    known.CODEX,
    known.GEMINI,
    known.CURSOR,
    known.OPENCODE,
    known.COPILOT,
    known.QWEN,
    known.PI,
    known.OPENCLAW,
)

ONLY_READ: Final = ("aider", "cline", "roo-code", "copilot-chat", "continue", "amp", "droid")
"""Sources of agents that nothing is installed into."""

SESSION_SOURCES: Final = (
    *(each.name for each in NEIGHBOURS),
    *(agent.sessions for agent in AGENTS),
    *ONLY_READ,
)
"""Sources that read sessions of an agent."""


def by_name(name: str) -> Agent:
    """The agent called ``codex``, ...; raises InputError listing the names."""
    known = {agent.name: agent for agent in AGENTS}
    if name.lower() in known:
        return known[name.lower()]
    raise InputError(f"{name!r} is no agent; known are {', '.join(known)}", field="agent")


def of_session(source: str, platform: str) -> Agent | None:
    """The agent that had a session: that of the ``platform``, as records name it, where a
    record says so, else that whose sessions the ``source`` reads; None for neither.
    """
    own = {"claude": "claude-code"}.get(platform, platform.removesuffix("-cli"))
    named = next((agent for agent in AGENTS if agent.name == own), None)
    return named or next((agent for agent in AGENTS if agent.sessions == source), None)
