"""An event over which the worker died twice is set aside, and the others are recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forked
from mem_search.cli import local_checks
from mem_search.features.capture.journals import SuspectEvents
from mem_search.model import Filters
from mem_search.wiring import open_runtime
from runtimes import small

WORKER = """
import asyncio, os, sys, time
from pathlib import Path
from mem_search.features.capture.service import GRACE_SECONDS
from mem_search.jobs.reader import LocationReader
from mem_search.wiring import open_runtime
from runtimes import small

home = Path(sys.argv[1])
read = LocationReader.read

async def dies(self, location, *args, **more):
    if any("deadly" in file.read_text() for file in (home / "hooks" / "sessions").glob("*.jsonl")):
        os._exit(137)
    return await read(self, location, *args, **more)

LocationReader.read = dies

async def main():
    async with open_runtime(small(home), background=False) as runtime:
        await runtime.ingest.hooks.recover()
        await runtime.ingest.hooks.drain(time.time() + GRACE_SECONDS + 1)

asyncio.run(main())
"""
"""A worker that dies wherever a transcript has a certain word."""


def worker(home: Path) -> int:
    environ = {**forked.environment(), "HOME": str(home)}
    return forked.run(["-c", WORKER, str(home)], environ, home).returncode


def leave(home: Path, name: str, session: str, prompt: str) -> None:
    folder = home / "hooks" / "events"
    folder.mkdir(parents=True, exist_ok=True)
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": "/gone/harbour"}
    (folder / f"{name}.json").write_text(json.dumps({**event, "prompt": prompt}))


async def prompts(home: Path) -> list[str]:
    async with open_runtime(small(home), background=False) as runtime:
        page, _ = await runtime.store.records.page(Filters(), "date_asc", 50, 0)
        return sorted(record.text for record, _ in page if record.kind == "user_prompt")


@pytest.mark.parametrize("others", [0, 3])
async def test_an_event_that_took_the_worker_down_twice_is_set_aside_and_kept(
    tmp_path: Path, others: int
) -> None:
    leave(tmp_path, "2", "s1", "A deadly prompt for the worker")
    for number in range(others):
        leave(tmp_path, f"{3 + number}", "s1", f"Prompt {number} about the tide gauge")
    assert worker(tmp_path) == 137
    assert worker(tmp_path) == 137
    assert worker(tmp_path) == 0
    hooks = tmp_path / "hooks"
    assert [file.name for file in (hooks / "set-aside").iterdir()] == ["2.json"]
    assert list((hooks / "events").iterdir()) == []
    assert not (hooks / "taking.json").exists()
    assert len(await prompts(tmp_path)) == others
    async with open_runtime(small(tmp_path), background=False) as runtime:
        entries = await runtime.store.ingest.ledger("claude-code", "", 50, 0)
    (entry,) = [each for each in entries if each.item == "2.json"]
    assert entry.outcome == "failed"
    assert "ended twice" in entry.reason
    (finding,) = local_checks.events(small(tmp_path))
    assert "1 set aside" in finding.detail
    assert worker(tmp_path) == 0

    # Its owner has mended what it was, and tries it again.
    aside = hooks / "set-aside" / "2.json"
    (hooks / "events" / "2.json").write_text(aside.read_text().replace("deadly", "harmless"))
    aside.unlink()
    assert worker(tmp_path) == 0
    assert len(await prompts(tmp_path)) == others + 1
    assert list(local_checks.events(small(tmp_path))) == []


def test_a_mark_counts_each_death_and_forgets_those_that_were_survived(tmp_path: Path) -> None:
    file = tmp_path / "hooks" / "taking.json"
    dying = SuspectEvents(file)
    dying.remember()
    held = [dying.taking(["a", "b"])]
    held[0].__enter__()
    again = SuspectEvents(file)
    again.remember()
    assert again.deaths == {"a": 1, "b": 1}
    assert list(again.in_groups({"a": 1, "b": 1, "c": 1, "d": 1})) == [["c", "d"], ["a"], ["b"]]
    with again.taking(["c", "d"]), again.taking(["a"]):
        pass
    held.append(again.taking(["b"]))
    held[1].__enter__()
    last = SuspectEvents(file)
    last.remember()
    assert (last.deaths, last.to_set_aside()) == ({"b": 2}, ["b"])
    last.forget(["b"])
    assert not file.exists()


def test_groups_have_few_events_and_few_bytes(tmp_path: Path) -> None:
    suspects = SuspectEvents(tmp_path / "taking.json")
    groups = list(suspects.in_groups({str(n): 9 * 2**20 for n in range(7)}))
    assert [len(each) for each in groups] == [3, 3, 1]
    assert [len(each) for each in suspects.in_groups({str(n): 1 for n in range(450)})] == [
        200, 200, 50,
    ]  # fmt: skip


@pytest.mark.parametrize("content", ["", "[]", '{"deaths": 3}', "\0" * 9, '{"deaths": {}}'])
def test_a_mark_that_says_nothing_is_no_reason_not_to_start(tmp_path: Path, content: str) -> None:
    file = tmp_path / "taking.json"
    file.write_text(content)
    suspects = SuspectEvents(file)
    suspects.remember()
    assert suspects.to_set_aside() == []
