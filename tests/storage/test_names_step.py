"""The migration that makes names of people words of the store."""

from __future__ import annotations

from old_stores import Old, store_before

from mem_search.storage.sqlite import migrations

RECORDS = (
    Old("email", "s", "1", "Lamps", "old text", data='{"from": "Ann Lee"}'),
    Old("note", "s", "2", "Names", "Lee wrote"),
)


def test_the_names_of_what_is_stored_are_known_after_the_step() -> None:
    with store_before("m013_people", RECORDS) as connection:
        migrations.migrate(connection)
        known = "select term, doc from known_words where term in ('ann', 'lee', 'wrote') order by 1"
        assert connection.execute(known).fetchall() == [
            ("ann", 1),
            ("lee", 1),
            ("lee", 1),
            ("wrote", 1),
        ]
