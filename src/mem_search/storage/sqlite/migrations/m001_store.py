"""The step ``m001_store``."""

from __future__ import annotations

import sqlite3
import uuid

from mem_search.storage.sqlite.migrations._script import run


def m001_store(connection: sqlite3.Connection) -> None:
    """Records, passages, full text, vectors, graph edges, ledger, tombstones, outbox, jobs."""
    run(
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
