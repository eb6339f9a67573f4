"""The step that gave pages their names."""

from __future__ import annotations

import pytest
from old_stores import Old, store_before

from mem_search.storage.sqlite import migrations


@pytest.mark.parametrize(
    "address", ["https://m.example.org/a?utm_source=x", "http://example.org/a"]
)
def test_the_step_gives_pages_their_names_and_leads_waiting_edges_to_them(address: str) -> None:
    old = [Old("note", "t", "n", "", address), Old("website", "t", "w", "", "page")]
    with store_before("m017_archives", old) as connection:
        written = address.partition("://")[2]
        connection.execute(
            "insert into edges(from_id, target, relation, key, origin, created_at)"
            " values(1, ?, 'mentions', ?, 'found', 0)",
            (address, f"url:{written}"),
        )
        connection.execute("insert into names values('url:www.example.org/a/', 2)")
        migrations.migrate(connection)
        assert connection.execute("select key, to_id from edges").fetchall() == [
            ("url:example.org/a", 2)
        ]
        names = {name for (name,) in connection.execute("select name from names")}
        assert {"url:example.org/a", "url:www.example.org/a/"} <= names
