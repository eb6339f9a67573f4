"""The line that explains a score."""

from __future__ import annotations

from mem_search.renderers.record_line import explanation, total_scores

SCORES = {
    "keyword": 4.21, "vector": 0.612, "fused": 4.6, "neighbours": 0.3,
    "keyword.rank": 1, "keyword.z": 1.9, "keyword.bonus": 1.0, "keyword.weight": 1.0,
    "vector.z": -1.2, "vector.bonus": 0.0, "vector.weight": 0.4,
}  # fmt: skip


def test_every_leg_and_bonus_is_on_one_line() -> None:
    (line,) = explanation(SCORES)
    assert line == (
        "    why: keyword 4.21 = #1 1×(1.9+1) · vector 0.612 = unranked 0.4×(-1.2+0)"
        " · neighbours +0.3"
    )


def test_scores_that_were_not_taken_apart_say_nothing() -> None:
    assert list(explanation({"keyword": 4.2, "fused": 1.0})) == []


def test_the_parts_of_scores_are_not_scores() -> None:
    assert [name for name, _ in total_scores(SCORES)] == [
        "keyword",
        "vector",
        "fused",
        "neighbours",
    ]
