"""A record that was searched for, researched, watched, uploaded and quoted is gone from every byte.

Real processes: a worker with the bundled model and its Chroma, and the command line.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chosen_store import in_a_file
from homes import Home, make
from patience import until
from source_samples import file_of

pytestmark = pytest.mark.worker

RARE = ("zylophantic", "quorvexel", "brimstedt", "xantholymph", "frobnitzer")
SECRET = {
    "kind": "note",
    "source_id": "quorvexel-id",
    "title": "Zylophantic plans",
    "text": "The zylophantic harbour in Brimstedt closes in March, says Frobnitzer of the port.",
    "tags": ["xantholymph"],
    "metadata": {"place": "Brimstedt"},
}


def others(count: int) -> list[dict[str, Any]]:
    return [
        {
            "kind": "note",
            "source_id": f"other{n}",
            "title": f"Garden {n}",
            "text": f"Plant {n} needs water and light; the port of the harbour {n} is far away.",
        }
        for n in range(count)
    ]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # and does not listen: messages wait for it
        receiver = f"127.0.0.1:{deaf.getsockname()[1]}"
        home = make(tmp_path, MEM_SEARCH_WEBHOOK_ALLOW=receiver, MEM_SEARCH_FOLLOW="0")
        yield home
        home.end()


def stored(home: Home, statement: str) -> list[tuple[Any, ...]]:
    """Rows of the store, as another process sees them."""
    uri = f"file:{home.path / 'mem-search.db'}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        return connection.execute(statement).fetchall()


def indexed(home: Home) -> None:
    until(lambda: not home.call("GET", "/api/stats")["outbox"])


def import_records(home: Home, records: list[dict[str, Any]], name: str = "records.jsonl") -> None:
    file = home.path.parent / name
    file.write_text("".join(json.dumps(each) + "\n" for each in records))
    home.ok("import", str(file))
    file.unlink()


def holding(home: Home, *needles: bytes) -> dict[str, list[bytes]]:
    """file of the home → which of ``needles`` are in it, in any case."""
    found: dict[str, list[bytes]] = {}
    for file in sorted(home.path.rglob("*")):
        if not file.is_file():
            continue
        content = file.read_bytes()
        content = (gzip.decompress(content) if file.suffix == ".gz" else content).lower()
        if held := [needle for needle in needles if needle.lower() in content]:
            found[str(file.relative_to(home.path))] = held
    return found


def vector_of(home: Home, number: int) -> tuple[bytes, bytes]:
    """A run of the record's vector as the store and as Chroma write it."""
    ((blob,),) = stored(
        home,
        "select vector from vectors where entry_id / 2 ="
        f" (select id from passages where record_id = {number})",
    )
    numbers = np.frombuffer(blob, "<f2")
    return blob[:64], struct.pack("<16f", *numbers[:16].astype(np.float32))


@in_a_file("its pages and Chroma are looked at")
def test_no_file_of_the_home_holds_what_was_forgotten(home: Home) -> None:
    import_records(home, others(40))
    hook = f"http://{home.environ['MEM_SEARCH_WEBHOOK_ALLOW']}/hook"
    home.ok("saved", "add", "watch", "frobnitzer", "--every", "1h", "--webhook", hook)
    transcript = file_of("claude-code", home.path.parent)
    transcript.write_text(transcript.read_text().replace("lamp", "zylophantic"))
    home.ok("sync", "claude-code", str(transcript.parents[1]))
    upload = json.dumps(SECRET) + "\n"
    home.ok("import", "--source", "jsonl", "-", given=upload)
    home.ok("unified", "zylophantic")
    home.ok("unified", "brimstedt harbour")
    home.call("POST", "/api/v1/saved-searches/watch/run", {})
    research = {"query": "xantholymph harbour", "mode": "deep_research", "full_content": True}
    home.call("POST", "/api/v1/search", research)
    job = home.call(
        "POST", "/api/v1/search", {"query": "port in Brimstedt", "background": True,
                                         "full_content": True}
    )  # fmt: skip
    until(lambda: home.call("GET", f"/api/v1/search/jobs/{job['job_id']}")["status"] == "completed")
    bad = home.path.parent / "frobnitzer.jsonl"
    bad.write_text('{"kind": "note", "text": "x", "created_at": "Brimstedt"}\n')
    home.run("import", str(bad))
    bad.unlink()
    indexed(home)
    found = json.loads(home.ok("search", "zylophantic", "--json"))["results"][0]
    number = int(str(found["ref"]).rpartition(":")[2])
    (message,) = stored(home, "select body from webhook_deliveries where state = 'pending'")
    assert b"Zylophantic plans" in message[0]
    assert any("zylophantic" in cursor for (cursor,) in stored(home, "select cursor from cursors"))
    needles = [word.encode() for word in RARE]
    vector = vector_of(home, number)
    before = holding(home, *needles, *vector)
    assert "mem-search.db" in before or "mem-search.db-wal" in before
    assert any(name.startswith("transcripts/") for name in before)
    assert any(vector[1].lower() in held or vector[1] in held for held in before.values()), before

    said = home.ok("forget", "--query", "zylophantic", "--yes")
    assert "done: the database, its log and the vector index are written anew" in said, said
    assert "still in" not in said, said
    assert "webhook messages 1" in said, said
    assert "reading positions" in said, said
    assert holding(home, *needles, *vector) == {}
    assert home.run("unified", "zylophantic").returncode == 1
    assert home.ok("search", "plant", "water").startswith("Found")
    home.call("DELETE", "/api/search/log")
    home.ok("worker", "stop")
    assert holding(home, *needles, *vector) == {}

    again = home.ok("import", "--source", "jsonl", "-", given=upload)
    assert "skipped, forgotten before" in again


def test_a_forgetting_that_is_killed_is_finished_by_the_next_worker(home: Home) -> None:
    import_records(home, [*others(150), *({**SECRET, "source_id": f"s{n}"} for n in range(1500))])
    selection = {"query": "zylophantic", "expected": 1500}
    receipt = home.call("POST", "/api/forget", selection)["receipt"]
    assert receipt["state"] == "pending"
    pid = home.pid()
    os.kill(pid, signal.SIGKILL)
    home.wait_until_free()
    home.ok("worker", "start")
    until(lambda: home.call("GET", f"/api/forget/{receipt['id']}")["state"] == "done")
    done = home.call("GET", f"/api/forget/{receipt['id']}")
    assert done["removed"]["records"] == 1500
    assert home.call("GET", "/api/stats")["records"]["total"] == 150
    assert holding(home, *(word.encode() for word in RARE)) == {}
