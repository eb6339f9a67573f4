"""The facts on the pages of docs/agents, from the same data that ``mem-search install`` uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from checkout import ROOT

from mem_search.agents.base import Agent, OwnFile, Setup
from mem_search.agents.known import AGENTS

_HOME: Final = Path("/home/me")


class _Asked(Mapping[str, str]):
    """An environment without variables, which remembers which ones were asked for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __getitem__(self, name: str) -> str:
        if name not in self.names:
            self.names.append(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def facts(agent: Agent) -> str:
    """What is written for an agent and where, how a session is opened again, and who says so."""
    asked = _Asked()
    setup = Setup(_HOME, asked, "mem-search", "python3", ROOT / "plugin")
    written: dict[str, list[str]] = {}
    for part in agent.wanted(setup):
        entries = written.setdefault(_short(part.file), [])
        entry = "a file of its own" if isinstance(part, OwnFile) else f"`{'.'.join(part.path)}`"
        if entry not in entries:
            entries.append(entry)
    rows = ["| file | what `install` writes there |", "| --- | --- |"]
    rows += [f"| `{file}` | {', '.join(entries)} |" for file, entries in written.items()]
    said = ["", f"- Open a session again: `{agent.resume.format(session='ID')}`"]
    if asked.names:
        said.append(f"- Other folder: {', '.join(f'`{name}`' for name in asked.names)}")
    if agent.afterwards:
        said.append(f"- Once after installing: {agent.afterwards}")
    said.append(f"- What the vendor says: <{agent.documented}>")
    return "\n".join(rows + said)


def table() -> str:
    """Every agent with its page."""
    rows = ["| agent | name for `install` | settings |", "| --- | --- | --- |"]
    for agent in AGENTS:
        settings = _short(agent.settings(Setup(_HOME, {}, "", "", ROOT / "plugin")))
        rows.append(f"| [{agent.title}]({agent.name}.md) | `{agent.name}` | `{settings}` |")
    return "\n".join(rows)


def _short(path: Path) -> str:
    return f"~/{path.relative_to(_HOME).as_posix()}"
