"""The migration after which passages know what stands above them."""

from __future__ import annotations

from old_stores import Old, store_before

from mem_search.ingest.prepare import prepare
from mem_search.model import Draft
from mem_search.storage.sqlite import migrations
from mem_search.storage.sqlite.record_writer import RecordWriter

TEXT = "# Lamps\n\n" + "The keeper fills the lamp with oil. " * 115


def test_nothing_is_embedded_again_until_a_record_is_read_anew() -> None:
    with store_before("m022_structure", [Old("note", "s", "1", "T", TEXT)]) as connection:
        migrations.migrate(connection)
        assert connection.execute("select count(*) from outbox").fetchone() == (0,)
        (stored,) = RecordWriter(connection).store([prepare(Draft("note", "s", "1", TEXT, "T"))])
        assert stored.outcome == "changed"
        above = "select above from passages where ordinal > 0"
        assert {line for (line,) in connection.execute(above)} == {"# Lamps"}
        connection.execute(
            "insert into passages_fts(passages_fts, rank) values('integrity-check', 1)"
        )
        connection.execute("insert into passages_fts(passages_fts) values('rebuild')")
        match = "select count(*) from passages_fts where passages_fts match 't AND keeper'"
        assert connection.execute(match).fetchone() == (3,)
