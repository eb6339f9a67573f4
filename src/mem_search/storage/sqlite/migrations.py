"""The schema, as append-only steps ``m001_…``, each in its own transaction with its record.

A step that has landed is never edited: the next change is the next step.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Callable

from mem_search.errors import StorageError

_FOREIGN = (
    "{path} is another program's file (it has {tables}); move it away, or set MEM_SEARCH_HOME"
    " to a folder of our own"
)


def m001_store(connection: sqlite3.Connection) -> None:
    """Records, passages, full text, vectors, graph edges, ledger, tombstones, outbox, jobs."""
    _run(
        connection,
        """
        create table meta(key text primary key, value text not null) without rowid;

        create table records(
            id integer primary key autoincrement,
            kind text not null,
            source text not null,
            source_id text not null,
            project text not null default '',
            session text not null default '',
            position integer not null default 0,
            created_at integer not null,
            updated_at integer not null,
            stored_at integer not null,
            importance real,
            archived integer not null default 0,
            superseded_by integer references records(id) on delete set null,
            content_hash blob not null,
            title text not null default '',
            url text not null default '',
            data text not null default '{}',
            body text not null,
            unique(source, source_id)
        );
        create index records_by_date on records(created_at);
        create index records_by_kind on records(kind, created_at);
        create index records_by_project on records(project, created_at);
        create index records_by_session on records(session, project, kind, position);
        create index records_by_url on records(url) where url != '';

        create table facets(
            name text not null,
            value text not null,
            record_id integer not null references records(id) on delete cascade,
            primary key(name, value, record_id)
        ) without rowid;
        create index facets_by_record on facets(record_id, name);

        create table edges(
            id integer primary key,
            from_id integer not null references records(id) on delete cascade,
            target text not null,
            relation text not null,
            to_id integer references records(id) on delete set null,
            strength real not null default 1.0,
            origin text not null,
            created_at integer not null,
            unique(from_id, target, relation, origin)
        );
        create index edges_by_target on edges(target);
        create index edges_to on edges(to_id);

        create table passages(
            id integer primary key autoincrement,
            record_id integer not null references records(id) on delete cascade,
            kind text not null,
            ordinal integer not null,
            field text not null,
            start integer not null,
            end integer not null,
            page integer,
            content_hash blob not null,
            parts text not null default '',
            unique(record_id, ordinal)
        );
        create index passages_by_hash on passages(content_hash);
        create index passages_by_kind on passages(kind);

        -- The text of a passage is a span of its record, so the two cannot drift apart.
        create view passage_texts as
            select p.id as id, r.title as title,
                   substr(r.body, p.start + 1, p.end - p.start) as text, p.parts as parts
            from passages p join records r on r.id = p.record_id;
        create virtual table passages_fts using fts5(
            title, text, parts,
            content='passage_texts', content_rowid='id',
            tokenize='porter unicode61 remove_diacritics 2'
        );

        create table embedding_models(
            id integer primary key,
            fingerprint text not null unique,
            name text not null,
            dimensions integer not null,
            created_at integer not null
        );
        -- entry_id = 2 * passage + half: a passage longer than the model's window is embedded
        -- as two overlapping halves. Little-endian float16 rows of unit length.
        create table vectors(
            entry_id integer not null,
            model_id integer not null references embedding_models(id) on delete cascade,
            vector blob not null,
            primary key(entry_id, model_id)
        ) without rowid;

        -- What the indexer has still to do; a row goes only when it is done.
        create table outbox(
            passage_id integer primary key,
            step text not null check(step in ('embed', 'index', 'delete'))
        );
        create index outbox_by_step on outbox(step, passage_id);

        create table cursors(
            source text not null,
            location text not null,
            label text not null default '',
            options text not null default '{}',
            cursor text not null default '{}',
            followed integer not null default 0,
            read_at integer not null,
            error text not null default '',
            primary key(source, location)
        ) without rowid;
        create table ledger(
            source text not null,
            location text not null,
            item text not null,
            outcome text not null,
            reason text not null,
            records integer not null,
            at integer not null,
            primary key(source, location, item)
        ) without rowid;
        create table tombstones(
            source text not null,
            source_id text not null,
            forgotten_at integer not null,
            primary key(source, source_id)
        ) without rowid;

        create table jobs(
            id text primary key,
            name text not null,
            params text not null,
            state text not null,
            done integer not null default 0,
            total integer not null default 0,
            message text not null default '',
            result text not null default '{}',
            created_at integer not null,
            started_at integer,
            ended_at integer
        ) without rowid;
        create index jobs_by_date on jobs(created_at);
    """,
    )
    connection.execute("insert into meta values('store_id', ?)", (uuid.uuid4().hex,))


def m002_graph(connection: sqlite3.Connection) -> None:
    """Edges point at names; records have names.

    What was stored before gets the names that SQL can tell: source ids, URLs as they are
    written, commits. Mentions in its texts are found when a record changes.
    """
    _run(
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


def m003_search_log(connection: sqlite3.Connection) -> None:
    """The log of searches, and what completions and spelling are made from.

    ``words_fts`` holds the store's words as they are written, not stemmed as in the index that
    is searched. Triggers keep it in step, so a forgotten record leaves no word behind.
    """
    _run(
        connection,
        """
        create table search_log(
            id integer primary key autoincrement,
            at integer not null,
            query text not null,
            filters text not null,
            mode text not null,
            total integer not null,
            took_ms real not null,
            surface text not null
        );
        create index search_log_by_date on search_log(at);

        create virtual table words_fts using fts5(
            title, body, content='', detail=none, columnsize=0,
            tokenize='unicode61 remove_diacritics 0'
        );
        create virtual table words using fts5vocab('words_fts', 'row');
        create trigger words_learn after insert on records begin
            insert into words_fts(rowid, title, body) values(new.id, new.title, new.body);
        end;
        create trigger words_forget after delete on records begin
            insert into words_fts(words_fts, rowid, title, body)
            values('delete', old.id, old.title, old.body);
        end;
        create trigger words_change after update of title, body on records
        when old.title is not new.title or old.body is not new.body begin
            insert into words_fts(words_fts, rowid, title, body)
            values('delete', old.id, old.title, old.body);
            insert into words_fts(rowid, title, body) values(new.id, new.title, new.body);
        end;
        insert into words_fts(rowid, title, body) select id, title, body from records;

        create index records_by_title on records(title collate nocase) where title != '';
        -- The last part of a path: what remains when everything but slashes is trimmed off.
        create index facets_by_file_name on facets(
            lower(replace(value, rtrim(value, replace(value, '/', '')), ''))
        ) where name in ('file_read', 'file_modified', 'path');
    """,
    )


MIGRATIONS = (m001_store, m002_graph, m003_search_log)


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the steps that this file has not had. Raises StorageError for a foreign file."""
    tables = {name for (name,) in connection.execute("select name from sqlite_master")}
    if tables and "mem_search_migrations" not in tables:
        (path,) = (row[2] for row in connection.execute("pragma database_list") if row[1] == "main")
        raise StorageError(_FOREIGN.format(path=path, tables=", ".join(sorted(tables)[:3])))
    connection.execute(
        "create table if not exists mem_search_migrations(name text primary key, applied_at real)"
    )
    applied = {name for (name,) in connection.execute("select name from mem_search_migrations")}
    unknown = applied - {step.__name__ for step in MIGRATIONS}
    if unknown:
        raise StorageError(
            f"the store was written by a newer mem-search ({max(unknown)}); update mem-search"
        )
    for step in MIGRATIONS:
        if step.__name__ not in applied:
            _apply(connection, step.__name__, step)


def _apply(
    connection: sqlite3.Connection, name: str, step: Callable[[sqlite3.Connection], None]
) -> None:
    connection.execute("begin immediate")
    try:
        # Asked again under the lock: two processes may open a new store at the same moment.
        record = "insert or ignore into mem_search_migrations values(?, ?)"
        if connection.execute(record, (name, time.time())).rowcount:
            step(connection)
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def _run(connection: sqlite3.Connection, script: str) -> None:
    """Execute statement by statement: ``executescript`` would commit the open transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
