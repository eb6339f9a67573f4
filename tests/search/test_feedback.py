"""Feedback: results like the best ones gain, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from chosen_store import SERVER
from drafts import draft
from mem_search.contracts import Question
from mem_search.model import Filters, Mode, SearchRequest
from mem_search.model.rankings import Values
from mem_search.retrievers.vector import unit
from mem_search.search import stage_data
from mem_search.search.stages import stages_without
from mem_search.text import words
from mem_search.wiring import Runtime

OTHERS = "kappa lambda sigma omega rho tau phi chi psi upsilon".split()
STORED = (
    draft("best 1", "login login password cookie"),
    draft("best 2", "login login cookie password"),
    draft("alike", "login password cookie kept for a while after that"),
    draft("other", "login theme colours drawn by a nice new designer"),
    *(draft(f"{word}", f"login {word} words without any end") for word in OTHERS),
)


async def gains(runtime: Runtime, mode: Mode = "hybrid") -> dict[str, float]:
    """source_id → what feedback added."""
    page = await runtime.search.pipeline.search(SearchRequest("login", mode=mode))
    return {r.record.source_id: r.scores.get("feedback", 0.0) for r in page.results}


async def test_what_is_like_the_best_answers_gains_more_than_what_is_not(filled: Runtime) -> None:
    found = await gains(filled)
    assert found["alike"] > found["other"]
    assert found["alike"] > 0


async def test_it_is_part_of_the_score(filled: Runtime) -> None:
    page = await filled.search.pipeline.search(SearchRequest("login", explain=True))
    for result in page.results:
        said = result.scores
        parts = [said.get(name, 0.0) for name in ("fused", "feedback", "session", "neighbours")]
        assert result.score == pytest.approx(sum(parts))


@pytest.mark.parametrize("mode", ["keyword", "vector"])
async def test_one_leg_alone_has_no_say_in_what_the_question_meant(
    filled: Runtime, mode: Mode
) -> None:
    assert not any((await gains(filled, mode)).values())


@pytest.mark.parametrize("agreed", [1, 2, 3, 5])
async def test_only_answers_that_both_legs_have_among_their_best_are_followed(
    filled: Runtime, monkeypatch: pytest.MonkeyPatch, agreed: int
) -> None:
    monkeypatch.setattr(stage_data, "FEEDBACK_DEPTH", agreed)
    page = await filled.search.pipeline.search(SearchRequest("login cookie", explain=True))
    so_far = sorted(page.results, key=lambda r: r.scores.get("feedback", 0.0) - r.score)
    ranks = [r.scores.get(f"{leg}.rank", 0) for r in so_far[:2] for leg in ("keyword", "vector")]
    assert any("feedback" in r.scores for r in page.results) == all(0 < n <= agreed for n in ranks)


async def test_two_answers_are_not_both_first(
    filled: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_data, "FEEDBACK_DEPTH", 1)
    assert not any((await gains(filled)).values())


async def test_it_can_be_left_out(filled: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filled.search.pipeline, "_stages", stages_without(["feedback"]))
    assert not any((await gains(filled)).values())


async def test_a_question_is_moved_only_to_what_has_a_vector(filled: Runtime) -> None:
    _, leg = filled.search.pipeline._legs
    question = Question("login", words.read("login"), Filters())
    passages = np.array([1, 2, 3, 4])

    async def scores(*answers: int) -> tuple[Values, Values] | None:
        scorer = await filled.search.store.read(leg.feedback_scorer, question, passages)
        assert scorer is not None
        return scorer(np.array(answers, dtype=np.intp))

    if not SERVER:  # what a file has read of a passage is never read again: as before any score
        filled.search.store.vectors._rows.first[1:2] = 0  # type: ignore[attr-defined]
    await filled.store.database.write(
        lambda c: c.execute("delete from vectors where entry_id in (2, 3)")
    )
    alone, both = await scores(1), await scores(0, 1)
    assert alone is not None
    assert both is not None
    before, after = alone
    assert after[2] - after[3] > before[2] - before[3]
    assert np.isnan(alone).tolist() == [[True, False, False, False]] * 2
    assert np.array(both) == pytest.approx(np.array(alone), nan_ok=True)
    assert await scores(0) is None


@given(arrays.arrays(np.float32, (3, 4), elements=st.floats(-9, 9, width=32)))
def test_unit_vectors_are_one_long_or_nothing(rows: np.ndarray) -> None:  # type: ignore[type-arg]
    lengths = np.linalg.norm(unit(rows), axis=1)
    assert np.isfinite(lengths).all()
    there = np.linalg.norm(rows, axis=1) > 1e-6
    assert lengths[there] == pytest.approx(1.0, abs=1e-4)
