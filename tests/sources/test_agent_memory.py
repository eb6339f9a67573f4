"""What agents keep about a project: each version a record, only files of the project, no order."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from mem_search import sources
from mem_search.agents.base import FOLDER_VARIABLES, folders_in
from mem_search.contracts import Machine
from mem_search.jobs.reader import machine_from
from mem_search.model import Draft, Location
from mem_search.model.records import Link, Record
from mem_search.records.origin import is_given
from mem_search.sources import built_in
from mem_search.sources.agent_memory import HOMES, MAX_BYTES, AgentMemory


def read(
    root: Path, cursor: Mapping[str, Any] | None = None, agent: str = ""
) -> tuple[list[Draft], dict[str, str], Mapping[str, Any]]:
    """The drafts, the reasons for what was left, and the cursor afterwards."""
    location = Location("agent-memory", str(root), options={"agent": agent} if agent else {})
    batches = list(AgentMemory().read(location, cursor or {}))
    drafts = [draft for batch in batches for draft in batch.drafts]
    left = {e.item: e.reason for batch in batches for e in batch.ledger if e.outcome != "taken"}
    return drafts, left, batches[-1].cursor if batches else cursor or {}


def put(file: Path, text: str, at: int = 0) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    if at:
        os.utime(file, (at, at))
    return file


@pytest.mark.parametrize(
    ("file", "platform", "holds"),
    [
        ("CLAUDE.md", "claude-code", "instructions"),
        ("AGENTS.md", None, "instructions"),
        ("GEMINI.md", "gemini", "instructions"),
        (".cursor/rules/pier.mdc", "cursor", "instructions"),
        (".github/copilot-instructions.md", "copilot", "instructions"),
        (".kiro/specs/lamp/tasks.md", "kiro", "spec"),
        (".kiro/steering/tech.md", "kiro", "instructions"),
        ("memory-bank/activeContext.md", "cline", "memory"),
        (".roo/rules/a.md", "roo", "instructions"),
    ],
)
def test_a_file_of_a_project_is_a_memory_of_it(
    tmp_path: Path, file: str, platform: str | None, holds: str
) -> None:
    put(tmp_path / "harbour" / file, "# Lamp\n\nIt burns.", at=1_000)
    (draft,), left, _ = read(tmp_path / "harbour")
    assert (draft.kind, draft.project, draft.title) == ("memory", "harbour", f"{file}: Lamp")
    said = draft.metadata
    assert (said.get("platform"), said["type"], said["scope"]) == (platform, holds, "project")
    assert (draft.created_at, left) == (1_000_000, {})


def test_an_agents_own_memory_is_of_the_project_of_its_transcripts(tmp_path: Path) -> None:
    claude = tmp_path / ".claude"
    folder = claude / "projects" / "-work-harbour"
    put(folder / "s.jsonl", json.dumps({"type": "user", "cwd": "/gone/work/harbour"}))
    put(folder / "memory" / "lamp.md", "The lamp burns oil.")
    put(claude / "plans" / "brave.md", "# A lighthouse")
    todo = [{"content": "Test it", "status": "completed"}, {"content": "Paint", "status": "open"}]
    put(claude / "todos" / "11111111-2222-3333-4444-555555555555.json", json.dumps(todo))
    drafts, _, _ = read(claude, agent="claude-code")
    found = {draft.metadata["type"]: draft for draft in drafts}
    assert (found["memory"].project, found["plan"].project) == ("harbour", "")
    assert found["plan"].metadata["scope"] == "user"
    assert found["tasks"].text == "- [x] Test it\n- [ ] Paint"
    assert found["tasks"].metadata["session_id"].startswith("11111111-")


def test_a_newer_version_supersedes_the_one_before_also_when_all_is_read_again(
    tmp_path: Path,
) -> None:
    file = put(tmp_path / "CLAUDE.md", "Use tabs.", at=1_000)
    (first,), _, cursor = read(tmp_path)
    put(file, "Use spaces.", at=2_000)
    (second,), _, cursor = read(tmp_path, cursor)
    assert second.links == (Link(first.source_id, "supersedes"),)
    os.utime(file, (3_000, 3_000))
    assert read(tmp_path, cursor)[0] == []
    cursor = AgentMemory().again(json.loads(json.dumps(cursor)))
    assert read(tmp_path, cursor)[0] == []
    put(file, "Use tabs.", at=4_000)
    (third,), _, _ = read(tmp_path, cursor)
    assert third.links == (Link(second.source_id, "supersedes"),)


def test_only_regular_files_inside_the_project_are_read(tmp_path: Path) -> None:
    put(tmp_path / "secret.md", "the key")
    root = tmp_path / "harbour"
    put(root / "GEMINI.md", "x" * (MAX_BYTES + 1))
    (root / "CLAUDE.md").symlink_to(tmp_path / "secret.md")
    (root / "memory-bank").symlink_to(tmp_path)
    os.mkfifo(root / "AGENTS.md")
    drafts, left, cursor = read(root)
    assert drafts == []
    assert left.keys() == {"GEMINI.md", "CLAUDE.md", "AGENTS.md", "memory-bank/secret.md"}
    assert read(root, cursor)[1] == {}  # said once


def test_no_agent_gets_it_unasked() -> None:
    record = Record(1, "memory", "agent-memory", "a@1", "CLAUDE.md", "Use tabs.", 1, 1)
    assert not is_given(record)


def test_the_folders_of_known_projects_and_of_agents_are_found(tmp_path: Path) -> None:
    known, other = tmp_path / "work" / "api", tmp_path / "work" / "bare"
    put(known / "AGENTS.md", "Use tabs.")
    other.mkdir()
    put(tmp_path / "cx" / "memories" / "a.md", "Use spaces.")
    machine = Machine(
        tmp_path, tmp_path, {"CODEX_HOME": str(tmp_path / "cx")}, (str(known), str(other))
    )
    found = [location.path for location in AgentMemory().discover(machine)]
    assert found == [str(tmp_path / "cx"), str(known)]


def test_variables_of_the_caller_reach_sources_and_no_others() -> None:
    machine = machine_from({"environ": {"CODEX_HOME": "/cx", "PATH": "/evil"}}, {"PATH": "/bin"})
    assert machine.environ == {"CODEX_HOME": "/cx", "PATH": "/bin"}
    assert folders_in({"CODEX_HOME": 3, "QWEN_HOME": ""}) == folders_in("x") == {}


def test_each_variable_that_a_source_reads_travels_with_requests_and_hooks() -> None:
    wanted = {name for source in built_in() for name in getattr(source, "variables", ())}
    wanted |= {name for names, _, _ in HOMES.values() for name in names}
    for file in Path(sources.__file__).parent.rglob("*.py"):
        wanted |= set(re.findall(r'"([A-Z_]+_(?:DIR|HOME|PORTABLE|OVERRIDE))"', file.read_text()))
    wanted -= {"MEM_SEARCH_HOME", "CLAUDE_MEM_DATA_DIR"}  # of no agent
    assert wanted <= set(FOLDER_VARIABLES)
    file = Path(__file__).parents[2] / "plugin" / "bin" / "hook.py"
    spec = spec_from_file_location("hook_of_agents", file)
    assert spec is not None
    assert spec.loader is not None
    hook = module_from_spec(spec)
    sys.modules[spec.name] = hook
    spec.loader.exec_module(hook)
    assert hook.FOLDERS == FOLDER_VARIABLES
