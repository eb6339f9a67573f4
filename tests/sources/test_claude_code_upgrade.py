"""Sessions that an older version read: what becomes of their records when this one reads them.

``OLD`` is what the version before steps (cursor version 2) stored of ``script()``: one observation
for the whole turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from claude_code_script import CWD, SESSION, START, Script
from mem_search.ingest.writer import STALE
from mem_search.model import Batch, Draft, Filters, Location, Record
from mem_search.sources import base
from mem_search.sources.claude_code import ClaudeCode
from mem_search.wiring import Runtime, open_runtime
from runtimes import small

ASKED = "Make the tide gauge of the pier count every wave"
TURN = (
    "I look at the gauge first.\n\n"
    "The gauge forgets zylophantic waves. We use a ring buffer instead of a list.\n\n"
    "The test needs a tide.\n\nThe gauge counts every wave now.\n\n"
    "Failed with exit code 2: Ran: make test\nValueError: no tide\n\nRan: make test"
)


def script() -> Script:
    return (
        Script()
        .asks(ASKED)
        .says("I look at the gauge first.")
        .does("Read", file_path=f"{CWD}/gauge.py")
        .does("Read", file_path=f"{CWD}/wave.py")
        .says("The gauge forgets zylophantic waves. We use a ring buffer instead of a list.")
        .does("Edit", file_path=f"{CWD}/gauge.py")
        .does("Bash", "Exit code 2\nValueError: no tide", failed=True, command="make test")
        .says("The test needs a tide.")
        .does("Edit", file_path=f"{CWD}/tests/test_gauge.py")
        .does("Bash", "passed", command="make test")
        .says("The gauge counts every wave now.")
    )


def old(kind: Any, key: str, text: str, began: int, ended: int, **metadata: Any) -> Draft:
    common = {"branch": "tide", **metadata}
    return Draft(
        kind, "claude-code", f"{SESSION}/{key}", text, "", START + began, START + ended,
        "harbour", SESSION, metadata=common,
    )  # fmt: skip


OLD = (
    old("user_prompt", "u0", ASKED, 0, 0, prompt_number=1, cwd=CWD, session_id=SESSION),
    old(
        "observation", "u0/work", TURN, 1_000, 16_000, type="change", agent="main",
        prompt_number=1, files_read=["gauge.py", "wave.py"],
        files_modified=["gauge.py", "tests/test_gauge.py"],
    ),
    old(
        "session_summary", "summary", f"Request: {ASKED}", 0, 16_000, request=ASKED,
        completed="The gauge counts every wave now.", extracted=True,
    ),
)  # fmt: skip


@pytest.fixture
def location(tmp_path: Path) -> Location:
    script().write(tmp_path / "projects" / "harbour" / f"{SESSION}.jsonl")
    return Location("claude-code", str(tmp_path / "projects"))


@pytest.fixture
async def upgraded(tmp_path: Path, location: Location) -> AsyncIterator[Runtime]:
    """A store that the older version filled, opened by this one."""
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        cursor = {"version": 2, "files": {f"harbour/{SESSION}.jsonl": {"offset": 9}}, "left": {}}
        await runtime.ingest.writer.take(location, Batch(drafts=OLD, cursor=cursor))
        yield runtime


async def stored(runtime: Runtime, **filters: Any) -> dict[str, Record]:
    page, _ = await runtime.store.records.page(Filters(**filters), "date_asc", 100, 0)
    return {record.source_id.removeprefix(f"{SESSION}/"): record for record, _ in page}


async def test_records_keep_their_numbers_and_are_read_anew(
    upgraded: Runtime, location: Location
) -> None:
    before = await stored(upgraded)
    await upgraded.ingest.reader.read(location)
    after = await stored(upgraded)
    assert {key: after[key].number for key in before} == {
        key: each.number for key, each in before.items()
    }
    assert set(after) - set(before) == {"u0/work/2", "u0/work/3", "u6/decision"}
    work = [after[key] for key in ("u0/work", "u0/work/2", "u0/work/3")]
    assert [each.metadata["type"] for each in work] == ["discovery", "feature", "bugfix"]
    assert [(each.session, each.project) for each in after.values()] == [(SESSION, "harbour")] * 6
    # What one record said is in one of the new ones, once.
    for said in ("I look at", "zylophantic waves.", "needs a tide", "ValueError: no tide"):
        assert [said in each.text for each in work].count(True) == 1
    assert set(await stored(upgraded, kinds=("observation",), files=("gauge.py",))) == {
        "u0/work", "u0/work/2",
    }  # fmt: skip
    counts = await upgraded.ingest.reader.read(location, again=True)
    assert (counts.new, counts.changed) == (0, 0)


async def test_records_of_transcripts_that_are_gone_stay(
    upgraded: Runtime, location: Location
) -> None:
    before = await stored(upgraded)
    for file in [*Path(location.path).rglob("*.jsonl")]:  # noqa: ASYNC240
        file.unlink()
    await upgraded.ingest.reader.read(location)
    assert await stored(upgraded) == before


async def test_what_was_forgotten_does_not_come_back_as_a_step(
    upgraded: Runtime, location: Location
) -> None:
    forgotten = (await stored(upgraded))["u0/work"]
    await upgraded.ingest.forgetting.forget([forgotten.number])
    counts = await upgraded.ingest.reader.read(location)
    assert (counts.forgotten, counts.failed) == (4, 0)
    after = await stored(upgraded)
    assert set(after) == {"u0", "summary"}
    assert not any("zylophantic" in each.text for each in after.values())


async def test_a_session_that_goes_on_after_a_forgetting_is_recorded(
    upgraded: Runtime, location: Location
) -> None:
    forgotten = (await stored(upgraded))["u0/work"]
    await upgraded.ingest.forgetting.forget([forgotten.number])
    await upgraded.ingest.reader.read(location)
    later = script()
    later.common["timestamp"] = "2100-01-01T00:00:00Z"
    later.asks("Paint the pier").says("I paint it green.").does(
        "Edit", file_path=f"{CWD}/pier.py"
    ).says("The pier is green now, and so is the lamp.")
    later.write(Path(location.path) / "harbour" / f"{SESSION}.jsonl")
    await upgraded.ingest.reader.read(location)
    after = await stored(upgraded)
    assert {"u17", "u17/work"} <= set(after)
    assert "The pier is green now" in after["summary"].text


def stale(key: str, began: int, text: str = "The gauge was cut elsewhere.") -> Draft:
    kind = "decision" if key.endswith("/decision") else "discovery"
    return old("observation", key, text, began, began, type=kind, agent="main")


CUT_ELSEWHERE = (
    stale("u0/work/4", 15_000),
    stale("u0/work/5", 16_000),
    stale("u1/decision", 1_000, "We look at the gauge rather than at the sea."),
    stale("u12/work", 12_000),
)
"""What rules of an earlier version made of lines of the session, and these do not."""

OF_OTHERS = (
    stale("x7/work", 3_000, "A line of the session that only another file has."),
    stale("x7/decision", 3_000, "We paint the pier instead of the lamp."),
    stale("u0/work/6", 90_000_000, "A longer copy of the file was read."),
    old("user_prompt", "u12", "A prompt is no observation", 12_000, 12_000),
)


async def known(runtime: Runtime, location: Location, *drafts: Draft) -> None:
    cursor = {"version": 2, "files": {f"harbour/{SESSION}.jsonl": {"offset": 9}}, "left": {}}
    await runtime.ingest.writer.take(location, Batch(drafts=drafts, cursor=cursor))


def ids(*drafts: Draft) -> set[str]:
    return {draft.source_id.removeprefix(f"{SESSION}/") for draft in drafts}


async def test_observations_that_earlier_rules_cut_elsewhere_do_not_stay(
    upgraded: Runtime, location: Location
) -> None:
    await known(upgraded, location, *CUT_ELSEWHERE, *OF_OTHERS)
    counts = await upgraded.ingest.reader.read(location)
    assert counts.deleted == len(CUT_ELSEWHERE)
    after = set(await stored(upgraded))
    assert after == ids(*OLD, *OF_OTHERS) | {"u0/work/2", "u0/work/3", "u6/decision"}
    rows = await upgraded.store.ingest.ledger("claude-code", f"{SESSION}/u1/decision", 9, 0)
    assert [(row.outcome, row.reason) for row in rows] == [("deleted", STALE)]
    # It is no forgetting: a version that makes them again may store them again.
    counts = await upgraded.ingest.writer.take(location, Batch(drafts=CUT_ELSEWHERE))
    assert counts.new == len(CUT_ELSEWHERE)
    counts = await upgraded.ingest.reader.read(location, again=True)
    assert (counts.new, counts.changed, counts.deleted) == (0, 0, len(CUT_ELSEWHERE))
    assert set(await stored(upgraded)) == after


async def test_stale_observations_of_a_reading_that_was_killed_do_not_stay(
    upgraded: Runtime, location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    await known(upgraded, location, *CUT_ELSEWHERE)
    monkeypatch.setattr(base, "BATCH_SIZE", 1)
    batches = ClaudeCode().read(location, await upgraded.store.ingest.cursor(location))
    for _ in range(3):
        await upgraded.ingest.writer.take(location, next(batches))
    assert ids(*CUT_ELSEWHERE) <= set(await stored(upgraded))
    await upgraded.ingest.reader.read(location)
    assert not ids(*CUT_ELSEWHERE) & set(await stored(upgraded))


async def test_what_a_transcript_no_longer_has_stays(upgraded: Runtime, location: Location) -> None:
    (file,) = Path(location.path).rglob("*.jsonl")  # noqa: ASYNC240
    await upgraded.ingest.reader.read(location)
    cursor = await upgraded.store.ingest.cursor(location)
    await upgraded.ingest.writer.take(location, Batch(drafts=CUT_ELSEWHERE, cursor=cursor))
    before = set(await stored(upgraded))
    file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:8]), "utf-8")
    assert (await upgraded.ingest.reader.read(location)).deleted == 0
    file.unlink()
    # Read again from the copy that is kept, which may have less than the transcript.
    assert (await upgraded.ingest.reader.read(location, again=True)).deleted == 0
    assert set(await stored(upgraded)) == before
