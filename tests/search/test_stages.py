"""The list of stages: names, what can be left out, and what that changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from documented_source import documented_code
from drafts import draft
from mem_search.errors import InputError
from mem_search.model import Link, SearchRequest
from mem_search.search.stage_data import WHOLE
from mem_search.search.stages import STAGES, scoring, stages_without
from mem_search.search.state import LegScores, RankingInput, RankingState, Stage, StageData
from mem_search.settings import Settings
from mem_search.wiring import Runtime, open_runtime
from ranking_states import state
from runtimes import fill


def test_every_stage_has_a_name_of_its_own_and_says_what_it_does() -> None:
    assert len({stage.name for stage in STAGES}) == len(STAGES)
    assert all(stage.summary.endswith(".") for stage in STAGES)


DOCUMENTED: dict[str, Any] = {
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


async def versions(runtime: Runtime) -> list[str]:
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
        assert await versions(runtime) == expected


async def test_the_stage_of_the_document_reads_what_it_declares_in_the_snapshot_of_the_search(
    tmp_path: Path,
) -> None:
    settings = Settings(home=tmp_path, embedder="hashing", chroma_url="off", follow=0)
    own = Stage("linked", DOCUMENTED["linked"], reads=(DOCUMENTED["LINKS"],))
    place = [stage.name for stage in STAGES].index("sort")
    gains = {}
    for stages in (STAGES, (*STAGES[:place], own, *STAGES[place:])):
        async with open_runtime(settings, stages=stages) as runtime:
            await versions(runtime)
            query = SearchRequest("deploy plan", explain=True, fold=False)
            page = await runtime.search.pipeline.search(query)
            gains[stages is STAGES] = {
                result.record.source_id: result.scores.get("linked") for result in page.results
            }
    assert not any(gains[True].values())
    assert gains[False]["new"] == gains[False]["old"] == 1.0  # one supersedes the other


def test_a_stage_sees_nothing_of_what_no_stage_that_runs_declares() -> None:
    given = state(2)
    assert given.stored.of(DOCUMENTED["LINKS"]) == {}
    assert not DOCUMENTED["linked"](given).parts["linked"].any()


async def test_parts_of_a_score_have_the_names_of_stages_or_legs(runtime: Runtime) -> None:
    await versions(runtime)
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
    whole = np.array([1, 3], np.int64)
    given = replace(given, stored=replace(given.stored, values={WHOLE: whole}))
    assert scoring.every_word(given).parts.get("every-word", np.zeros(0)).tolist() == gained
    assert not scoring.every_word(replace(given, legs={"keyword": leg})).parts
