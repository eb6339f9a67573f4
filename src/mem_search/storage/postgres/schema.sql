-- The schema of a new store. It is never changed once it is released: a change is a migration
-- (migrations.py), which new stores get after it.
--
-- Each row belongs to an owner, a user of mem-search: "owner" is set by the connection and is the
-- first column of every key, so that rows of one owner lie together, and a distributed PostgreSQL
-- can shard by it. Row-level security, which migrations.py adds to every table, adds "owner = ..."
-- to each statement. "text not null" gets the collation "C" there: text compares by its bytes, as in
-- SQLite, because keys are read by ranges such as url: to url;.
--
-- Times are milliseconds since 1970, unless a column says otherwise.

-- The store and its workers ----------------------------------------------------------------------

-- One row for each owner. Locking it makes writers of records wait for each other; it has the last
-- numbers that were given, so that a number is never used again. "redacted_by" are the rules by
-- which the texts were redacted, "embedder" the chosen one, see IndexingStore. "key_mark" is of the
-- key that redacts names: workers with another one would redact them otherwise. "moving" is the id
-- of the store that is being moved here: until that is done nobody opens this.
create table stores(
    owner text not null default current_setting('mem_search.owner'),
    store_id text not null default replace(gen_random_uuid()::text, '-', ''),
    tombstone_key bytea not null,
    records bigint not null default 0,
    passages bigint not null default 0,
    embedder text[],
    redacted_by text not null default '',
    indexed_passages bigint not null default 0,
    indexed_terms bigint not null default 0,
    key_mark text,
    moving text not null default '',
    primary key (owner)
);

-- The workers that live: each says so again before "until". What a worker claimed is free again once
-- its row has expired or is gone. "home" is that of a worker, the same after a restart. A job with a
-- home reads files there, so that only the worker of that home runs it; a location with one is
-- followed there.
create table workers(
    owner text not null default current_setting('mem_search.owner'),
    id text not null, home text not null, until timestamptz not null,
    primary key (owner, id)
);
create index on workers(owner, home);

-- Records ----------------------------------------------------------------------------------------

-- Lower-case values are columns: "lower" is not leakproof, so under row-level security the planner
-- never uses an index of the expression. A filter by project, kind or facet reads its numbers from
-- an index, and the list of projects is a few seeks.
create table records(
    owner text not null default current_setting('mem_search.owner'),
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
    body text not null,
    project_lower text generated always as (lower(project)) stored,
    title_lower text generated always as (lower(left(title, 100))) stored,
    primary key (owner, id),
    foreign key (owner, superseded_by) references records on delete set null (superseded_by)
);
create unique index on records(owner, source, source_id);
create index on records(owner, created_at, id);
create index on records(owner, session, project, kind, position);
create index on records(owner, stored_at);
create index on records(owner, superseded_by) where superseded_by is not null;
create index on records(owner, project_lower, created_at) include (id);
create index on records(owner, kind, created_at) include (id);
create index on records(owner, title_lower);
create index on records(owner, project);

create table facets(
    owner text not null default current_setting('mem_search.owner'),
    name text not null, value text not null, record_id bigint not null,
    value_lower text generated always as (lower(value)) stored,
    primary key (owner, name, value, record_id),
    foreign key (owner, record_id) references records on delete cascade
);
create index on facets(owner, record_id, name);
create index on facets(owner, name, value_lower) include (record_id);

-- By what a record is known: id:SOURCE_ID, url:PAGE, commit:HASH.
create table names(
    owner text not null default current_setting('mem_search.owner'),
    name text not null, record_id bigint not null,
    primary key (owner, name, record_id),
    foreign key (owner, record_id) references records on delete cascade
);
create index on names(owner, record_id);

-- An edge points at a name (key); to_id is the record that has it, once there is one.
create table edges(
    owner text not null default current_setting('mem_search.owner'),
    id bigint generated always as identity,
    from_id bigint not null,
    target text not null,
    key text not null,
    relation text not null,
    to_id bigint,
    strength double precision not null default 1.0,
    origin text not null,
    created_at bigint not null,
    primary key (owner, id),
    foreign key (owner, from_id) references records on delete cascade,
    foreign key (owner, to_id) references records on delete set null (to_id)
);
create unique index on edges(owner, from_id, target, relation, origin);
create index on edges(owner, key);
create index on edges(owner, to_id);

-- Where a record cites a page. A context is a span of the record, as a passage is.
create table cites(
    owner text not null default current_setting('mem_search.owner'),
    edge_id bigint not null, form text not null,
    place_start integer not null, place_end integer not null,
    context_start integer not null, context_end integer not null,
    primary key (owner, edge_id, place_start),
    foreign key (owner, edge_id) references edges on delete cascade
);

