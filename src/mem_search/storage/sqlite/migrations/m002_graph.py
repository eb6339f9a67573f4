"""The step ``m002_graph``."""

from __future__ import annotations

import sqlite3

from mem_search.storage.sqlite.migrations._script import run


def m002_graph(connection: sqlite3.Connection) -> None:
    """Edges point at names; records have names.

    What was stored before gets the names that SQL can tell: source ids, URLs as they are
    written, commits. Mentions in its texts are found when a record changes.
    """
    run(
        connection,
        """
        alter table edges add column key text not null default '';
        create table names(
            name text not null,
            record_id integer not null references records(id) on delete cascade,
            primary key(name, record_id)
        ) without rowid;
        create index names_by_record on names(record_id);

        insert into names select 'id:' || source_id, id from records;
        insert or ignore into names
            select 'url:' || rtrim(substr(url, instr(url, '://') + 3), '/'), id from records
            where url like 'http%://%';
        insert or ignore into names
            select 'commit:' || lower(value), record_id from facets where name = 'commit';
        update edges set key = case
            when target like 'http%://%'
                then 'url:' || rtrim(substr(target, instr(target, '://') + 3), '/')
            when target glob '[a-z]*:[0-9]*' and target not glob '*[^a-z_:0-9]*'
                then 'ref:' || replace(target, 'local:', '')
            else 'id:' || target end;
        update edges set to_id = (
            select n.record_id from names n where n.name = edges.key
            and n.record_id != edges.from_id order by n.record_id limit 1)
        where key not like 'ref:%';
        update edges set to_id = (
            select r.id from records r where 'ref:' || r.kind || ':' || r.id = edges.key
            and r.id != edges.from_id)
        where key like 'ref:%';

        drop index edges_by_target;
        create index edges_by_key on edges(key);
    """,
    )
