"""The migration that gives stored files their format, and attachments their sender."""

from __future__ import annotations

from old_stores import Old, store_before

from mem_search.storage.sqlite import migrations

RECORDS = (
    Old("email", "mail", "1", "Lease", "attached", data='{"from": "Ann <ann@example.org>"}'),
    Old("file", "mail", "2", "lease.pdf", "words", data='{"path": "lease.pdf"}'),
    Old("file", "files", "3", "page", "words", data='{"media_type": "image/png", "ocr": "x"}'),
    Old("note", "files", "4", "note", "words", data='{"path": "note.md"}'),
)


def test_stored_files_have_their_format_and_attachments_their_sender() -> None:
    with store_before("m018_filetypes", RECORDS) as connection:
        connection.execute(
            "insert into facets(name, value, record_id) values('from', 'ann@example.org', 1)"
        )
        connection.execute(
            "insert into edges(from_id, target, relation, to_id, origin, key, created_at)"
            " values(1, '2', 'attachment', 2, 'given', '', 0)"
        )
        migrations.migrate(connection)
        found = connection.execute(
            "select record_id, value from facets where name = 'filetype' order by 1, 2"
        ).fetchall()
        assert found == [(2, "pdf"), (3, "image"), (3, "png"), (3, "scan")]
        sent = connection.execute("select value, record_id from facets where name = 'from'")
        assert sent.fetchall() == [("ann@example.org", 1), ("ann@example.org", 2)]