-- Phrases of reports and pages as numbers (text/shared_phrases.py), by which citations without a
-- link are found. One that many documents have says nothing: it moves to common_phrases.
create table phrases(
    owner text not null default current_setting('mem_search.owner'),
    hash bigint not null, record_id bigint not null, start integer not null,
    primary key (owner, hash, record_id),
    foreign key (owner, record_id) references records on delete cascade
);
create index on phrases(owner, record_id);

create table common_phrases(
    owner text not null default current_setting('mem_search.owner'),
    hash bigint not null,
    primary key (owner, hash)
);

-- By which near-duplicates are found.
create table sketches(
    owner text not null default current_setting('mem_search.owner'),
    record_id bigint not null, sketch bytea not null,
    primary key (owner, record_id),
    foreign key (owner, record_id) references records on delete cascade
);

-- What changed -----------------------------------------------------------------------------------

-- A feed: each change of a record or a scope (record 0), whichever worker made it.
create table record_changes(
    owner text not null default current_setting('mem_search.owner'),
    revision bigint generated always as identity,
    record_id bigint not null,
    primary key (owner, revision)
);

-- Passages and what finds them -------------------------------------------------------------------

-- The text of a passage is a span of its record, so the two cannot drift apart. The ordinal -1 is a
-- passage about the whole record; "parts" are further index terms, "above" the headings above it.
create table passages(
    owner text not null default current_setting('mem_search.owner'),
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
    above text not null default '',
    primary key (owner, id),
    foreign key (owner, record_id) references records on delete cascade
);
create unique index on passages(owner, record_id, ordinal);
create index on passages(owner, content_hash);

create table embedding_models(
    owner text not null default current_setting('mem_search.owner'),
    id bigint generated always as identity,
    fingerprint text not null,
    name text not null,
    dimensions integer not null,
    created_at bigint not null,
    primary key (owner, id)
);
create unique index on embedding_models(owner, fingerprint);

-- entry_id = 2 * passage + half: a passage longer than the model's window is embedded as two
-- overlapping halves. Rows have unit length.
create table vectors(
    owner text not null default current_setting('mem_search.owner'),
    model_id bigint not null, entry_id bigint not null, vector halfvec not null,
    primary key (owner, model_id, entry_id),
    foreign key (owner, model_id) references embedding_models on delete cascade
);
create index on vectors(owner, entry_id);

-- What the indexer has still to do; a row goes only when it is done.
create table outbox(
    owner text not null default current_setting('mem_search.owner'),
    passage_id bigint not null,
    step text not null check(step in ('embed', 'index', 'delete')),
    worker text,
    primary key (owner, passage_id)
);
create index on outbox(owner, step, passage_id);

-- A part of the index of words: what was written together. Parts are merged as they grow in number.
-- All its passages have numbers from "first" to "last". It is no GIN index, because @@ is not
-- leakproof: under row-level security the planner would read all rows. Terms are found by equality
-- and by ranges of a key, which are.
create table segments(
    owner text not null default current_setting('mem_search.owner'),
    id bigint not null,
    level integer not null default 0,
    passages integer not null,
    first bigint not null,
    last bigint not null,
    primary key (owner, id)
);

-- Which passages of a segment have a term, how often, and where (postings.py). Lists are stored as
-- they are: decompressing took most of the time in which the list of a frequent word is read.
create table postings(
    owner text not null default current_setting('mem_search.owner'),
    segment bigint not null,
    term text not null,
    entries bytea storage external not null,
    places bytea storage external not null,
    primary key (owner, segment, term)
);

-- In how many records a word is, for completions and spelling.
create table words(
    owner text not null default current_setting('mem_search.owner'),
    word text not null, records bigint not null,
    primary key (owner, word)
);

-- Sources, jobs, archives ------------------------------------------------------------------------

create table cursors(
    owner text not null default current_setting('mem_search.owner'),
    source text not null,
    location text not null,
    label text not null default '',
    options jsonb not null default '{}',
    cursor jsonb not null default '{}',
    followed boolean not null default false,
    read_at bigint not null,
    error text not null default '',
    home text not null default '',
    primary key (owner, source, location)
);

-- What became of each item that a source met.
create table ledger(
    owner text not null default current_setting('mem_search.owner'),
    source text not null,
    location text not null,
    item text not null,
    outcome text not null,
    reason text not null,
    records integer not null,
    at bigint not null,
    primary key (owner, source, location, item)
);

create table jobs(
    owner text not null default current_setting('mem_search.owner'),
    id text not null,
    name text not null,
    params jsonb not null,
    state text not null,
    done bigint not null default 0, total bigint not null default 0,
    message text not null default '',
    result jsonb not null default '{}',
    created_at bigint not null,
    started_at bigint,
    ended_at bigint,
    worker text,
    home text not null default '',
    seq bigint generated always as identity,
    primary key (owner, id)
);
create index on jobs(owner, created_at);

