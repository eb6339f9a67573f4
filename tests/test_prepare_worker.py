"""A real worker and records that do it harm: it answers, names them, and stores the others."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hostile_kind
from forked import SOURCE, environment, share
from homes import Home, make
from patience import until

pytestmark = pytest.mark.worker


@pytest.fixture(scope="module")
def import_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One with the kind of a third party."""
    hostile_kind.install(folder := tmp_path_factory.mktemp("theirs"))
    path = os.pathsep.join((SOURCE, str(folder)))
    share(environment() | {"PYTHONPATH": path})
    return path


@pytest.fixture
def theirs(tmp_path: Path, import_path: str) -> Iterator[Home]:
    """A home with the kind of a third party."""
    home = make(
        tmp_path,
        MEM_SEARCH_EMBEDDER="hashing",
        MEM_SEARCH_CHROMA_URL="off",
        MEM_SEARCH_PREPARE_SECONDS="4",
        PYTHONPATH=import_path,
    )
    yield home
    home.end()


def records(tmp_path: Path, harm: str) -> Path:
    """Fifty notes with the harmful record in the middle."""
    lines = [{"kind": "note", "source_id": f"n{n}", "text": f"gardening {n}"} for n in range(50)]
    lines.insert(25, {"kind": "hostile", "source_id": "harm", "text": harm})
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_a_record_that_hangs_is_named_and_the_worker_answers_all_the_time(
    theirs: Home, tmp_path: Path
) -> None:
    theirs.ok("worker", "start")
    body = {"source": "jsonl", "path": str(records(tmp_path, "spin"))}
    job = theirs.call("POST", "/api/import", body)["job"]
    meanwhile = 0
    while (state := theirs.call("GET", f"/api/jobs/{job}"))["state"] in ("queued", "running"):
        before = is_at(theirs, "line 26")
        theirs.call("GET", "/health")
        meanwhile += before and is_at(theirs, "line 26")
        time.sleep(0.02)
    assert state["state"] == "done"
    assert (state["result"]["locations"][0]["new"], state["result"]["locations"][0]["failed"]) == (
        50, 1,
    )  # fmt: skip
    assert meanwhile > 5  # none, if the record held the interpreter
    (entry,) = theirs.call("GET", "/api/ledger?item=line+26")["entries"]
    assert entry["outcome"] == "failed"
    assert "(prepare_seconds)" in entry["reason"]
    assert theirs.call("GET", "/api/search?query=gardening&format=json")["total"] == 50


def is_at(home: Home, item: str) -> bool:
    """Whether the worker is preparing the item now."""
    try:
        written = (home.path / "reading.json").read_bytes().partition(b"\n")[0]
    except FileNotFoundError:
        return False
    return any(place[2] == item for place in json.loads(written or b"{}").get("now", ()))


def kill_over_line_26(home: Home) -> None:
    mark = home.path / "reading.json"
    until(lambda: is_at(home, "line 26") and mark.stat().st_mtime)
    os.kill(home.pid(), signal.SIGKILL)
    home.wait_until_free()
    os.utime(mark, (0, 0))  # it tells of the killed worker until the next one writes it
    home.ok("worker", "start")


def test_a_job_that_took_the_worker_down_twice_is_tried_once_more_by_a_worker_without_work(
    theirs: Home, tmp_path: Path
) -> None:
    theirs.environ["MEM_SEARCH_PREPARE_SECONDS"] = "1000"
    theirs.environ["MEM_SEARCH_RETRY_ASIDE"] = "1"
    theirs.ok("worker", "start")
    body = {"source": "jsonl", "path": str(records(tmp_path, "sleep"))}
    job = theirs.call("POST", "/api/import", body)["job"]
    for _ in range(4):  # the last two are those of the other attempt
        kill_over_line_26(theirs)
    state = until(lambda: theirs.call("GET", "/api/jobs?state=set_aside")["jobs"])[0]
    assert state["id"] == job
    assert "twice more when it tried again" in state["message"]


def test_a_job_that_took_the_worker_down_twice_is_set_aside_until_it_is_retried(
    theirs: Home, tmp_path: Path
) -> None:
    theirs.environ["MEM_SEARCH_PREPARE_SECONDS"] = "1000"
    theirs.environ["MEM_SEARCH_RETRY_ASIDE"] = "0"
    theirs.ok("worker", "start")
    body = {"source": "jsonl", "path": str(records(tmp_path, "sleep"))}
    job = theirs.call("POST", "/api/import", body)["job"]
    for _ in range(2):
        kill_over_line_26(theirs)

    state = until(lambda: theirs.call("GET", "/api/jobs?state=set_aside")["jobs"])[0]
    assert state["id"] == job
    assert "ended twice while it read jsonl" in state["message"]
    assert "line 26" in state["message"]
    (entry,) = theirs.call("GET", "/api/ledger?item=line+26")["entries"]
    assert entry["outcome"] == "failed"
    assert f"mem-search jobs {job} --retry" in entry["reason"]
    said = theirs.run("doctor")
    assert said.returncode == 1
    assert f"mem-search jobs {job} --retry --without-item" in said.stdout

    theirs.ok("worker", "restart")  # it stays aside
    assert theirs.call("GET", f"/api/jobs/{job}")["state"] == "set_aside"
    theirs.ok("jobs", job, "--retry", "--without-item")
    state = until(lambda: ended(theirs, job))
    assert state["state"] == "done"
    assert theirs.call("GET", "/api/search?query=gardening&format=json")["total"] == 50
    (entry,) = theirs.call("GET", "/api/ledger?item=line+26")["entries"]
    assert "left out" in entry["reason"]
    assert "job " not in theirs.run("doctor").stdout
    assert theirs.run("jobs", job, "--retry").returncode == 5


def ended(home: Home, job: str) -> Any:
    state = home.call("GET", f"/api/jobs/{job}")
    return state if state["state"] not in ("queued", "running") else None


def test_a_worker_that_is_killed_leaves_no_process(theirs: Home, tmp_path: Path) -> None:
    theirs.environ["MEM_SEARCH_PREPARE_SECONDS"] = "1000"
    theirs.ok("worker", "start")
    body = {"source": "jsonl", "path": str(records(tmp_path, "spin"))}
    theirs.call("POST", "/api/import", body)
    until(lambda: is_at(theirs, "line 26"))
    worker = theirs.pid()
    children = Path(f"/proc/{worker}/task/{worker}/children")
    if not children.exists():
        pytest.skip("the kernel tells no children")
    (child,) = children.read_text().split()
    os.kill(worker, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{child}").exists())
