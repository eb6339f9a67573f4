"""What it takes to store or remove some records does not grow with the store.

SQLite counts: it calls back after so many steps of its virtual machine, whatever the machine does.
A statement for which its planner takes a wrong index looks through the whole store.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import drafts
from drafts import store
from mem_search.model import Draft, Link
from mem_search.storage.sqlite.database import Connection, Database
from mem_search.storage.sqlite.records import RecordWriter

SIZES = (100, 1500)
WRITTEN = 50
_STEPS = 20
"""Steps between two calls of SQLite; what takes fewer is too little to matter."""


def item(number: int, text: str = "words") -> Draft:
    """A record with names, tags, a link to another one, and links that wait."""
    return drafts.draft(
        f"{number}",
        f"{text} of {number}: fixes #{number + 9000} in src/f{number}.py, see {number:07x}abcdef",
        title=f"title {number}",
        project=f"p{number % 5}",
        session=f"s{number // 10}",
        kind="memory" if number % 2 else "note",
        tags=(f"t{number % 7}",),
        links=(Link(f"elsewhere:{number}", "mentions"), Link(f"test:{number + 1}", "follows")),
    )


def steps(connection: Connection, work: Callable[[Connection], object]) -> int:
    """How many steps of SQLite ``work`` takes, in units of ``_STEPS``."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    connection.set_progress_handler(count, _STEPS)
    try:
        work(connection)
    finally:
        connection.set_progress_handler(None, 0)
    return counted


async def test_writing_takes_as_many_steps_in_a_large_store(tmp_path: Path) -> None:
    found: list[dict[str, int]] = []
    for size in SIZES:
        database = await Database.open(tmp_path / f"{size}" / "mem-search.db")
        await database.write(store, *map(item, range(size)))
        new = [item(number) for number in range(10_000, 10_000 + WRITTEN)]
        changed = [item(number, "other words") for number in range(WRITTEN)]
        gone = list(range(WRITTEN, 2 * WRITTEN))
        found.append(
            {
                "new": await database.write(steps, lambda c, of=new: store(c, *of)),
                "changed": await database.write(steps, lambda c, of=changed: store(c, *of)),
                "removed": await database.write(
                    steps, lambda c, of=gone: RecordWriter(c).remove(of, forget=True)
                ),
            }
        )
        await database.close()
    small, large = found
    for name, count in small.items():
        assert large[name] <= 1.25 * count, f"{name}: {count} became {large[name]}"