-- What a language model was asked for on a day, by task.
create table model_tokens(
    owner text not null default current_setting('mem_search.owner'),
    task text not null, day text not null, tokens bigint not null,
    primary key (owner, task)
);

-- '' where an archive has no folder of that sort; next_at is null without a schedule.
create table archives(
    owner text not null default current_setting('mem_search.owner'),
    name text not null,
    research text not null default '',
    pages text not null default '',
    schedule text not null default '',
    watch boolean not null default false,
    next_at bigint,
    indexed_at bigint,
    statistics jsonb not null default '{}',
    primary key (owner, name)
);

-- Searches ---------------------------------------------------------------------------------------

create table search_log(
    owner text not null default current_setting('mem_search.owner'),
    id bigint generated always as identity,
    at bigint not null,
    query text not null, filters text not null, mode text not null,
    total integer not null,
    took_ms double precision not null,
    surface text not null,
    primary key (owner, id)
);
create index on search_log(owner, at);

-- When a record was last opened, and how often. Searches do not count.
create table openings(
    owner text not null default current_setting('mem_search.owner'),
    record_id bigint not null, at bigint not null, times bigint not null,
    primary key (owner, record_id),
    foreign key (owner, record_id) references records on delete cascade
);

-- Steps of research chains.
create table search_operations(
    owner text not null default current_setting('mem_search.owner'),
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
    created_at bigint not null,
    primary key (owner, id),
    foreign key (owner, parent_id) references search_operations on delete cascade
);
create index on search_operations(owner, session_id, seq);
create index on search_operations(owner, parent_id);

-- Searches in the background.
create table search_jobs(
    owner text not null default current_setting('mem_search.owner'),
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
    completed_at bigint,
    worker text,
    primary key (owner, id)
);
create index on search_jobs(owner, status);

-- Messages to webhooks.
create table webhook_deliveries(
    owner text not null default current_setting('mem_search.owner'),
    id text not null,
    event text not null,
    url text not null,
    body bytea not null,
    state text not null default 'pending' check(state in ('pending', 'delivered', 'failed')),
    attempts integer not null default 0, next_at bigint not null,
    status integer,
    error text not null default '',
    created_at bigint not null,
    ended_at bigint,
    worker text,
    primary key (owner, id)
);
create index on webhook_deliveries(owner, next_at) where state = 'pending';

create table saved_searches(
    owner text not null default current_setting('mem_search.owner'),
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
    error text not null default '',
    worker text,
    primary key (owner, id)
);
create unique index on saved_searches(owner, lower(name));

-- Every (record, content) that a saved search has reported: nothing is reported twice, and a
-- changed record is reported again.
create table saved_told(
    owner text not null default current_setting('mem_search.owner'),
    search_id bigint not null, record_id bigint not null, content_hash bytea not null,
    primary key (owner, search_id, record_id, content_hash),
    foreign key (owner, search_id) references saved_searches on delete cascade,
    foreign key (owner, record_id) references records on delete cascade
);
create index on saved_told(owner, record_id);

create table notifications(
    owner text not null default current_setting('mem_search.owner'),
    id bigint generated always as identity,
    search_id bigint not null,
    at bigint not null,
    count integer not null,
    inbox boolean not null,
    delivery_id text,
    read_at bigint,
    primary key (owner, id),
    foreign key (owner, search_id) references saved_searches on delete cascade
);
create index on notifications(owner, search_id);

create table notification_matches(
    owner text not null default current_setting('mem_search.owner'),
    notification_id bigint not null, place integer not null,
    record_id bigint not null, changed boolean not null,
    primary key (owner, notification_id, place),
    foreign key (owner, notification_id) references notifications on delete cascade,
    foreign key (owner, record_id) references records on delete cascade
);
create index on notification_matches(owner, record_id);

-- Its key ignores case: the index below.
create table scopes(
    owner text not null default current_setting('mem_search.owner'),
    name text not null, filter text not null, created_at bigint not null
);
create unique index on scopes(owner, lower(name));

-- Forgetting -------------------------------------------------------------------------------------

-- Keyed hashes of what was forgotten. The key is the store's own, or came with an export.
create table tombstones(
    owner text not null default current_setting('mem_search.owner'),
    digest bytea not null, key bytea not null, forgotten_at bigint not null,
    primary key (owner, digest, key)
);

create table forget_receipts(
    owner text not null default current_setting('mem_search.owner'),
    id text not null,
    purge boolean not null,
    removed jsonb not null default '{}',
    pending text[] not null,
    waiting text not null default '',
    begun_at bigint not null,
    done_at bigint,
    copies jsonb not null default '{}',
    primary key (owner, id)
);

