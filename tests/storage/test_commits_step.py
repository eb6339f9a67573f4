"""The migration that gives commits stored under a root their own id."""

from __future__ import annotations

from old_stores import Old, store_before

from mem_search.storage.sqlite import migrations
from mem_search.storage.sqlite.tombstones import SqliteTombstones

A, B = "4a1ff1a74d212357958be51be6b15edfc2f30cb3", "b2fe8b2c0ffee0ddba11ca5cadedecade0fface5"
STORED = {
    1: ("git", f"{'1' * 12}:{A}"),
    2: ("git", f"{'1' * 12}:{B}"),
    3: ("git", f"{'2' * 12}:{A}"),  # read again under another root
    4: ("jsonl", f"{'1' * 12}:{A}"),
}


def test_a_commit_is_known_by_its_hash_after_the_step() -> None:
    records = [Old("observation", *STORED[n], "Light it", "a lamp") for n in sorted(STORED)]
    with store_before("m009_commits", records) as connection:
        for number, (_, source_id) in STORED.items():
            connection.execute("insert into names values(?, ?)", (f"id:{source_id}", number))
        connection.execute("insert into tombstones values('git', ?, 1)", (f"{'1' * 12}:{B}",))
        migrations.migrate(connection)
        ids = dict(connection.execute("select id, source_id from records").fetchall())
        assert ids == {1: A, 2: B, 3: STORED[3][1], 4: STORED[4][1]}
        names = set(connection.execute("select record_id, name from names").fetchall())
        assert names == {(number, f"id:{source_id}") for number, source_id in ids.items()}
        forgotten = ("git", B, "observation")
        assert SqliteTombstones(connection).times([forgotten]) == {forgotten: 1}
        match = "select rowid from passages_fts where passages_fts match ?"
        assert connection.execute(match, (A,)).fetchall() == [(1,)]
        assert connection.execute(match, (f'"{B[:7]}" *',)).fetchall() == [(2,)]
        connection.execute("insert into passages_fts(passages_fts) values('integrity-check')")
