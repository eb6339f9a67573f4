"""The statistics as people read them, on a terminal with bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mem_search.text.counted import counted

_OUTCOMES: Final = {"taken": "read", "left": "left out", "failed": "could not be read"}
MONTHS: Final = 12
"""Months of the picture."""


def picture(kinds: Mapping[str, int], months: Mapping[str, int], width: int) -> Iterator[str]:
    """Bars of the records by kind, and by month of the last year, at most ``width`` columns."""
    by_kind = {name: count for name, count in kinds.items() if name != "total" and count}
    by_month = {month: months.get(month, 0) for month in _last_months(max(months, default=""))}
    for counts in (by_kind, by_month):
        names, most = max(map(len, counts), default=0), max(counts.values(), default=0)
        room = width - names - 12
        for name, count in counts.items():
            bar = "█" * (max(1, round(count / most * room)) if count else 0)
            yield f"{name:<{names}}  {count:>8}  {bar}".rstrip()
        if counts:
            yield ""


def _last_months(newest: str) -> list[str]:
    """The ``MONTHS`` months up to ``newest``, such as ``2026-03``; empty ones are among them."""
    if not newest:
        return []
    year, month = map(int, newest.split("-"))
    numbers = range(year * 12 + month - MONTHS, year * 12 + month)
    return [f"{number // 12:04}-{number % 12 + 1:02}" for number in numbers]


def stats_lines(
    stats: Mapping[str, Any], clock: Callable[[str], str], *, kinds: bool = True
) -> Iterator[str]:
    """The statistics as people read them; without ``kinds`` where a picture shows these. ``clock``
    writes a time.
    """
    records: Mapping[str, int] = stats["records"]
    yield counted(records["total"], "record")
    for kind, count in records.items():
        if kind != "total" and (kinds or kind in stats["missing_kinds"]):
            missing = " (not installed)" if kind in stats["missing_kinds"] else ""
            yield f"  {count:>9}  {kind}{missing}"
    if stats.get("first"):
        first, last = (clock(stats[each])[:10] for each in ("first", "last"))
        yield f"from {first} to {last}"
    yield from (f"left out: {each}" for each in stats["broken_plugins"])
    yield from index_lines(stats)
    yield "sources"
    for known in stats["sources"]:
        fresh = "followed" if known["followed"] else "read once"
        problem = f"  FAILED: {known['error']}" if known["error"] else ""
        when = f"{fresh}, {clock(known['read_at'])}"
        yield f"  {known['source']}  {known['path']}  ({when}){problem}"
    if not stats["sources"]:
        yield "  none yet; run: mem-search sync"
    yield from ["what was read"] if stats["ledger"] else []
    for source, counts in stats["ledger"].items():
        outcomes = ", ".join(
            f"{count} {_OUTCOMES.get(outcome, outcome)}" for outcome, count in counts.items()
        )
        yield f"  {source}: {outcomes}"
    yield _database_line(stats["database"])
    kept = stats["transcripts"]
    if kept["on"] or kept["files"]:
        problem = f"  FAILED: {kept['error']}" if kept["error"] else ""
        size = kept["bytes"] / 2**20
        yield f"transcripts of agents kept: {kept['files']} ({size:.1f} MB){problem}"


def _database_line(database: Mapping[str, Any]) -> str:
    size, free = database["bytes"] / 2**20, database["free"] / 2**20
    unused = f", {free:.1f} MB of it free: mem-search purge gives them back" if free >= 1 else ""
    return f"database {database['path']} ({size:.1f} MB{unused})"


def index_facts(stats: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The part of ``stats`` that concerns the vector index."""
    for name in ("passages", "embedded", "indexed", "embedding_coverage", "outbox", "index"):
        yield name, stats[name]
    yield "embedder", stats["embedder"]["name"]


def index_lines(stats: Mapping[str, Any]) -> Iterator[str]:
    """The state of the vector index; the percentage is rounded down."""
    share = int(stats["embedding_coverage"] * 100)
    yield f"index {share}%: {stats['indexed']} of {stats['passages']} passages"
    state, detail = stats["index"]["state"], stats["index"]["detail"]
    yield f"  {state}{f': {detail}' if detail else ''}; vectors by {stats['embedder']['name']}"
    if error := stats["embedder"]["error"]:
        yield f"  no new vectors: {error}"
    if (made := stats["sparse"])["state"] == "filling":
        why = f": {made['error']}" if made["error"] else ""
        yield f"  sparse vectors of {made['passages']} of {made['wanted']} passages{why}"
    if beside := stats["embedder"].get("beside"):
        yield f"  also stored, not searched: vectors by {', '.join(beside)}; see: mem-search jobs"