-- Records that are still to be removed, and what is looked for in the rest of the store until it is
-- gone from there.
create table forget_records(
    owner text not null default current_setting('mem_search.owner'),
    record_id bigint not null, receipt text not null,
    primary key (owner, record_id)
);

create table forget_traces(
    owner text not null default current_setting('mem_search.owner'),
    sort text not null check(sort in ('word', 'ref', 'id')), value text not null,
    primary key (owner, sort, value)
);

-- Mirrors ----------------------------------------------------------------------------------------

-- What became of each record, by the keyed hash of its identity, so that no name of what was
-- forgotten stays: "key" is that of another store in hex, '' of this one. "line" is the hash of what
-- is stored, "said" that of the version, "learned" the folder it came from.
create table mirror_states(
    owner text not null default current_setting('mem_search.owner'),
    digest text not null, key text not null default '', record_id bigint, life bigint not null,
    fate text not null check (fate in ('stored', 'gone', 'forgotten')), revision bigint not null,
    at bigint not null, said text not null, machine text not null, seen jsonb not null,
    line text not null default '', own boolean not null, turn bigint not null,
    learned text not null default '',
    primary key (owner, digest)
);
create index on mirror_states(owner, record_id) where record_id is not null;
create index on mirror_states(owner, turn);
create index on mirror_states(owner, key) where key != '';

-- "state" is how far a folder was read and written, by the worker of "home".
create table mirrors(
    owner text not null default current_setting('mem_search.owner'),
    home text not null default current_setting('mem_search.home'),
    folder text not null, state jsonb not null default '{}', at bigint,
    error text not null default '',
    primary key (owner, folder)
);

-- Access -----------------------------------------------------------------------------------------

-- A digest is the SHA-256 of the secret, so that the table alone grants no access.
create table tokens(
    owner text not null default current_setting('mem_search.owner'),
    name text not null,
    "user" text not null,
    digest bytea not null,
    read_only boolean not null,
    created_at bigint not null, expires_at bigint, last_used_at bigint,
    primary key (owner, name)
);
create unique index on tokens(owner, digest);

-- Requests that count against a limit: whose, which, when, how many.
create table granted_requests(
    owner text not null default current_setting('mem_search.owner'),
    id bigint generated always as identity,
    budget text not null, policy text not null, at bigint not null, count bigint not null,
    primary key (owner, id)
);
create index on granted_requests(owner, budget, policy, at);

-- Links that log a browser in, until a second since 1970, and browsers that are logged in: both by
-- the digest of their secret. "key" is that of the worker of a home in login_keys.
create table login_links(
    owner text not null default current_setting('mem_search.owner'),
    digest bytea not null, ends bigint not null, seq bigint generated always as identity,
    primary key (owner, digest)
);

create table login_keys(
    owner text not null default current_setting('mem_search.owner'),
    home text not null, key bytea not null,
    primary key (owner, home)
);

create table login_sessions(
    owner text not null default current_setting('mem_search.owner'),
    id text not null, digest bytea not null, key bytea not null, browser text not null,
    began_at bigint not null, used_at bigint not null, seq bigint generated always as identity,
    primary key (owner, id)
);

-- Triggers --------------------------------------------------------------------------------------

-- Changes are noted once a statement, and not once a row: a batch is stored by one statement.
create function note_changes() returns trigger language plpgsql as $$
begin
    insert into record_changes(record_id) select id from changed;
    return null;
end $$;
create trigger note_insert after insert on records referencing new table as changed
    for each statement execute function note_changes();
create trigger note_update after update on records referencing new table as changed
    for each statement execute function note_changes();
create trigger note_delete after delete on records referencing old table as changed
    for each statement execute function note_changes();

create function note_scopes() returns trigger language plpgsql as $$
begin
    insert into record_changes(record_id) select 0 from changed;
    return null;
end $$;
create trigger note_insert after insert on scopes referencing new table as changed
    for each statement execute function note_scopes();
create trigger note_update after update on scopes referencing new table as changed
    for each statement execute function note_scopes();
create trigger note_delete after delete on scopes referencing old table as changed
    for each statement execute function note_scopes();

-- A channel for each owner: nobody is woken by the work of another user.
create function note_work() returns trigger language plpgsql as $$
begin
    perform pg_notify('mem_search_' || md5(current_setting('mem_search.owner')), '');
    return null;
end $$;
create trigger note_work after insert on outbox
    for each statement execute function note_work();
create trigger note_work after insert on jobs
    for each statement execute function note_work();
create trigger note_work after insert on search_jobs
    for each statement execute function note_work();
create trigger note_work after insert on webhook_deliveries
    for each statement execute function note_work();
create trigger note_work after insert on saved_searches
    for each statement execute function note_work();
