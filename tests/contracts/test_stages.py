"""Ranking stages of packages: every way to use them, and none to break a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from drafts import draft
from mem_search.model import Hit, SearchPage, SearchRequest
from mem_search.search.stages import ENTRY_POINTS, STAGES, contained, with_entry_points
from mem_search.search.state import RankingInput, RankingState, Stage, StageData
from mem_search.wiring import Runtime, open_runtime
from ranking_states import state
from runtimes import fill, small

MODULE = "a_package_with_stages"


def titles(given: RankingInput) -> Mapping[int, int]:
    records = given.snapshot.records(given.union.records.tolist())
    return {number: len(record.title) for number, record in records.items()}


TITLES: StageData[Mapping[int, int]] = StageData("title lengths", titles, {})


def long_titles(given: RankingState) -> RankingState:
    """Raises records with long titles."""
    lengths = given.stored.of(TITLES)
    gained = [float(lengths[number]) for number in given.union.records.tolist()]
    return given.added("long-titles", np.array(gained))


def reversed_hits(given: RankingState) -> RankingState:
    """Turns the order around."""
    return given.ordered(given.hits[::-1])


def broken(given: RankingState) -> RankingState:
    """Fails."""
    raise KeyError("a bug")


def unreadable(given: RankingInput) -> Any:
    raise ZeroDivisionError("a bug while reading")


LONG = Stage("long-titles", long_titles, reads=(TITLES,))
LAST = Stage("last-first", reversed_hits, after="monotonic-scores")
BROKEN = Stage("broken", broken)
UNREAD = Stage("unread", long_titles, reads=(StageData("bad", unreadable, {}),))


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType(MODULE)
    monkeypatch.setitem(__import__("sys").modules, MODULE, module)
    return module


def entry(package: ModuleType, found: object) -> EntryPoint:
    package.found = found  # type: ignore[attr-defined]
    return EntryPoint("acme", f"{MODULE}:found", ENTRY_POINTS)


def test_a_stage_of_a_package_stands_where_it_says(package: ModuleType) -> None:
    for stage, before in ((LONG, "certainty"), (LAST, "monotonic-scores")):
        found = with_entry_points([entry(package, stage)])
        names = [each.name for each in found.stages]
        assert names[names.index(stage.name) - 1] == before
        assert found.stages[names.index(stage.name)].summary == stage.summary
        assert found.broken == ()
        assert [each for each in found.stages if each.name != stage.name] == [*STAGES]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (long_titles, "is not a mem_search.search.state.Stage"),
        (replace(LONG, name="Long titles"), "is not lower-case letters"),
        (replace(LONG, name="sort"), "there is a stage or leg sort already"),
        (replace(LONG, name="vector"), "there is a stage or leg vector already"),
        (replace(LONG, after="nothing"), "there is no stage 'nothing'"),
        (replace(LONG, required=True), "neither required nor"),
        (replace(LONG, option="fold"), "neither required nor"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_named(
    package: ModuleType, found: object, reason: str
) -> None:
    installed = with_entry_points([entry(package, found)])
    assert installed.stages == STAGES
    (said,) = installed.broken
    assert "entry point 'acme' cannot be loaded" in said
    assert reason in said
    missing = EntryPoint("acme", "no_such_module:STAGE", ENTRY_POINTS)
    assert "No module named" in with_entry_points([missing]).broken[0]


@pytest.mark.parametrize(
    "apply",
    [
        broken,
        lambda given: None,
        lambda given: given.added("bad", np.array([1.0])),
        lambda given: given.added("bad", np.full(3, np.nan)),
        lambda given: given.added("bad", np.full(3, np.inf)),
        lambda given: given.ordered([Hit(9, 0.0)]),
        lambda given: given.ordered([*given.hits, *given.hits]),
    ],
)
def test_a_stage_that_breaks_the_contract_changes_nothing_and_is_named(
    apply: Callable[[RankingState], RankingState],
) -> None:
    before = state(3, hits=[Hit(1, 2.0), Hit(2, 1.0)])
    after = contained(Stage("bad", apply)).apply(before)
    (report,) = after.reports
    assert (report.name, report.state) == ("bad", "degraded")
    assert replace(after, reports=()) == before or after.hits == before.hits
    assert after.parts == before.parts


def test_nothing_counts_but_the_score_under_its_name_and_the_hits() -> None:
    before = state(2, hits=[Hit(1, 2.0), Hit(2, 1.0)], parts={"fused": [2.0, 1.0]})

    def greedy(given: RankingState) -> RankingState:
        cut = replace(given, matched=np.zeros(2, np.bool_), weaker=7, is_answered=False)
        return cut.added("fused", np.zeros(2)).added("greedy", np.ones(2)).ordered(given.hits[1:])

    after = contained(Stage("greedy", greedy)).apply(before)
    assert after.parts["fused"].tolist() == [2.0, 1.0]
    assert after.parts["greedy"].tolist() == [1.0, 1.0]
    assert [hit.number for hit in after.hits] == [2]
    assert (after.matched, after.weaker, after.is_answered) == (None, 0, True)


async def asked(runtime: Runtime) -> SearchPage:
    query = SearchRequest("harbour", explain=True)
    return await runtime.search.service.search(query, "")


async def test_a_search_ranks_with_it_and_goes_on_without_one_that_fails(
    tmp_path: Path, package: ModuleType
) -> None:
    orders, pages = [], []
    for stages in ((LONG,), (LONG, LAST), (BROKEN, UNREAD)):
        found = STAGES
        for stage in stages:
            (own,) = set(with_entry_points([entry(package, stage)]).stages) - set(STAGES)
            names = [each.name for each in found]
            place = names.index(stage.after) + 1 if stage.after else names.index("sort")
            found = (*found[:place], own, *found[place:])
        async with open_runtime(small(tmp_path / "home"), stages=found) as runtime:
            if not orders:
                short = draft("short", "the harbour at night", title="A")
                await fill(runtime, short, draft("long", "the harbour by day", title="B" * 90))
            page = await asked(runtime)
        pages.append(page)
        orders.append([result.record.source_id for result in page.results])
    assert orders[0] == ["long", "short"]
    assert pages[0].results[0].scores["long-titles"] == 90
    assert orders[1] == ["short", "long"]
    assert len(orders[2]) == 2
    told = {leg.name: (leg.state, leg.detail) for leg in pages[2].report.legs}
    assert told["broken"][0] == told["unread"][0] == "degraded"
    assert "a bug while reading" in told["unread"][1]
