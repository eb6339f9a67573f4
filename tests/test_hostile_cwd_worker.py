"""A real worker that is told of a hostile directory by anybody records it, and lives."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from git_repositories import Repository, put
from homes import Home, quick
from patience import PATIENCE, until

pytestmark = pytest.mark.worker


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Home]:
    home = quick(tmp_path, MEM_SEARCH_FOLLOW="0.2")
    yield home
    home.run("worker", "stop")
    home.end()


def capture(mem: Home, session: str, cwd: Path) -> None:
    """What a program without a token may tell."""
    body: dict[str, Any] = {"contentSessionId": session, "cwd": str(cwd), "tool_name": "Bash"}
    body |= {"tool_input": {"command": f"ls {cwd.name}"}, "tool_response": f"{session} has tides"}
    request = urllib.request.Request(
        f"{mem.worker()['url']}/api/sessions/observations",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        assert reply.status == 200


@pytest.mark.parametrize("odd", ["device without end", "pipe", "terabyte"])
def test_a_worker_that_is_told_of_an_odd_repository_records_it_and_starts_again(
    mem: Home, tmp_path: Path, odd: str
) -> None:
    places = []
    for name in (".git", ".git/HEAD", ".git/config"):
        repo = Repository(tmp_path / f"engine{len(places)}")
        put(repo.path / name, odd)
        places.append(repo.path)
    mem.ok("worker", "start")
    for number, place in enumerate(places):
        capture(mem, f"s{number}", place)
    events = mem.path / "hooks" / "events"
    until(lambda: not list(events.iterdir()))
    first = mem.pid()
    assert mem.call("GET", "/api/stats")["records"]
    mem.ok("worker", "restart")
    assert mem.pid() != first
    for place in places:
        found = mem.call("GET", f"/api/search?query={place.name}&format=json")
        assert place.name in {each["project"] for each in found["results"]}
    peak = Path(f"/proc/{mem.pid()}/status")
    if peak.exists():
        (line,) = (each for each in peak.read_text().splitlines() if each.startswith("VmHWM"))
        assert int(line.split()[1]) < 600 * 1024


def test_fourteen_sessions_in_repositories_of_pipes_hold_up_nobody(
    mem: Home, tmp_path: Path
) -> None:
    places = []
    for number in range(14):
        repo = Repository(tmp_path / f"engine{number}")
        put(repo.path / (".git", ".git/HEAD", ".git/commondir", ".git/index")[number % 4], "pipe")
        places.append(repo.path)
    (note := tmp_path / "note.md").write_text("# Tides\n\nThe gauge of the pier.\n")
    mem.ok("worker", "start")
    with ThreadPoolExecutor(len(places)) as threads:
        list(threads.map(lambda n: capture(mem, f"s{n}", places[n]), range(len(places))))
    assert mem.call("GET", "/api/stats")
    done = mem.call("POST", "/api/sync", {"source": "files", "path": str(note)})["job"]
    until(lambda: mem.call("GET", f"/api/jobs/{done}")["state"] == "done")
    events = mem.path / "hooks" / "events"
    until(lambda: not list(events.iterdir()))
    for place in places:
        found = mem.call("GET", f"/api/search?query={place.name}&format=json")
        assert place.name in {each["project"] for each in found["results"]}


def test_imports_go_on_beside_a_git_that_waits_and_none_is_left_at_the_stop(
    mem: Home, tmp_path: Path
) -> None:
    repo = Repository(tmp_path / "engine")
    repo.commit("one", "a")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho $$ > "{tmp_path}/running"\nsleep 1000\n')
    program.chmod(0o755)
    mem.environ["PATH"] = f"{program.parent}:{mem.environ['PATH']}"
    (note := tmp_path / "note.md").write_text("# Tides\n\nThe gauge of the pier.\n")
    mem.ok("worker", "start")
    stuck = mem.call("POST", "/api/sync", {"source": "git", "path": str(repo.path)})["job"]
    until((tmp_path / "running").exists)
    done = mem.call("POST", "/api/sync", {"source": "files", "path": str(note)})["job"]
    until(lambda: mem.call("GET", f"/api/jobs/{done}")["state"] == "done")
    assert mem.call("GET", f"/api/jobs/{stuck}")["state"] == "running"
    assert mem.call("GET", "/api/stats")["records"]
    mem.ok("worker", "stop")
    process = int((tmp_path / "running").read_text())
    until(lambda: not _is_running(process))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
