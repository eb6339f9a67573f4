"""``mem-search reembed`` as a user runs it, over a worker that is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import chosen_store
import homes
import patience
from patience import PATIENCE

ATTEMPTS = (700, 2800, 11200)
"""Records. On a fast or busy machine the change is over before its kill, and needs more of them."""


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


def changes(home: homes.Home, above: int) -> bool:
    """Whether the change has written more than ``above`` vectors."""
    jobs = home.call("GET", "/api/jobs")["jobs"]
    return any(job["name"] == "reembed" and job["done"] > above for job in jobs)


def killed_amid_a_change(home: homes.Home, records: int) -> bool:
    """Kill the worker of a new home of ``records`` in a change of its model; false: too late."""
    file = home.path.parent / "notes.jsonl"
    texts = [f"the ferry to island{n} leaves at {n} from the old harbour" for n in range(records)]
    texts[7] = "a chef bakes sourdough bread with rye flour"
    notes = [{"kind": "note", "source_id": f"{n}", "text": text} for n, text in enumerate(texts)]
    file.write_text("".join(f"{json.dumps(note)}\n" for note in notes))
    home.ok("import", "jsonl", str(file))
    assert home.run("reembed", "--model", "crystal-ball").returncode == 2
    with home.popen("reembed", "--model", "bundled") as asking:
        # A request, not a command: the start of a process takes as long as the whole change.
        patience.until(lambda: changes(home, above=100))
        os.kill(home.pid(), signal.SIGKILL)
        asking.communicate(timeout=PATIENCE)
    home.wait_until_free()
    if chosen_store.SERVER:
        jobs = [rows for table, rows in chosen_store.rows_on_the_server(home.path)
                if table.endswith(" jobs")]  # fmt: skip
        return any(",reembed," in row and ",running," in row for rows in jobs for row in rows)
    with closing(sqlite3.connect(home.path / "mem-search.db")) as store:
        left = store.execute("select state from jobs where name = 'reembed'").fetchall()
    return bool(left == [("running",)])


@pytest.mark.worker
def test_a_killed_change_of_the_model_continues_and_the_old_model_answers_meanwhile(
    tmp_path: Path,
) -> None:
    for records in ATTEMPTS:
        (place := tmp_path / str(records)).mkdir()
        home = homes.make(place, MEM_SEARCH_EMBEDDER="hashing")
        try:
            if killed_amid_a_change(home, records):
                continues(home, records)
                return
        finally:
            home.end()
    pytest.fail("each change was over before its worker was killed")


def continues(home: homes.Home, records: int) -> None:
    assert "sourdough" in home.ok("search", "bakes bread", "--mode", "vector")
    found = stats(home)
    job = change(home)
    if job["state"] == "running":  # on a fast machine it may be over by now
        assert (found["embedder"]["name"], len(found["embedder"]["beside"])) == ("hashing", 1)
    job = until(home, lambda job: job["state"] not in ("queued", "running"))
    assert (job["state"], job["result"]["deleted"]) == ("done", records)
    assert job["result"]["embedded"] < records - 100
    found = stats(home)
    assert found["embedder"]["name"] != "hashing"
    assert found["embedder"]["beside"] == []
    assert "sourdough" in home.ok("search", "bakes bread", "--mode", "vector")
    home.ok("worker", "restart")
    assert stats(home)["embedder"]["name"] == found["embedder"]["name"]
    assert " of other models deleted" in home.ok("reembed", "--model", "bundled")
