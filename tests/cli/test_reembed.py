"""``mem-search reembed`` as a user runs it, over a worker that is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import homes
from patience import PATIENCE

RECORDS = 700


def stats(home: homes.Home) -> Any:
    return json.loads(home.ok("stats", "--json"))


def change(home: homes.Home) -> Any:
    """The job, or None before there is one."""
    jobs = json.loads(home.ok("jobs", "--json"))["jobs"]
    return next((job for job in jobs if job["name"] == "reembed"), None)


def until(home: homes.Home, done: Any) -> Any:
    deadline = time.monotonic() + 2 * PATIENCE
    while not ((job := change(home)) and done(job)):
        assert time.monotonic() < deadline, job
        time.sleep(0.2)
    return job


@pytest.mark.worker
def test_a_killed_change_of_the_model_continues_and_the_old_model_answers_meanwhile(
    tmp_path: Path,
) -> None:
    home = homes.make(tmp_path, MEM_SEARCH_EMBEDDER="hashing")
    file = tmp_path / "notes.jsonl"
    texts = [f"the ferry to island{n} leaves at {n} from the old harbour" for n in range(RECORDS)]
    texts[7] = "a chef bakes sourdough bread with rye flour"
    notes = [{"kind": "note", "source_id": f"{n}", "text": text} for n, text in enumerate(texts)]
    file.write_text("".join(f"{json.dumps(note)}\n" for note in notes))
    try:
        home.ok("import", "jsonl", str(file))
        assert home.run("reembed", "--model", "crystal-ball").returncode == 2
        with home.popen("reembed", "--model", "bundled") as asking:
            until(home, lambda job: job["done"] > 100)
            os.kill(home.pid(), signal.SIGKILL)
            asking.communicate(timeout=PATIENCE)
        home.wait_until_free()
        assert "sourdough" in home.ok("search", "bakes bread", "--mode", "vector")
        found = stats(home)
        job = change(home)
        if job["state"] == "running":  # on a fast machine it may be over by now
            assert (found["embedder"]["name"], len(found["embedder"]["beside"])) == ("hashing", 1)
        job = until(home, lambda job: job["state"] not in ("queued", "running"))
        assert (job["state"], job["result"]["deleted"]) == ("done", RECORDS)
        assert job["result"]["embedded"] < RECORDS - 100
        found = stats(home)
        assert found["embedder"]["name"] != "hashing"
        assert found["embedder"]["beside"] == []
        assert "sourdough" in home.ok("search", "bakes bread", "--mode", "vector")
        home.ok("worker", "restart")
        assert stats(home)["embedder"]["name"] == found["embedder"]["name"]
        assert "vector(s) of other models deleted" in home.ok("reembed", "--model", "bundled")
    finally:
        home.end()
