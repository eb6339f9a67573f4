"""The comparison of systems, and the stored results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from comparison import compare
from dataset import judge
from runs import Run, summarise, write

WANTED = {"right": 1.0}


def answers(*places: int, system: str = "") -> list[Run]:
    """A run a question: the right document in that place of ten, or nowhere (0)."""
    found = []
    for number, place in enumerate(places):
        ranked = [f"{system}{i}" for i in range(1, 11)]
        if place:
            ranked[place - 1] = "right"
        found.append(Run(f"q{number}", tuple(ranked), 1.0 + number, judge(ranked, WANTED)))
    return found


def test_a_system_that_is_better_everywhere_is_told_apart_and_one_that_is_equal_is_not() -> None:
    places = [1, 2, 3, 1, 2, 1, 4, 1, 2, 2]
    compared = compare(
        {
            "grep": answers(*[0] * 10),
            "fts5": answers(*places),
            "hybrid": answers(*places),
            "vector": answers(*[1] * 10),
        }
    )
    verdicts = {
        name: {interval.verdict for interval in figures.values()}
        for name, figures in compared.differences.items()
    }
    assert verdicts == {"grep": {"above"}, "fts5": {"open"}, "vector": {"below", "open"}}
    assert compared.differences["vector"]["recall@10"].verdict == "open"  # all is found by both
    assert compared.systems["fts5"] == compared.systems["hybrid"]


def test_the_json_says_mean_bounds_and_verdict() -> None:
    compared = compare({"grep": answers(0, 0), "hybrid": answers(1, 1)}).as_json()
    assert compared["hybrid - other"]["grep"]["mrr@10"] == {
        "mean": 1.0, "low": 1.0, "high": 1.0, "verdict": "above",
    }  # fmt: skip
    assert compared["systems"]["grep"]["recall@10"] == {"mean": 0.0, "low": 0.0, "high": 0.0}


def test_different_questions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="the same questions"):
        compare({"grep": answers(1), "hybrid": answers(1, 1)})
    with pytest.raises(ValueError, match="hybrid was not asked"):
        compare({"grep": answers(1)})


def test_means_are_over_all_questions() -> None:
    assert summarise(answers(1, 0, 2, 0)) == {
        "recall@5": 0.5,
        "recall@10": 0.5,
        "ndcg@10": round((1 + 0.6309297535714575) / 4, 4),
        "mrr@10": 0.375,
        "p50_ms": 3.0,
        "p95_ms": 4.0,
        "queries": 4,
    }


def test_every_answer_is_a_line_with_its_question_ranking_and_figures(tmp_path: Path) -> None:
    file = tmp_path / "pooled-grep.jsonl"
    write(file, answers(2, 0, system="é"))
    first, second = map(json.loads, file.read_text("utf-8").splitlines())
    assert first == {
        "query": "q0",
        "ranked": ["é1", "right", *(f"é{i}" for i in range(3, 11))],
        "recall@5": 1.0,
        "recall@10": 1.0,
        "ndcg@10": 0.63093,
        "mrr@10": 0.5,
        "ms": 1.0,
    }
    assert (second["query"], second["recall@10"]) == ("q1", 0.0)
