"""The command line shows times by the person's clock, and JSON has them in UTC.

The worker's clock is in UTC, the person's in Kathmandu: by a quarter of an hour, no minute of one
is a minute of the other's hour.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homes import Home, quick
from mem_search.cli.options import clock_time
from mem_search.text.dates import from_iso, iso, to_the_minute

ZONE = "Asia/Kathmandu"
IN_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
SHOWN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(?!:\d)")


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with something that every command below can list, and a worker in UTC."""
    place = tmp_path_factory.mktemp("clock")
    home = quick(place)
    docs = place / "docs"
    (docs / "research").mkdir(parents=True)
    (docs / "lamp.txt").write_text("The lamp burns oil.")
    (docs / "research" / "q1.md").write_text("# Which oil?\n\nWhale oil, said the keeper.\n")
    try:
        home.ok("worker", "start")
        home.ok("add", str(docs / "lamp.txt"))
        home.ok("add", "a note about the harbour lamp")
        home.ok("archive", "add", "oil", "--research", str(docs / "research"))
        home.ok("saved", "add", "lamp", "lamp", "--inbox", "--every", "1h")
        home.ok("saved", "run", "lamp")
        home.ok("add", "another note about the harbour lamp")
        home.ok("saved", "run", "lamp")
        ask = {"mode": "deep_research", "search_type": "keyword", "query": "harbour lamp"}
        home.call("POST", "/api/v1/search", ask)
        home.ok("add", "a note about turnips")
        home.ok("forget", "--query", "turnips", "--yes")
        cost = {"at": int(time.time() * 1000), "session": "s", "agent": "codex", "event": "Stop"}
        cost |= {"tokens": 0, "ms": 1.0, "cpu_ms": 1.0, "searched": False, "answered": True}
        (home.path / "hooks").mkdir(exist_ok=True)
        (home.path / "hooks" / "costs.jsonl").write_text(f"{json.dumps(cost)}\n")
        yield Home(home.path, home.environ | {"TZ": ZONE})
    finally:
        home.end()


def times_in(value: Any) -> Iterator[str]:
    """Every time in a JSON value."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from times_in(each)
    elif isinstance(value, str):
        yield from IN_UTC.findall(value)


@pytest.mark.worker
@pytest.mark.parametrize(
    "command",
    [
        "worker status", "stats", "ledger", "saved list", "saved inbox --all --keep",
        "research list", "forget --status", "archive list", "context --costs",
    ],
)  # fmt: skip
def test_a_time_is_that_of_the_persons_clock(mem: Home, command: str) -> None:
    known = json.loads(mem.ok(*command.split(), "--json"))
    text = mem.ok(*command.split())
    shown, wanted = SHOWN.findall(text), set(times_in(known))
    assert shown, text
    assert not IN_UTC.findall(text)
    assert set(shown) <= {to_the_minute(from_iso(each), ZoneInfo(ZONE)) for each in wanted}


@pytest.mark.worker
def test_so_is_that_of_one_research_session_and_of_a_file(mem: Home) -> None:
    (session,) = json.loads(mem.ok("research", "list", "--json"))["sessions"]
    (operation,) = json.loads(
        mem.ok("research", "list", "--session", session["session_id"], "--json")
    )["operations"]
    told = json.loads(mem.ok("why", str(mem.path.parent / "docs" / "lamp.txt"), "--json"))
    for text, at in (
        (mem.ok("research", "show", operation["id"]), operation["created_at"]),
        (told["sentence"], told["at"]),
    ):
        assert SHOWN.findall(text) == [to_the_minute(from_iso(at), ZoneInfo(ZONE))]
        assert not IN_UTC.findall(text)


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_every_time_of_the_calendar_is_written(ms: int) -> None:
    assert len(clock_time(iso(ms))) == len("2026-11-24 16:27")
    assert clock_time(iso(ms)).startswith(clock_time(iso(ms), day=True))
    assert clock_time(iso(ms)) == to_the_minute(ms, ZoneInfo("UTC"))  # the clock of the tests
