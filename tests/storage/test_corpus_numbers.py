"""The revision and counts of the store, and what they say of the vector index."""

from __future__ import annotations

from chosen_store import in_a_file
from mem_search.model import Draft
from mem_search.wiring import Runtime
from runtimes import fill


@in_a_file("statements of SQLite")
async def test_the_index_is_as_old_as_the_oldest_record_that_waits(runtime: Runtime) -> None:
    await fill(runtime, *(Draft("note", "jsonl", f"n{n}", f"text {n}") for n in range(3)))
    settled = await runtime.store.statistics.corpus()
    assert (settled.waiting, settled.waiting_since) == (0, None)
    await runtime.store.database.write(
        lambda c: c.executescript(
            "update records set stored_at = 1000 * id;"
            "insert into outbox select id, case id when 2 then 'index' else 'embed' end"
            " from passages where id > 1;"
        )
    )
    waiting = await runtime.store.statistics.corpus()
    assert (waiting.waiting, waiting.waiting_since) == (2, 2000)
    assert await runtime.store.statistics.last_indexed() == 1000
