"""Whatever preparing a record does, it stops neither the worker nor the other records."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import hostile_kind
from drafts import draft
from mem_search import limited_process
from mem_search.ingest import prepare_process as module
from mem_search.ingest.prepare import prepare
from mem_search.ingest.prepare_process import SMALL, PrepareProcess
from mem_search.model import Draft
from mem_search.model.ingest import PreparedDraft
from mem_search.platform.processes import process_work, processor_seconds
from mem_search.records.registry import installed_kinds
from patience import PATIENCE, comes_true, until

LARGE = tuple(draft(f"{n}", f"word{n} " * 2000) for n in range(5))


@pytest.fixture(autouse=True)
def their_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    hostile_kind.install(tmp_path / "theirs")
    monkeypatch.syspath_prepend(tmp_path / "theirs")
    installed_kinds.cache_clear()
    yield
    sys.modules.pop("hostile_module", None)
    installed_kinds.cache_clear()


@pytest.fixture
async def preparing(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PrepareProcess]:
    """One second of processor time for a draft. On a busy machine that may take a minute."""
    monkeypatch.setattr(module, "_PATIENCE", 100)
    monkeypatch.setattr(module, "SMALL", SMALL)
    preparing = PrepareProcess(seconds=1, megabytes=512)
    yield preparing
    await preparing.close()


def hostile(text: str) -> Draft:
    return Draft("hostile", "test", text, text)


async def reasons(
    preparing: PrepareProcess, *drafts: Draft, at: Callable[[int], None] = lambda _: None
) -> list[str]:
    """Why each draft was refused; empty for a prepared one."""
    found = await preparing.prepare(drafts, at)
    return [each if isinstance(each, str) else "" for each in found]


async def test_the_process_makes_of_a_draft_what_the_worker_does(preparing: PrepareProcess) -> None:
    told: list[int] = []
    assert await preparing.prepare(LARGE, told.append) == [prepare(each) for each in LARGE]
    assert preparing.pid not in (None, os.getpid())
    assert told == [*range(len(LARGE))]


async def test_a_small_batch_of_built_in_kinds_needs_no_process(preparing: PrepareProcess) -> None:
    small = (draft("a", "some words"), draft("b", ""), draft("c", "x" * (SMALL // 2)))
    prepared = await preparing.prepare(small)
    assert preparing.pid is None
    assert [type(each) for each in prepared] == [PreparedDraft, str, PreparedDraft]


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("spin", r"it took more than 1 seconds to prepare \(prepare_seconds\)"),
        ("sleep", r"it was not prepared within 1 seconds \(prepare_seconds\)"),
        ("grow", r"it needs more than 512 MB of memory \(prepare_memory\)"),
        ("crash", "the process that prepares records was ended by SIGSEGV over it"),
        ("break", "internal error in the kind hostile: ZeroDivisionError: a bug"),
    ],
)
async def test_a_draft_that_reaches_a_limit_is_refused_and_the_others_are_prepared(
    preparing: PrepareProcess, monkeypatch: pytest.MonkeyPatch, what: str, reason: str
) -> None:
    def at(place: int) -> None:  # only the sleep is not waited for
        is_asleep = drafts[place].text == "sleep"
        monkeypatch.setattr(module, "_PATIENCE", 1 if is_asleep else 100)

    drafts = (hostile("fine 1"), hostile(what), hostile("fine 2"), *LARGE)
    refused = await reasons(preparing, *drafts, at=at)
    assert re.fullmatch(reason, refused.pop(1))
    assert refused == [""] * 7


async def test_a_draft_that_gets_a_part_of_a_processor_is_not_given_up_by_the_clock(
    preparing: PrepareProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.05)  # twenty times in its second of processor time
    monkeypatch.setattr(limited_process, "_WAITING", -1)  # however busy this machine is now
    (reason,) = await reasons(preparing, hostile("spin"))
    assert reason == "it took more than 1 seconds to prepare (prepare_seconds)"


async def test_a_process_that_ends_as_the_clock_gives_it_up_says_why(
    preparing: PrepareProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    received = module._received

    async def late(process: asyncio.subprocess.Process, size: int, seconds: float) -> bytes:
        with suppress(asyncio.IncompleteReadError):
            return await received(process, size, PATIENCE)
        raise TimeoutError

    monkeypatch.setattr(module, "_received", late)
    (reason,) = await reasons(preparing, hostile("spin"))
    assert reason == "it took more than 1 seconds to prepare (prepare_seconds)"


def test_a_process_that_works_is_told_from_one_that_waits() -> None:
    for code, works in (("while True: pass", True), ("input()", False)):
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
            if works:
                until(lambda: limited_process.is_working(process.pid, 0.5, 60))
            else:
                until(lambda: process_work(process.pid)[0] == "S")
                used = processor_seconds(process.pid)
                assert not limited_process.is_working(process.pid, used, 60)
            process.kill()


async def test_a_process_that_somebody_else_ended_blames_no_draft(
    preparing: PrepareProcess, tmp_path: Path
) -> None:
    drafts = (hostile("fine"), hostile(f"once {tmp_path / 'marker'}"), hostile("fine too"))
    assert await reasons(preparing, *drafts) == ["", "", ""]
    assert preparing.pid is not None
    os.kill(preparing.pid, signal.SIGKILL)
    assert await reasons(preparing, *drafts) == ["", "", ""]


async def test_the_loop_goes_on_while_a_draft_spins(preparing: PrepareProcess) -> None:
    refusing = asyncio.create_task(reasons(preparing, hostile("spin")))
    turns = 0
    while not refusing.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert "seconds" in refusing.result()[0]
    assert turns > 10  # a loop that waits for the draft has one or two in its second


async def test_what_cannot_be_sent_is_refused_by_itself(preparing: PrepareProcess) -> None:
    odd = Draft("note", "test", "odd", "text", metadata={"f": lambda: None})
    (refused, *others) = await reasons(preparing, odd, *LARGE)
    assert refused.startswith("metadata: it holds what cannot be stored")
    assert others == [""] * len(LARGE)


async def test_cancelling_ends_the_process_and_the_next_batch_has_a_new_one(
    preparing: PrepareProcess,
) -> None:
    started = asyncio.Event()
    sleeping = asyncio.create_task(preparing.prepare([hostile("sleep")], lambda _: started.set()))
    await asyncio.wait_for(started.wait(), PATIENCE)
    before = preparing.pid
    sleeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeping
    assert preparing.pid is None
    assert await reasons(preparing, hostile("fine")) == [""]
    assert preparing.pid != before


async def test_an_idle_process_ends(
    preparing: PrepareProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.01)
    await preparing.prepare(LARGE)
    await comes_true(lambda: preparing.pid is None)
    assert await reasons(preparing, *LARGE) == [""] * len(LARGE)
