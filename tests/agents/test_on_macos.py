"""Each place of docs/agents/macos.md is one where we write, or where a source looks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mem_search import sources
from mem_search.agents.base import Agent, Setup
from mem_search.agents.known import AGENTS
from mem_search.contracts import Machine

PAGE = Path(__file__).parents[2] / "docs" / "agents" / "macos.md"
ROWS = [
    [cell.strip().strip("`") for cell in line.split("|")[2:5]]
    for line in PAGE.read_text("utf-8").splitlines()
    if re.match(r"\| \[", line)
]


@pytest.mark.parametrize(("source", "sessions"), [(row[0], row[2]) for row in ROWS])
def test_a_source_finds_what_lies_where_the_page_says(
    source: str, sessions: str, tmp_path: Path
) -> None:
    file = tmp_path / sessions.removeprefix("~/")
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    machine = Machine(home=tmp_path, cwd=tmp_path / "work", environ={})
    found = [Path(each.path) for each in sources.by_name(source).discover(machine)]
    assert any(file.is_relative_to(place) for place in found), found


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agents_settings_lie_where_the_page_says(agent: Agent, tmp_path: Path) -> None:
    (said,) = (settings for source, settings, _ in ROWS if source == agent.name)
    setup = Setup(tmp_path, {}, "mem-search", "python", tmp_path)
    assert agent.settings(setup) == tmp_path / said.removeprefix("~/")
