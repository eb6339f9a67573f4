"""Recall, nDCG and MRR of one ranked list, and their means over many; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

METRICS = ("recall@5", "recall@10", "ndcg@10", "mrr@10")


def recall(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    return sum(1 for item in ranked[:k] if item in relevant) / len(relevant)


def ndcg(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    gain = sum(relevant.get(item, 0.0) / math.log2(i + 2) for i, item in enumerate(ranked[:k]))
    ideal = sum(g / math.log2(i + 2) for i, g in enumerate(sorted(relevant.values())[::-1][:k]))
    return gain / ideal


def mrr(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    return next((1 / (i + 1) for i, item in enumerate(ranked[:k]) if item in relevant), 0.0)


def judge(ranked: Sequence[str], relevant: Mapping[str, float]) -> dict[str, float]:
    """Every one of ``METRICS`` for one query."""
    return {
        "recall@5": recall(ranked, relevant, 5),
        "recall@10": recall(ranked, relevant, 10),
        "ndcg@10": ndcg(ranked, relevant, 10),
        "mrr@10": mrr(ranked, relevant, 10),
    }
