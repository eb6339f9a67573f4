"""The plugin in the real Claude Code, against a stand-in for the API of its model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homes import Home, quick
from model_api import ModelApi, Step, model_api, results_in
from patience import PATIENCE, until

CHECKOUT = Path(__file__).parents[1]
PLUGIN = CHECKOUT / "plugin"
NAMED = "MEM_SEARCH_TEST_CLAUDE"
SAID = "The lamp burns again now, since lamp.py sets it."


@pytest.fixture(scope="session")
def claude() -> str:
    """The program. It needs no account: nothing but the stand-in is asked."""
    found = os.environ.get(NAMED) or shutil.which("claude")
    if not found:
        pytest.skip(f"Claude Code is not installed: put claude on the PATH, or name it in {NAMED}")
    return found


@pytest.mark.parametrize("place", [PLUGIN, CHECKOUT], ids=["plugin", "marketplace"])
def test_the_official_validator_has_no_warning(claude: str, place: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [claude, "plugin", "validate", "--strict", str(place)],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run(claude: str, mem: Home, api: ModelApi, project: Path, prompt: str, *options: str) -> str:
    """One session; its id."""
    own = {
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",  # else the model has to ask for our tools first
        "MCP_CONNECTION_NONBLOCKING": "false",  # a busy machine may need longer than the model
        "MCP_TIMEOUT": "60000",
    }
    tools = "Bash,Write,mcp__plugin_mem-search_mem-search"
    done = subprocess.run(
        [claude, "-p", prompt, "--plugin-dir", str(PLUGIN), "--allowedTools", tools,
         "--output-format", "json", *options],
        env=mem.environ | own,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return str(json.loads(done.stdout)["session_id"])


def records(mem: Home, session: str) -> dict[str, list[dict[str, Any]]]:
    """The records of a session by kind, as soon as its summary has the agent's last words."""
    deadline = time.monotonic() + PATIENCE
    while True:
        query = f"/api/search?query=session:{session}&format=json&limit=50"
        found: dict[str, list[dict[str, Any]]] = {}
        for each in mem.call("GET", query)["results"]:
            whole = mem.call("GET", f"/api/records/{each['ref']}")
            found.setdefault(whole["kind"], []).append(whole)
        if any(SAID in each["text"] for each in found.get("session_summary", ())):
            return found
        assert time.monotonic() < deadline, f"only {found}"
        time.sleep(0.2)


def counted(mem: Home) -> tuple[int, int]:
    """(turns, searches) by the ledger of hooks."""
    costs = mem.call("GET", "/api/context/costs")
    return costs["turns"], costs["searches"]


def told(mem: Home, event: str) -> int:
    """How many hooks of this event have ended."""
    lines = (mem.path / "hooks" / "costs.jsonl").read_text().splitlines()
    return sum(json.loads(line)["event"] == event for line in lines)


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Home]:
    home = quick(tmp_path)
    command = tmp_path / "mem-search"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m mem_search "$@"\n')
    command.chmod(0o755)
    home.environ["MEM_SEARCH_COMMAND"] = str(command)
    yield home
    home.end()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "harbour"
    project.mkdir()
    return project


def check_work(found: dict[str, list[dict[str, Any]]]) -> None:
    """The records say what the session did."""
    (prompt,) = found["user_prompt"]
    assert prompt["text"] == "Light the lamp in the harbour, please"
    work = [each["metadata"] for each in found["observation"]]
    assert [path for each in work for path in each["files_modified"]] == ["lamp.py"]
    (failed,) = [line for each in work for line in each.get("failed", ())]
    assert failed.startswith("Failed with exit code 3: Ran: cat lamp.log")


def steps_of(project: Path) -> list[Step]:
    return [
        ("Bash", {"command": "cat lamp.log; exit 3", "description": "Look at the log"}),
        ("Write", {"file_path": str(project / "lamp.py"), "content": "LAMP = 1\n"}),
    ]


@pytest.mark.worker
def test_a_session_is_recorded_and_the_next_one_has_it(
    claude: str, mem: Home, project: Path
) -> None:
    note = {"kind": "note", "title": "Wick", "text": "The lamp of the harbour has a new wick."}
    mem.ok("import", "jsonl", "-", given=json.dumps(note) + "\n")
    steps = [*steps_of(project), ("__search", {"query": "lamp wick"})]
    with model_api(steps, SAID) as api:
        api.thinks = lambda done: done < len(steps) or until(lambda: counted(mem)[1])
        session = run(claude, mem, api, project, "Light the lamp in the harbour, please")
    check_work(records(mem, session))

    turns = [request for request in api.requests if request.get("tools")]
    answers = results_in(turns[-1])
    searched = [each for each in answers if "local:note:" in json.dumps(each["content"])]
    assert len(searched) == 1, "one search in this turn, whose answer the model got"
    assert json.dumps(searched[0]).count("local:note:1") == 1, "and got once"
    assert counted(mem) == (1, 1), "which the ledger of hooks counts: turns and searches"

    with model_api([], "Good.") as api:
        run(claude, mem, api, project, "What did we do about the lamp in the harbour?")
    (first, *_) = [request for request in api.requests if request.get("tools")]
    given = json.dumps(first["messages"])
    assert "recalled-memory" in given
    assert SAID in given, "the context of a session has what the one before it did"
    assert "Search them" in given, "and says when to search"


@pytest.mark.worker
def test_a_session_without_a_transcript_is_recorded_from_its_hooks(
    claude: str, mem: Home, project: Path
) -> None:
    """Its last words come with the last hook before the program ends."""
    mem.ok("worker", "start")
    steps = steps_of(project)
    with model_api(steps, SAID) as api:
        api.thinks = lambda done: done < len(steps) or until(lambda: told(mem, "PostToolUse"))
        words = ("Light the lamp in the harbour, please", "--no-session-persistence")
        session = run(claude, mem, api, project, *words)
    assert not list(Path(mem.environ["HOME"]).rglob(f"{session}.jsonl"))
    check_work(records(mem, session))
