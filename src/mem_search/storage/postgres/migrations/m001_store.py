"""The step ``m001_store``."""

from __future__ import annotations

from typing import Final

from mem_search.storage.postgres.connection import Connection
from mem_search.storage.postgres.migrations import owned_tables

TABLES: Final = """
    -- One row for each owner. Locking it makes writers of records wait for each other; it has the
    -- last numbers that were given, so that a number is never used again. "redacted_by" are the
    -- rules by which the texts were redacted, "embedder" the chosen one, see IndexingStore.
    create table stores(
        store_id text not null default replace(gen_random_uuid()::text, '-', ''),
        tombstone_key bytea not null,
        records bigint not null default 0,
        passages bigint not null default 0,
        embedder text[],
        redacted_by text not null default ''
    );

    create table records(
        id bigint not null,
        kind text not null,
        source text not null,
        source_id text not null,
        project text not null default '',
        session text not null default '',
        position bigint not null default 0,
        created_at bigint not null,
        updated_at bigint not null,
        stored_at bigint not null,
        importance double precision,
        archived boolean not null default false,
        superseded_by bigint,
        content_hash bytea not null,
        title text not null default '',
        url text not null default '',
        data jsonb not null default '{}',
        body text not null
    );
    -- A feed: each change of a record or a scope (record 0), whichever worker made it.
    create table record_changes(
        revision bigint generated always as identity,
        record_id bigint not null
    );
    create table words(word text not null, records bigint not null);
    create table facets(name text not null, value text not null, record_id bigint not null);
    create table names(name text not null, record_id bigint not null);
    create table edges(
        id bigint generated always as identity,
        from_id bigint not null,
        target text not null,
        key text not null,
        relation text not null,
        to_id bigint,
        strength double precision not null default 1.0,
        origin text not null,
        created_at bigint not null
    );
    create table cites(
        edge_id bigint not null, form text not null,
        place_start integer not null, place_end integer not null,
        context_start integer not null, context_end integer not null
    );
    create table phrases(hash bigint not null, record_id bigint not null, start integer not null);
    create table common_phrases(hash bigint not null);
    create table sketches(record_id bigint not null, sketch bytea not null);

    -- The text of a passage is a span of its record, so the two cannot drift apart.
    create table passages(
        id bigint not null,
        record_id bigint not null,
        kind text not null,
        ordinal integer not null,
        field text not null,
        span_start integer not null,
        span_end integer not null,
        page integer,
        content_hash bytea not null,
        parts text not null default '',
        people text not null default '',
        above text not null default ''
    );
    create table embedding_models(
        id bigint generated always as identity,
        fingerprint text not null,
        name text not null,
        dimensions integer not null,
        created_at bigint not null
    );
    -- entry_id = 2 * passage + half, see the first step of SQLite. Rows have unit length.
    create table vectors(
        model_id bigint not null, entry_id bigint not null, vector halfvec not null
    );
    -- What the indexer has still to do; a row goes only when it is done.
    create table outbox(
        passage_id bigint not null,
        step text not null check(step in ('embed', 'index', 'delete'))
    );

    create table cursors(
        source text not null,
        location text not null,
        label text not null default '',
        options jsonb not null default '{}',
        cursor jsonb not null default '{}',
        followed boolean not null default false,
        read_at bigint not null,
        error text not null default ''
    );
    create table ledger(
        source text not null,
        location text not null,
        item text not null,
        outcome text not null,
        reason text not null,
        records integer not null,
        at bigint not null
    );
    -- Keyed hashes of what was forgotten. The key is the store's own, or came with an export.
    create table tombstones(
        digest bytea not null, key bytea not null, forgotten_at bigint not null
    );
    create table forget_receipts(
        id text not null,
        purge boolean not null,
        removed jsonb not null default '{}',
        pending text[] not null,
        waiting text not null default '',
        begun_at bigint not null,
        done_at bigint,
        copies jsonb not null default '{}'
    );
    create table forget_records(record_id bigint not null, receipt text not null);
    create table forget_traces(
        sort text not null check(sort in ('word', 'ref', 'id')), value text not null
    );

    create table jobs(
        id text not null,
        name text not null,
        params jsonb not null,
        state text not null,
        done bigint not null default 0, total bigint not null default 0,
        message text not null default '',
        result jsonb not null default '{}',
        created_at bigint not null,
        started_at bigint,
        ended_at bigint
    );
    create table model_tokens(task text not null, day text not null, tokens bigint not null);
    create table search_operations(
        seq bigint generated always as identity,
        id text not null,
        session_id text not null default '',
        parent_id text,
        type text not null check(type in ('search', 'fetch', 'refine')),
        query text not null,
        mode text not null,
        content_types jsonb not null,
        request jsonb not null,
        redacted boolean not null,
        results jsonb not null,
        total_count integer not null,
        took_ms double precision not null,
        report jsonb not null,
        index_state jsonb not null,
        created_at bigint not null
    );
    create table search_jobs(
        seq bigint generated always as identity,
        id text not null,
        status text not null default 'pending'
            check(status in ('pending', 'running', 'completed', 'failed', 'cancelled')),
        request jsonb not null,
        surface text not null,
        webhook_url text not null default '',
        delivery_id text,
        step text not null default '',
        done integer not null default 0,
        total integer not null default 0,
        result text,
        error text not null default '',
        created_at bigint not null,
        started_at bigint,
        completed_at bigint
    );
    create table webhook_deliveries(
        id text not null,
        event text not null,
        url text not null,
        body bytea not null,
        state text not null default 'pending' check(state in ('pending', 'delivered', 'failed')),
        attempts integer not null default 0, next_at bigint not null,
        status integer,
        error text not null default '',
        created_at bigint not null,
        ended_at bigint
    );
    create table saved_searches(
        id bigint generated always as identity,
        name text not null,
        request jsonb not null,
        every_seconds bigint,
        inbox boolean not null default true,
        webhook_url text not null default '',
        created_at bigint not null,
        since bigint not null,
        newest_record bigint not null,
        ran_at bigint,
        next_at bigint,
        error text not null default ''
    );
    create table saved_told(
        search_id bigint not null, record_id bigint not null, content_hash bytea not null
    );
    create table notifications(
        id bigint generated always as identity,
        search_id bigint not null,
        at bigint not null,
        count integer not null,
        inbox boolean not null,
        delivery_id text,
        read_at bigint
    );
    create table notification_matches(
        notification_id bigint not null, place integer not null,
        record_id bigint not null, changed boolean not null
    );
    create table scopes(name text not null, filter text not null, created_at bigint not null);
    create table archives(
        name text not null,
        research text not null default '',
        pages text not null default '',
        schedule text not null default '',
        watch boolean not null default false,
        next_at bigint,
        indexed_at bigint,
        statistics jsonb not null default '{}'
    );
    create table tokens(
        name text not null,
        "user" text not null,
        digest bytea not null,
        read_only boolean not null,
        created_at bigint not null, expires_at bigint, last_used_at bigint
    );
    create table search_log(
        id bigint generated always as identity,
        at bigint not null,
        query text not null, filters text not null, mode text not null,
        total integer not null,
        took_ms double precision not null,
        surface text not null
    );
"""

