"""Two homes and a file sync that is late, delivers twice, out of order and by halves.

Whatever both do meanwhile, in the end they are equal, nothing forgotten is back, and no text is
lost that nobody replaced knowingly.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mem_search.model import Batch, Draft, Filters, Location
from mem_search.sources.jsonl.exchange import export_line
from mem_search.wiring import Runtime, open_runtime
from runtimes import small

pytestmark = pytest.mark.app

FILE = Location("test", "/both/have.it")
NAMES = ("a", "b", "c")
Step = tuple[str, int, str]

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["read", "edit", "edit", "forget", "again", "turn", "turn", "deliver", "half", "twice"]
        ),
        st.integers(0, 1),
        st.sampled_from(NAMES),
    ),
    max_size=24,
)  # fmt: skip


@dataclass
class Machine:
    """A home with its own copy of the folder."""

    runtime: Runtime
    folder: Path
    taken: set[str] = field(default_factory=set)
    halves: set[str] = field(default_factory=set)

    async def turn(self) -> None:
        turn = await self.runtime.ingest.mirrors.turn(str(self.folder), begin=True)
        assert not turn.errors

    async def lines(self) -> dict[str, str]:
        """source id → the line of the record."""
        page = await self.runtime.store.records.export_page(Filters(), 0, 1000)
        return {record.source_id: export_line(record, links) for record, links in page}

    async def texts(self) -> dict[str, str]:
        page = await self.runtime.store.records.export_page(Filters(), 0, 1000)
        return {record.source_id: record.text for record, _ in page}

    async def number(self, name: str) -> int | None:
        found = await self.runtime.store.records.named("test", name)
        return found.number if found else None


class Both:
    """The two machines, and what has to be true of them."""

    def __init__(self, machines: list[Machine]) -> None:
        self.machines = machines
        self.count = 0
        self.steps: list[Step] = []
        self.replaced: set[str] = set()
        self.written: dict[str, set[str]] = defaultdict(set)
        self.forgotten: set[str] = set()
        self.stored_again: set[str] = set()
        self.wanted: set[str] = set()
        """Stored again by somebody who knew that it was forgotten, and not forgotten since."""

    async def step(self, what: str, which: int, name: str) -> None:
        here, there = self.machines[which], self.machines[1 - which]
        match what:
            case "read":  # both have the same file
                await self._write(here, name, f"the file {name}")
            case "edit":
                self.count += 1
                await self._write(here, name, f"version {self.count} of {name}")
            case "forget":
                if number := await here.number(name):
                    await here.runtime.ingest.forgetting.forget([number])
                    self.forgotten.add(name)
                    self.stored_again.discard(name)
                    self.wanted.discard(name)
            case "again":
                self.count += 1
                text = f"version {self.count} of {name}"
                self.stored_again.add(name)
                if await here.runtime.store.forgetting.forgotten([("test", name, "note")]):
                    self.wanted.add(name)
                self._replaces(name, (await here.texts()).get(name), text)
                await here.runtime.ingest.writer.store_one(
                    _draft(name, text), replace=True, even_forgotten=True
                )
            case "turn":
                await here.turn()
            case "deliver":
                self._deliver(there, here, 1)
            case "half":
                self._deliver(there, here, 1, half=True)
            case "twice":
                here.taken.clear()

    async def _write(self, here: Machine, name: str, text: str) -> None:
        before = (await here.texts()).get(name)
        await here.runtime.ingest.writer.take(FILE, Batch(drafts=(_draft(name, text),)))
        if (await here.texts()).get(name) == text:  # else it was forgotten
            self._replaces(name, before, text)

    def _replaces(self, name: str, before: str | None, text: str) -> None:
        self.written[name].add(text)
        if before not in (None, text):
            self.replaced.add(str(before))

    def _deliver(self, source: Machine, target: Machine, most: int, *, half: bool = False) -> None:
        """The last files first, as a sync program may do."""
        there = {each.name for each in source.folder.glob("*.gz")} - source.halves
        names = sorted(there, reverse=True)
        for name in [each for each in names if each not in target.taken][:most]:
            content = (source.folder / name).read_bytes()
            if half:
                content = content[: len(content) // 2]
                target.halves.add(name)
            else:
                target.halves.discard(name)
                target.taken.add(name)
            (target.folder / name).write_bytes(content)
        for gone in {each.name for each in target.folder.glob("*.gz")} - {*names}:
            if (target.folder / gone).name in target.taken:
                (target.folder / gone).unlink()

    async def settle(self) -> None:
        for _ in range(6):
            for which in (0, 1):
                self._deliver(self.machines[1 - which], self.machines[which], 1000)
                await self.machines[which].turn()

    async def check(self) -> None:
        one, other = [await each.lines() for each in self.machines]
        assert one == other, self.steps
        texts = await self.machines[0].texts()
        assert not (self.forgotten - self.stored_again) & texts.keys()
        assert self.wanted <= texts.keys()
        for name, written in self.written.items():
            if name not in self.forgotten:
                assert name in texts
                assert written - self.replaced <= set(texts.values())
                assert texts[name] in written


def _draft(name: str, text: str, **fields: Any) -> Draft:
    return Draft("note", "test", name, text, created_at=1_700_000_000_000, **fields)


async def play(steps: list[Step], folder: Path) -> None:
    async with AsyncExitStack() as stack:
        machines = []
        for name in ("laptop", "desk"):
            (folder / f"{name}-sync").mkdir()
            opened = open_runtime(small(folder / name), background=False)
            runtime = await stack.enter_async_context(opened)
            machines.append(Machine(runtime, folder / f"{name}-sync"))
        both = Both(machines)
        for step in steps:
            both.steps.append(step)
            await both.step(*step)
        await both.settle()
        await both.check()


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
@example([("edit", 0, "a"), ("turn", 0, "a"), ("deliver", 1, "a"), ("turn", 1, "a"),
          ("edit", 0, "a"), ("edit", 1, "a"), ("edit", 1, "a")])  # fmt: skip
@example([("read", 0, "a"), ("read", 1, "a"), ("turn", 0, "a"), ("deliver", 1, "a"),
          ("turn", 1, "a"), ("forget", 0, "a"), ("edit", 1, "a"), ("edit", 1, "a")])  # fmt: skip
@example([("edit", 0, "a"), ("turn", 0, "a"), ("deliver", 1, "a"), ("turn", 1, "a"),
          ("forget", 1, "a"), ("turn", 1, "a"), ("again", 1, "a"), ("edit", 0, "a")])  # fmt: skip
def test_whatever_two_machines_do_they_end_equal(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(steps, Path(folder)))


async def _with_one_file(stack: AsyncExitStack, place: Path) -> tuple[Machine, Machine, Path]:
    """Two machines that share a folder, and the file that the first one has written there."""
    folder = place / "sync"
    laptop, desk = [
        Machine(await stack.enter_async_context(
            open_runtime(small(place / name), background=False)), folder)
        for name in ("laptop", "desk")
    ]  # fmt: skip
    await laptop.runtime.ingest.writer.take(FILE, Batch(drafts=(_draft("a", "otters"),)))
    await laptop.turn()
    (file,) = folder.glob("*.gz")
    return laptop, desk, file


async def test_a_folder_is_not_in_step_while_half_of_a_file_is_missing(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        _, desk, file = await _with_one_file(stack, tmp_path)
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        await desk.turn()
        ((_, _, at, error),) = await desk.runtime.ingest.mirrors.listed()
        assert (at, error) == (None, f"{file.name} is not here as a whole yet")
        file.write_bytes(whole)
        await desk.turn()
        ((_, _, at, error),) = await desk.runtime.ingest.mirrors.listed()
        assert at is not None
        assert not error
        assert await desk.texts() == {"a": "otters"}


async def test_a_machine_writes_its_own_file_again_where_it_was_damaged(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        laptop, desk, file = await _with_one_file(stack, tmp_path)
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        await desk.turn()
        assert await desk.texts() == {}
        await laptop.turn()
        assert not file.exists()
        await desk.turn()
        assert await desk.texts() == {"a": "otters"}
        ((_, _, at, error),) = await desk.runtime.ingest.mirrors.listed()
        assert (at is None, error) == (False, "")
