"""Give the records of a store new attributes, so that every sort of filter has every share.

Records keep their words, vectors and numbers. Kind, type and tag are drawn by chance, so they are
independent of the queries. Projects and dates go with topics: a new project is a run of whole old
ones, and a date range is the newest records.
"""

from __future__ import annotations

import random
import sqlite3
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path

SHARES = (0.5, 0.15, 0.01, 0.001)
KINDS = ("observation", "session_summary", "memory", "report")
"""The kinds that have those shares, in that order; all other records are notes."""

OTHER_KIND = "note"
_SEED = 11


def file_anew(home: Path) -> dict[str, dict[float, Mapping[str, object]]]:
    """filter → share → the parameters of a search with that filter.

    Changes the store in ``home``: pass a copy.
    """
    store = sqlite3.connect(home / "mem-search.db")
    numbers = [number for (number,) in store.execute("select id from records order by id")]
    chance = random.Random(_SEED)
    with store:
        store.executemany(
            "update records set kind = ? where id = ?",
            _drawn(chance, numbers, KINDS, OTHER_KIND),
        )
        store.execute(
            "update passages set kind = (select kind from records where id = passages.record_id)"
        )
        store.executemany(
            "update records set project = ? where id = ?",
            _in_runs(store, _names("project"), "another"),
        )
        store.execute("delete from facets where name in ('type', 'tag')")
        for name in ("type", "tag"):
            store.executemany(
                "insert into facets(name, value, record_id) values (?, ?, ?)",
                [
                    (name, value, number)
                    for value, number in _drawn(chance, numbers, _names(name), "another")
                ],
            )
    dates = {share: {"dateStart": _newest(store, len(numbers), share)} for share in SHARES}
    store.execute("pragma wal_checkpoint(truncate)")
    store.close()
    return {
        "project": _by_share("project", _names("project")),
        "kind": _by_share("types", KINDS),
        "type": _by_share("type", _names("type")),
        "tag": _by_share("tags", _names("tag")),
        "date": dates,
    }


def _drawn(
    chance: random.Random, numbers: list[int], values: tuple[str, ...], other: str
) -> list[tuple[str, int]]:
    drawn = chance.choices((*values, other), (*SHARES, 1 - sum(SHARES)), k=len(numbers))
    return list(zip(drawn, numbers, strict=True))


def _in_runs(
    store: sqlite3.Connection, values: tuple[str, ...], other: str
) -> list[tuple[str, int]]:
    """Give each value its share of the records, in runs of projects."""
    rows = store.execute("select id from records order by project, id").fetchall()
    ends = [round(len(rows) * share) for share in accumulate(SHARES)]
    names = [*values, other]
    return [(names[bisect_right(ends, place)], number) for place, (number,) in enumerate(rows)]


def _names(sort: str) -> tuple[str, ...]:
    return tuple(f"{sort}-{share:.1%}" for share in SHARES)


def _by_share(parameter: str, values: tuple[str, ...]) -> dict[float, Mapping[str, object]]:
    return {share: {parameter: value} for share, value in zip(SHARES, values, strict=True)}


def _newest(store: sqlite3.Connection, records: int, share: float) -> int:
    """The date since which there are that many records."""
    (at,) = store.execute(
        "select created_at from records order by created_at desc limit 1 offset ?",
        (round(records * share) - 1,),
    ).fetchone()
    return int(at)
