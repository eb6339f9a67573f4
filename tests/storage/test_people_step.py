"""The migration that finds people, attached files, and words without letters such as ß."""

from __future__ import annotations

from old_stores import Old, store_before

from mem_search.storage.sqlite import migrations

RECORDS = (
    Old("email", "s", "1", "Lamps", "old text", data='{"from": "Ann", "attachments": ["a.pdf"]}'),
    Old("note", "s", "2", "Große Namen", "in der Straße", parts="kept"),
    Old("note", "s", "3", "", "Grosse Strasse", data='{"author": 7, "folder": "ann"}'),
    Old("website", "s", "4", "", "words", data='{"authors": ["Émile", {"name": "Bob"}]}'),
)


def test_what_is_stored_is_found_after_the_step() -> None:
    with store_before("m013_people", RECORDS) as connection:
        migrations.migrate(connection)
        match = "select rowid from passages_fts where passages_fts match ? order by rowid"

        def found(text: str) -> list[int]:
            return [number for (number,) in connection.execute(match, (text,))]

        assert found("ann") == found("people : ann") == [1]
        assert found('"a pdf"') == [1]
        assert found("strasse") == found("grosse") == [2, 3]
        assert found("parts : kept") == [2]
        assert found("emile") == found("people : bob") == [4]
        connection.execute(
            "insert into passages_fts(passages_fts, rank) values('integrity-check', 1)"
        )
