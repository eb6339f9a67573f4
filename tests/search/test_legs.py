"""Legs that need but one read share it; one that is slow is named, and the others answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mem_search.contracts import Question, Reading
from mem_search.errors import StoreDamaged
from mem_search.model import Filters
from mem_search.model.rankings import Ranking
from mem_search.search.legs import run_legs
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.text import words
from mem_search.wiring import Runtime

QUESTION = Question("shared", words.read("shared"), Filters())


class OneRead:
    """A leg that remembers each snapshot that it ``reads``, and how often it ranks alone."""

    scores_early = False
    space = ""

    def __init__(self, name: str, reads: Callable[[SearchSnapshot], Ranking] | None = None) -> None:
        self.name = name
        self.reads = reads or (lambda snapshot: Ranking(name))
        self.seen: list[SearchSnapshot] = []
        self.alone = 0

    async def reading(self, question: Question, depth: int) -> Reading:
        def read(snapshot: SearchSnapshot) -> Ranking:
            self.seen.append(snapshot)
            return self.reads(snapshot)

        return read

    async def rank(self, question: Question, depth: int) -> Ranking:
        self.alone += 1
        return Ranking(self.name)


class Apart(OneRead):
    """A leg that asks more than the store."""

    async def reading(self, question: Question, depth: int) -> None:
        return None


async def test_legs_that_need_one_read_share_it(runtime: Runtime) -> None:
    one, other = OneRead("keyword"), OneRead("vector")
    answers = await run_legs(runtime.search.store, [one, other], QUESTION, 10)
    assert [answer.leg.name for answer in answers] == ["keyword", "vector"]
    assert one.seen == other.seen
    assert (len(one.seen), one.alone, other.alone) == (1, 0, 0)


async def test_a_leg_beside_one_that_asks_more_ranks_by_itself(runtime: Runtime) -> None:
    one, other = OneRead("keyword"), Apart("vector")
    answers = await run_legs(runtime.search.store, [one, other], QUESTION, 10)
    assert [answer.report.state for answer in answers] == ["ok", "ok"]
    assert (one.seen, one.alone, other.alone) == ([], 1, 1)


def _damaged(snapshot: SearchSnapshot) -> Ranking:
    raise StoreDamaged("a page is damaged")


async def test_where_the_shared_read_fails_each_leg_ranks_by_itself(runtime: Runtime) -> None:
    one, other = OneRead("keyword"), OneRead("vector", reads=_damaged)
    answers = await run_legs(runtime.search.store, [one, other], QUESTION, 10)
    assert (one.alone, other.alone) == (1, 1)
    assert [answer.report.state for answer in answers] == ["ok", "ok"]


async def test_a_leg_that_is_too_slow_is_named_and_the_other_answers(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem_search.search.legs._limit", lambda: 0.01)

    class Slow(Apart):
        async def rank(self, question: Question, depth: int) -> Ranking:
            await asyncio.Event().wait()
            raise AssertionError("never")

    one, slow = OneRead("keyword"), Slow("vector")
    keyword, vector = await run_legs(runtime.search.store, [one, slow], QUESTION, 10)
    assert keyword.report.state == "ok"
    assert (vector.report.state, vector.report.detail) == ("failed", "no answer within 0 s")
