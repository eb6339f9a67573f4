"""The step ``m003_changes``."""

from __future__ import annotations

from mem_search.storage.postgres.connection import Connection


def m003_changes(connection: Connection) -> None:
    """Changes are noted once a statement, and not once a row: a batch is stored by one statement.

    The feed is the same: a row for each changed record, and record 0 for a scope.
    """
    connection.execute("drop trigger note_change on records")
    connection.execute("drop trigger note_change on scopes")
    connection.execute("drop function note_change")
    connection.execute("""
        create function note_changes() returns trigger language plpgsql as $$
        begin
            insert into record_changes(record_id) select id from changed;
            return null;
        end $$
    """)
    connection.execute("""
        create function note_scopes() returns trigger language plpgsql as $$
        begin
            insert into record_changes(record_id) select 0 from changed;
            return null;
        end $$
    """)
    for table, function in (("records", "note_changes"), ("scopes", "note_scopes")):
        for event, rows in (("insert", "new"), ("update", "new"), ("delete", "old")):
            connection.execute(
                f"create trigger note_{event} after {event} on {table}"
                f" referencing {rows} table as changed for each statement"
                f" execute function {function}()"
            )
