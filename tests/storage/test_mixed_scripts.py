"""A store from before words of other scripts were found beside Chinese, Japanese or Korean."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from mem_search.storage.sqlite import migrations

TEXTS = {1: ("", "使用Redis缓存"), 2: ("Redisの設定", "words"), 3: ("", "登录 Redis"), 4: ("", "x")}


def test_they_are_found_after_the_step() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrations.migrate(connection)
        connection.execute("delete from mem_search_migrations where name = 'm008_mixed_scripts'")
        for number, (title, text) in TEXTS.items():
            connection.execute(
                "insert into records(id, kind, source, source_id, created_at, updated_at,"
                " stored_at, content_hash, title, body)"
                " values(?1, 'note', 's', 'id' || ?1, 0, 0, 0, x'00', ?2, ?3)",
                (number, title, text),
            )
            connection.execute(
                "insert into passages(id, record_id, kind, ordinal, field, start, end,"
                " content_hash, parts) values(?1, ?1, 'note', 0, 'content', 0, ?2, x'00', 'old')",
                (number, len(text)),
            )
        connection.execute(
            "insert into passages_fts(rowid, title, text, parts)"
            " select id, title, text, parts from passage_texts"
        )
        migrations.migrate(connection)
        match = "select rowid from passages_fts where passages_fts match ? order by rowid"
        assert connection.execute(match, ("redis",)).fetchall() == [(1,), (2,), (3,)]
        assert connection.execute(match, ("parts : old",)).fetchall() == [(3,), (4,)]
        connection.execute("insert into passages_fts(passages_fts) values('integrity-check')")
