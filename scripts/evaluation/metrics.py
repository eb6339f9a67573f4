"""Recall, nDCG and MRR of one ranked list; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def recall(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    return sum(1 for item in ranked[:k] if item in relevant) / len(relevant)


def ndcg(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    gain = sum(relevant.get(item, 0.0) / math.log2(i + 2) for i, item in enumerate(ranked[:k]))
    ideal = sum(g / math.log2(i + 2) for i, g in enumerate(sorted(relevant.values())[::-1][:k]))
    return gain / ideal


def mrr(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    return next((1 / (i + 1) for i, item in enumerate(ranked[:k]) if item in relevant), 0.0)


def summarise(
    runs: Sequence[tuple[Sequence[str], Mapping[str, float], float]],
) -> dict[str, float]:
    """Means over (ranked ids, relevant, milliseconds) of every query."""
    count = max(1, len(runs))
    times = sorted(ms for _, _, ms in runs) or [0.0]
    return {
        "recall@5": round(sum(recall(r, rel, 5) for r, rel, _ in runs) / count, 4),
        "recall@10": round(sum(recall(r, rel, 10) for r, rel, _ in runs) / count, 4),
        "ndcg@10": round(sum(ndcg(r, rel, 10) for r, rel, _ in runs) / count, 4),
        "mrr@10": round(sum(mrr(r, rel, 10) for r, rel, _ in runs) / count, 4),
        "p50_ms": round(times[len(times) // 2], 2),
        "p95_ms": round(times[min(len(times) - 1, int(len(times) * 0.95))], 2),
        "queries": len(runs),
    }
