"""The migration that gives records of claude-mem their aliases."""

from __future__ import annotations

from old_stores import Old, store_before

from mem_search.storage.sqlite import migrations

STORED = [
    Old("observation", "claude-mem", "observation:2001", "", "a"),
    Old("session_summary", "claude-mem", "3f2a9c1b:session_summary:12", "", "b"),
    Old("user_prompt", "claude-mem", "user_prompt:7", "", "c"),
    Old("observation", "jsonl", "observation:5", "", "d"),
    Old("observation", "claude-mem", "observation:x", "", "e"),
]


def test_records_of_claude_mem_are_known_by_its_ids_after_the_step() -> None:
    with store_before("m014_aliases", STORED) as connection:
        connection.execute(
            "insert into edges(from_id, target, relation, key, origin, created_at)"
            " values(4, 'cm:2001', 'related', 'id:cm:2001', 'given', 0)"
        )
        migrations.migrate(connection)
        names = connection.execute("select name, record_id from names order by 2").fetchall()
        assert names == [("id:cm:2001", 1), ("id:cm:S12", 2), ("id:cm:P7", 3)]
        assert connection.execute("select to_id from edges").fetchall() == [(1,)]
