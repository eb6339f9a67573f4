"""A valid record of 25 MB, and many behind it, with the model and Chroma as they come."""

from __future__ import annotations

import json

import pytest

from homes import Home
from patience import PATIENCE

SIZE = 25_000_000
PIPED = 200
"""Records of 25,000 characters: as many passages as a worker embeds in half a minute."""

WORDS = "harbour engine garden ledger violin desert copper lantern".split()


def lines(mark: str, each: int, count: int) -> bytes:
    """``count`` records of ``each`` characters; every one has a word of its own."""
    text = " ".join(WORDS[(n * n + n // 7) % len(WORDS)] for n in range(each // 7))[:each]
    records = (
        {"kind": "note", "source_id": f"{mark}{n}", "text": f"{text} {mark}{n}"}
        for n in range(count)
    )
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.mark.worker
def test_a_record_of_25_mb_is_stored_and_found_and_a_worker_full_of_work_ends_in_order(
    whole: Home,
) -> None:
    whole.ok("worker", "start")
    job = whole.call("POST", "/api/import/jsonl", lines("posted", SIZE, 1))["job"]  # one record
    with whole.popen("import", "jsonl", "-") as process:
        said, err = process.communicate(
            lines("piped", 25_000, PIPED).decode(), timeout=4 * PATIENCE
        )
    assert said.rstrip().endswith(f": {PIPED} new"), err
    state = whole.ok("jobs", job, "--json")
    assert json.loads(state)["state"] == "done", state
    for word in ("posted0", "piped0", f"piped{PIPED - 1}"):
        page = whole.call("GET", f"/api/search?query={word}&mode=keyword&format=json")
        assert page["total"] == 1, word
    pid = whole.pid()  # thousands of passages wait for their vectors
    assert whole.ok("worker", "stop") == f"stopped (pid {pid})\n"