KEYS: Final = {
    "stores": "",
    "records": "id",
    "record_changes": "revision",
    "words": "word",
    "facets": "name, value, record_id",
    "names": "name, record_id",
    "edges": "id",
    "cites": "edge_id, place_start",
    "phrases": "hash, record_id",
    "common_phrases": "hash",
    "sketches": "record_id",
    "passages": "id",
    "embedding_models": "id",
    "vectors": "model_id, entry_id",
    "outbox": "passage_id",
    "cursors": "source, location",
    "ledger": "source, location, item",
    "tombstones": "digest, key",
    "forget_receipts": "id",
    "forget_records": "record_id",
    "forget_traces": "sort, value",
    "jobs": "id",
    "model_tokens": "task",
    "search_operations": "id",
    "search_jobs": "id",
    "webhook_deliveries": "id",
    "saved_searches": "id",
    "saved_told": "search_id, record_id, content_hash",
    "notifications": "id",
    "notification_matches": "notification_id, place",
    "scopes": "",
    "archives": "name",
    "tokens": "name",
    "search_log": "id",
}
"""Table → its key beside the owner, which comes first everywhere. Names of scopes ignore case."""

REFERENCES: Final = (
    ("records", "superseded_by", "records", "set null (superseded_by)"),
    ("facets", "record_id", "records", "cascade"),
    ("names", "record_id", "records", "cascade"),
    ("edges", "from_id", "records", "cascade"),
    ("edges", "to_id", "records", "set null (to_id)"),
    ("cites", "edge_id", "edges", "cascade"),
    ("phrases", "record_id", "records", "cascade"),
    ("sketches", "record_id", "records", "cascade"),
    ("passages", "record_id", "records", "cascade"),
    ("vectors", "model_id", "embedding_models", "cascade"),
    ("search_operations", "parent_id", "search_operations", "cascade"),
    ("saved_told", "search_id", "saved_searches", "cascade"),
    ("saved_told", "record_id", "records", "cascade"),
    ("notifications", "search_id", "saved_searches", "cascade"),
    ("notification_matches", "notification_id", "notifications", "cascade"),
    ("notification_matches", "record_id", "records", "cascade"),
)
"""(table, column, table that it names, what happens when that row goes)."""

