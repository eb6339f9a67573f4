"""The migration that takes the words of the sample out of the suggestions."""

from __future__ import annotations

from old_stores import Old, store_before

from mem_search.storage.sqlite import migrations

RECORDS = (
    Old("file", "sample", "1", "Quay", "harbour pilots"),
    Old("note", "jsonl", "2", "Lamps", "harbour lights"),
)


def test_only_words_of_other_records_are_known_after_the_step() -> None:
    with store_before("m013_people", RECORDS) as connection:
        migrations.migrate(connection)
        known = dict(connection.execute("select term, doc from words").fetchall())
        assert known == {"harbour": 1, "lamps": 1, "lights": 1}
