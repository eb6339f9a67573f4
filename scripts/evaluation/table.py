"""The report of an evaluation as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from comparison import OURS, Comparison

COLUMNS = ("recall@5", "recall@10", "ndcg@10", "mrr@10", "p50_ms", "p95_ms")
_SAID = {"above": "better", "below": "WORSE", "open": "not told apart"}


def show(report: Mapping[str, Any], compared: Mapping[str, Comparison]) -> None:
    """One row a system and scope; below it, on request, the interval of each figure."""
    print(f"\n{report['dataset']} {report['qrels']} ({report['documents']} documents)")
    width = max(map(len, ["keyword", *report["modes"]])) + 1
    for scope, modes in ((report["scope"], report["modes"]), ("pooled", report.get("pooled", {}))):
        for mode, figures in modes.items():
            cells = "  ".join(f"{name} {figures[name]:>7.3f}" for name in COLUMNS)
            print(f"  {scope:7} {mode:{width}} {cells}")
        if modes and scope in compared:
            _show_intervals(compared[scope])


def _show_intervals(comparison: Comparison) -> None:
    width = len(f"{OURS} - ") + max(map(len, comparison.systems))
    for name, figures in comparison.systems.items():
        cells = "  ".join(
            f"{m} {i.mean:.3f} [{i.low:.3f}, {i.high:.3f}]" for m, i in figures.items()
        )
        print(f"    {name:{width}} {cells}")
    for name, figures in comparison.differences.items():
        cells = "  ".join(
            f"{metric} {i.mean:+.3f} [{i.low:+.3f}, {i.high:+.3f}] {_SAID[i.verdict]:14}"
            for metric, i in figures.items()
        )
        print(f"    {OURS + ' - ' + name:{width}} {cells.rstrip()}")