INDEXES: Final = (
    "unique index on records(owner, source, source_id)",
    "index on records(owner, created_at, id)",
    "index on records(owner, kind, created_at)",
    "index on records(owner, lower(project), created_at)",
    "index on records(owner, session, project, kind, position)",
    "index on records(owner, stored_at)",
    "index on records(owner, superseded_by) where superseded_by is not null",
    "index on facets(owner, record_id, name)",
    "index on facets(owner, name, lower(value))",
    "index on names(owner, record_id)",
    "unique index on edges(owner, from_id, target, relation, origin)",
    "index on edges(owner, key)",
    "index on edges(owner, to_id)",
    "index on phrases(owner, record_id)",
    "unique index on passages(owner, record_id, ordinal)",
    "index on passages(owner, content_hash)",
    "unique index on embedding_models(owner, fingerprint)",
    "index on vectors(owner, entry_id)",
    "index on outbox(owner, step, passage_id)",
    "index on jobs(owner, created_at)",
    "index on search_operations(owner, session_id, seq)",
    "index on search_operations(owner, parent_id)",
    "index on search_jobs(owner, status)",
    "index on webhook_deliveries(owner, next_at) where state = 'pending'",
    "unique index on saved_searches(owner, lower(name))",
    "index on saved_told(owner, record_id)",
    "index on notifications(owner, search_id)",
    "index on notification_matches(owner, record_id)",
    "unique index on scopes(owner, lower(name))",
    "unique index on tokens(owner, digest)",
    "index on search_log(owner, at)",
)


def m001_store(connection: Connection) -> None:
    """Everything that SQLite has after its step m022, but the index of words."""
    owned_tables.create(connection, TABLES, KEYS)
    for index in INDEXES:
        connection.execute(f"create {index}")
    for table, column, other, then in REFERENCES:
        connection.execute(
            f"alter table {table} add foreign key (owner, {column})"
            f" references {other} on delete {then}"
        )
    connection.execute("""
        create function note_change() returns trigger language plpgsql as $$
        begin
            if tg_table_name = 'scopes' then
                insert into record_changes(record_id) values(0);
            elsif tg_op = 'DELETE' then
                insert into record_changes(record_id) values(old.id);
            else
                insert into record_changes(record_id) values(new.id);
            end if;
            return null;
        end $$
    """)
    for table in ("records", "scopes"):
        connection.execute(
            f"create trigger note_change after insert or update or delete on {table}"
            " for each row execute function note_change()"
        )
