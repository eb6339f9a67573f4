"""The migration that indexes words of other scripts beside Chinese, Japanese or Korean."""

from __future__ import annotations

from old_stores import Old, store_before

from mem_search.storage.sqlite import migrations

TEXTS = {1: ("", "使用Redis缓存"), 2: ("Redisの設定", "words"), 3: ("", "登录 Redis"), 4: ("", "x")}


def test_they_are_found_after_the_step() -> None:
    records = [Old("note", "s", f"id{number}", *TEXTS[number], "old") for number in sorted(TEXTS)]
    with store_before("m008_mixed_scripts", records) as connection:
        migrations.migrate(connection)
        match = "select rowid from passages_fts where passages_fts match ? order by rowid"
        assert connection.execute(match, ("redis",)).fetchall() == [(1,), (2,), (3,)]
        assert connection.execute(match, ("parts : old",)).fetchall() == [(3,), (4,)]
        connection.execute("insert into passages_fts(passages_fts) values('integrity-check')")
