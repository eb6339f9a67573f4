"""The stages over a real store: which there are, order, marks, folding, totals, paging."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import pytest

from documented_source import documented_code
from drafts import draft
from mem_search.errors import InputError
from mem_search.model import Filters, Link, Mode, Ref, SearchPage, SearchRequest
from mem_search.search.stage_data import COMPLETE_MATCHES
from mem_search.search.stages import STAGES, scoring, stages_without
from mem_search.search.state import LegScores, RankingInput, RankingState, Stage, StageData
from mem_search.settings import Settings
from mem_search.wiring import Runtime, open_runtime
from ranking_states import state
from runtimes import fill, pages

# The list of stages: names, what can be left out, and what that changes.


def test_every_stage_has_a_name_of_its_own_and_says_what_it_does() -> None:
    assert len({stage.name for stage in STAGES}) == len(STAGES)
    assert all(stage.summary.endswith(".") for stage in STAGES)


DOCUMENTED: dict[str, Any] = {
    "Final": Final,
    "Mapping": Mapping,
    "np": np,
    "RankingInput": RankingInput,
    "RankingState": RankingState,
    "StageData": StageData,
}
exec(documented_code("def linked(state: RankingState) -> RankingState:"), DOCUMENTED)


def test_the_order_stays_when_a_stage_is_left_out() -> None:
    left = [stage.name for stage in stages_without(["feedback", "folding"])]
    assert left == [s.name for s in STAGES if s.name not in ("feedback", "folding")]


@pytest.mark.parametrize("name", ["sort", "fused", "no such stage"])
def test_a_required_or_unknown_stage_cannot_be_left_out(name: str) -> None:
    with pytest.raises(InputError, match="can be left out"):
        stages_without([name])


async def replaced_plan(runtime: Runtime) -> list[str]:
    await fill(
        runtime,
        draft("old", "deploy plan deploy plan: copy the files by hand"),
        draft("new", "the deploy plan is a script now", links=(Link("old", "supersedes"),)),
        draft("copy", "the deploy plan is a script now"),
    )
    page = await runtime.search.pipeline.search(SearchRequest("deploy plan", mode="keyword"))
    return [result.record.source_id for result in page.results]


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        ([], ["new", "old"]),
        (["supersession"], ["old", "new"]),
        (["folding"], ["new", "old", "copy"]),
    ],
)
async def test_a_runtime_can_rank_without_a_stage(
    tmp_path: Path, without: list[str], expected: list[str]
) -> None:
    settings = Settings(home=tmp_path, embedder="hashing", chroma_url="off", follow=0)
    stages = stages_without(without)
    async with open_runtime(settings, stages=stages) as runtime:
        assert await replaced_plan(runtime) == expected


async def test_the_stage_of_the_document_reads_what_it_declares_in_the_snapshot_of_the_search(
    tmp_path: Path,
) -> None:
    settings = Settings(home=tmp_path, embedder="hashing", chroma_url="off", follow=0)
    own = Stage("linked", DOCUMENTED["linked"], reads=(DOCUMENTED["SHARED_LINKS"],))
    ours = stages_without(["linked"] if "linked" in (stage.name for stage in STAGES) else [])
    place = [stage.name for stage in ours].index("sort")
    gains = {}
    for stages in (ours, (*ours[:place], own, *ours[place:])):
        async with open_runtime(settings, stages=stages) as runtime:
            await replaced_plan(runtime)
            query = SearchRequest("deploy plan", explain=True, fold=False)
            page = await runtime.search.pipeline.search(query)
            gains[stages is ours] = {
                result.record.source_id: result.scores.get("linked") for result in page.results
            }
    assert not any(gains[True].values())
    assert gains[False]["new"] == gains[False]["old"] == 1.0  # one supersedes the other


def test_a_stage_sees_nothing_of_what_no_stage_that_runs_declares() -> None:
    given = state(2)
    assert given.stored.of(DOCUMENTED["SHARED_LINKS"]) == {}
    assert not DOCUMENTED["linked"](given).parts["linked"].any()


async def test_parts_of_a_score_have_the_names_of_stages_or_legs(runtime: Runtime) -> None:
    await replaced_plan(runtime)
    query = SearchRequest("deploy plan", explain=True, boosts=("recency", "importance"))
    page = await runtime.search.pipeline.search(query)
    names = {name.partition(".")[0] for result in page.results for name in result.scores}
    assert names <= {"keyword", "vector", *(stage.name for stage in STAGES)}


@pytest.mark.parametrize(
    ("text", "gained"),
    [
        ("rate limit", [2.0, 0.0, 2.0]),
        ('"rate limit" nginx', [2.0, 0.0, 2.0]),
        ("limit", []),  # everything that matches has it
        ("the rate limit of nginx upstream", []),  # few records have all of a long question
    ],
)
def test_what_has_every_word_of_a_short_question_gains(text: str, gained: list[float]) -> None:
    leg = LegScores(np.zeros(3), np.zeros(3, np.int64))
    given = state(3, request=SearchRequest(text), legs={"keyword": leg, "vector": leg})
    given = replace(
        given, stored=replace(given.stored, values={COMPLETE_MATCHES: np.array([1, 3], np.int64)})
    )
    assert scoring.every_word(given).parts.get("every-word", np.zeros(0)).tolist() == gained
    assert not scoring.every_word(replace(given, legs={"keyword": leg})).parts


# Stages after fusion over a real store: order, marks, folding, totals, paging.

MODES: tuple[Mode, ...] = get_args(Mode)
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()


def sources(page: SearchPage) -> list[str]:
    return [result.record.source_id for result in page.results]


async def versions(runtime: Runtime) -> None:
    """Three plans, each in place of the one before, and another one."""
    await fill(
        runtime,
        draft("v1", "deploy plan deploy plan: copy the files by hand"),
        draft("v2", "the deploy plan is a script now", links=(Link("v1", "supersedes"),)),
        draft("v3", "to deploy, the plan is a pipeline", links=(Link("v2", "supersedes"),)),
        draft("x", "deploy plan of another thing"),
    )


@pytest.mark.parametrize("mode", MODES)
async def test_a_successor_comes_above_the_superseded_record_and_both_are_marked(
    runtime: Runtime, mode: Mode
) -> None:
    await versions(runtime)
    page = await runtime.search.pipeline.search(SearchRequest("deploy plan", mode=mode))
    found = sources(page)
    assert [source for source in found if source.startswith("v")] == ["v3", "v2", "v1"]
    by = {result.record.source_id: result for result in page.results}
    assert by["v1"].record.superseded_by == by["v2"].record.ref
    assert by["v2"].record.supersedes == (by["v1"].record.ref,)
    assert by["v3"].record.superseded_by is None
    assert by["x"].record.superseded_by is None
    scores = [result.score for result in page.results]
    assert scores == sorted(scores, reverse=True)


async def test_what_a_record_gained_by_supersession_is_among_its_scores(runtime: Runtime) -> None:
    await versions(runtime)
    page = await runtime.search.pipeline.search(
        SearchRequest("deploy plan", mode="keyword", explain=True)
    )
    best = page.results[0]
    assert best.record.source_id == "v3"
    said = best.scores
    assert said["supersession"] > 0
    assert best.score == pytest.approx(said["fused"] + said["supersession"])


async def test_a_successor_that_does_not_match_is_named_and_not_counted(runtime: Runtime) -> None:
    await fill(
        runtime,
        draft("old", "install with the setup script"),
        draft("new", "qqq www eee", links=(Link("old", "supersedes"),)),
    )
    page = await runtime.search.pipeline.search(SearchRequest("setup script"))
    assert (sources(page), page.total) == (["old"], 1)
    assert page.results[0].record.superseded_by == Ref("note", 2)


@pytest.mark.parametrize("mode", MODES)
async def test_is_superseded_is_a_filter_like_others(runtime: Runtime, mode: Mode) -> None:
    await versions(runtime)
    for text, expected in (
        ("deploy is:superseded", {"v1", "v2"}),
        ("deploy -is:superseded", {"v3", "x"}),
        ("deploy is:current", {"v3", "x"}),
    ):
        page = await runtime.search.pipeline.search(SearchRequest(text, mode=mode))
        assert set(sources(page)) == expected
        assert page.total == len(expected)
    browsed = await runtime.search.pipeline.search(SearchRequest("is:superseded"))
    assert set(sources(browsed)) == {"v1", "v2"}


async def test_near_duplicates_stand_under_the_best_and_still_count(runtime: Runtime) -> None:
    await fill(
        runtime,
        *(draft(f"same{n}", "the token is refreshed too late") for n in range(4)),
        draft("mail", "the token is refreshed too late", kind="email"),
        draft("other", "another token of another kind"),
    )
    query = SearchRequest("token refreshed")
    for mode in MODES:
        page = await runtime.search.pipeline.search(replace(query, mode=mode))
        assert set(sources(page)) >= {"same0", "mail"}
        assert page.results[0].similar == tuple(Ref("note", number) for number in (2, 3, 4))
        assert page.folded == 3
        assert page.total == sum(page.counts.values()) == len(page.results) + 3
        unfolded = await runtime.search.pipeline.search(replace(query, mode=mode, fold=False))
        assert (unfolded.total, unfolded.folded) == (page.total, 0)
        assert len(unfolded.results) == unfolded.total


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [7, 100])
async def test_pages_fold_alike_and_together_name_every_match_once(
    runtime: Runtime, mode: Mode, limit: int
) -> None:
    made = [
        draft(
            f"r{n}",
            f"shared {' '.join(WORDS[(n % 60 * 7 + i * i) % 10] for i in range(3 + n % 60 % 9))}",
            kind=("note", "memory")[n % 60 % 2],
        )
        for n in range(330)
    ]
    await fill(runtime, *made)
    found = await pages(
        runtime.search.pipeline, SearchRequest("shared alpha gamma", mode=mode, limit=limit)
    )
    named = [
        number
        for page in found
        for result in page.results
        for number in (result.record.number, *(ref.number for ref in result.similar))
    ]
    assert len(set(named)) == len(named)
    assert {page.total for page in found} == {len(named)}
    (folded,) = {page.folded for page in found}
    assert folded > 100
    assert sum(len(page.results) for page in found) == len(named) - folded
    assert all(len(page.results) == limit for page in found[:-2])


async def test_pages_behind_the_fused_hits_are_full_though_many_are_folded(
    runtime: Runtime,
) -> None:
    made = [draft(f"n{n}", f"deploy {WORDS[n % 10]} " * (1 + n % 3)) for n in range(700)]
    made += [draft(f"o{n}", f"deploy once in a while, for the {n}th time") for n in range(300)]
    await fill(runtime, *made)
    found = await pages(runtime.search.pipeline, SearchRequest("deploy", limit=50, mode="keyword"))
    assert all(len(page.results) == 50 for page in found[:-2])
    named = [
        number
        for page in found
        for result in page.results
        for number in (result.record.number, *(ref.number for ref in result.similar))
    ]
    assert sorted(named) == list(range(1, 1001))


async def test_per_session_limits_the_results_of_a_session(runtime: Runtime) -> None:
    await fill(
        runtime,
        *(draft(f"a{n}", f"login login {WORDS[n]}", session="a") for n in range(6)),
        *(draft(f"b{n}", f"login and what {WORDS[n]} is not", session="b") for n in range(2)),
        draft("c", "login is a word among very many others that stand here for no reason"),
    )
    query = SearchRequest("login", mode="keyword")
    plain = await runtime.search.pipeline.search(query)
    spread = await runtime.search.pipeline.search(replace(query, per_session=2))
    assert {source[0] for source in sources(plain)[:6]} == {"a"}
    assert [source[0] for source in sources(spread)] == ["a", "a", "b", "b", "c", *"aaaa"]
    assert spread.total == plain.total
    split = await pages(runtime.search.pipeline, replace(query, per_session=2, limit=4))
    assert list(itertools.chain.from_iterable(map(sources, split))) == sources(spread)


async def test_boosts_count_only_on_request_and_are_explained(
    runtime: Runtime,
) -> None:
    day = 86_400_000
    await fill(
        runtime,
        draft("old", "login works here", created_at=day, importance=0.0),
        draft("new", "login works here, too", created_at=400 * day, importance=1.0),
        *(draft(f"x{n}", f"nothing {n}", created_at=day) for n in range(5)),
    )
    plain = await runtime.search.pipeline.search(SearchRequest("login works"))
    assert not {"recency", "importance"} & {name for r in plain.results for name in r.scores}
    query = SearchRequest("login works", boosts=("recency", "importance"))
    boosted = await runtime.search.pipeline.search(query)
    by = {result.record.source_id: result for result in boosted.results}
    assert by["new"].scores["recency"] > by["old"].scores["recency"]
    assert by["new"].scores["importance"] == -by["old"].scores["importance"] == 0.5
    gained = {result.record.source_id: result.score for result in plain.results}
    for source, result in by.items():
        added = result.scores["recency"] + result.scores["importance"]
        assert result.score == pytest.approx(gained[source] + added)


async def test_a_current_record_does_not_hide_under_a_superseded_one(runtime: Runtime) -> None:
    text = "how to reach the staging machine by the old tunnel"
    await fill(
        runtime,
        draft("old", text),
        draft("copy", text),
        draft("new", "staging has no tunnel", links=(Link("old", "supersedes"),)),
    )
    page = await runtime.search.pipeline.search(SearchRequest("staging machine tunnel", Filters()))
    assert sorted(sources(page)) == ["copy", "new", "old"]
    assert sources(page).index("new") < sources(page).index("old")
