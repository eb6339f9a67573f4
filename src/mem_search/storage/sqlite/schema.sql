-- The schema of a new store. It is never changed once it is released: a change is a migration
-- (migrations.py), which new stores get after it.
--
-- Times are milliseconds since 1970, unless a column says otherwise. Columns of two words have a
-- type that the code relies on: "json text" holds an object or an array that json_valid accepts
-- (Json goes in, from_json reads it), "boolean" holds 0 or 1.

-- store_id, which rules redacted the texts (redacted_by), the number of the last commit, and more.
create table meta(key text primary key, value text not null) without rowid;

-- Records ---------------------------------------------------------------------------------------

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
    archived boolean not null default 0,
    superseded_by integer references records(id) on delete set null,
    content_hash blob not null,
    title text not null default '',
    url text not null default '',
    data json text not null default '{}',
    body text not null,
    unique(source, source_id)
);
create index records_by_date on records(created_at);
create index records_by_kind on records(kind, created_at);
create index records_by_project on records(project, created_at);
create index records_by_session on records(session, project, kind, position);
create index records_by_stored on records(stored_at);
create index records_by_title on records(title collate nocase) where title != '';
create index records_by_url on records(url) where url != '';
-- Without it a record that goes makes SQLite look through all others for its number.
create index records_by_successor on records(superseded_by) where superseded_by is not null;

create table facets(
    name text not null,
    value text not null,
    record_id integer not null references records(id) on delete cascade,
    primary key(name, value, record_id)
) without rowid;
create index facets_by_record on facets(record_id, name);
-- The last part of a path: what remains when everything but slashes is trimmed off.
create index facets_by_file_name on facets(
    lower(replace(value, rtrim(value, replace(value, '/', '')), ''))
) where name in ('file_read', 'file_modified', 'path');

-- By what a record is known: id:SOURCE_ID, url:PAGE, commit:HASH.
create table names(
    name text not null,
    record_id integer not null references records(id) on delete cascade,
    primary key(name, record_id)
) without rowid;
create index names_by_record on names(record_id);

-- An edge points at a name (key); to_id is the record that has it, once there is one.
create table edges(
    id integer primary key,
    from_id integer not null references records(id) on delete cascade,
    target text not null,
    key text not null default '',
    relation text not null,
    to_id integer references records(id) on delete set null,
    strength real not null default 1.0,
    origin text not null,
    created_at integer not null,
    unique(from_id, target, relation, origin)
);
create index edges_by_key on edges(key);
create index edges_to on edges(to_id);

-- Where a record cites a page. A context is a span of the record, as a passage is.
create table cites(
    edge_id integer not null references edges(id) on delete cascade,
    place_start integer not null,
    place_end integer not null,
    context_start integer not null,
    context_end integer not null,
    form text not null,
    primary key(edge_id, place_start)
) without rowid;

-- Phrases of reports and pages as numbers (text/shared_phrases.py), by which citations without a
-- link are found. One that many documents have says nothing: it moves to common_phrases.
create table phrases(
    hash integer not null,
    record_id integer not null references records(id) on delete cascade,
    start integer not null,
    primary key(hash, record_id)
) without rowid;
create index phrases_by_record on phrases(record_id);
create table common_phrases(hash integer primary key);

-- By which near-duplicates are found.
create table sketches(
    record_id integer primary key references records(id) on delete cascade,
    sketch blob not null
);

-- What changed ----------------------------------------------------------------------------------

-- Grows with every change of a record or a scope, so that a replay can tell an answer that differs
-- because the store does.
create table revision(value integer not null);
insert into revision values(0);
create trigger revision_insert after insert on records begin
    update revision set value = value + 1;
end;
create trigger revision_update after update on records begin
    update revision set value = value + 1;
end;
create trigger revision_delete after delete on records begin
    update revision set value = value + 1;
end;

-- Every write of a record, whichever process writes it. Searches keep columns of all records in
-- memory and read again what was written since. The newest row is never deleted, so that revisions
-- only grow.
create table record_changes(revision integer primary key, record_id integer not null);
create trigger record_changes_insert after insert on records begin
    insert into record_changes(record_id) values(new.id);
end;
create trigger record_changes_update after update on records begin
    insert into record_changes(record_id) values(new.id);
end;
create trigger record_changes_delete after delete on records begin
    insert into record_changes(record_id) values(old.id);
end;
create trigger record_changes_prune after insert on record_changes
    when new.revision % 1000 = 0 begin
    delete from record_changes where revision <= new.revision - 20000;
end;

-- Passages and what finds them ------------------------------------------------------------------

create table passages(
    id integer primary key autoincrement,
    record_id integer not null references records(id) on delete cascade,
    kind text not null,
    ordinal integer not null,  -- -1 is a passage about the whole record
    field text not null,
    span_start integer not null,
    span_end integer not null,
    page integer,
    content_hash blob not null,
    parts text not null default '',  -- further index terms
    people text not null default '',  -- of the first passage only: the best one finds a record
    above text not null default '',  -- the headings above it
    unique(record_id, ordinal)
);
create index passages_by_hash on passages(content_hash);
create index passages_by_kind on passages(kind);

-- The text of a passage is a span of its record, so the two cannot drift apart. A summary (ordinal
-- -1) has a vector and no words in the full text.
create view passage_texts as
    select p.id as id, r.title as title,
           substr(r.body, p.span_start + 1, p.span_end - p.span_start) as text, p.parts as parts,
           p.people as people
    from passages p join records r on r.id = p.record_id where p.ordinal >= 0;
create virtual table passages_fts using fts5(
    title, text, parts, people,
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
-- entry_id = 2 * passage + half: a passage longer than the model's window is embedded as two
-- overlapping halves. Little-endian float16 rows of unit length. The table has rowids, so that it
-- is as large as what is in it (ADR 0051).
create table vectors(
    entry_id integer not null,
    model_id integer not null references embedding_models(id) on delete cascade,
    vector blob not null,
    primary key(entry_id, model_id)
);

-- What the indexer has still to do; a row goes only when it is done.
create table outbox(
    passage_id integer primary key,
    step text not null check(step in ('embed', 'index', 'delete'))
);
create index outbox_by_step on outbox(step, passage_id);

-- Columns of all records and passages in blocks of 16,384 numbers (column_blocks.py), derived from
-- the records. The triggers keep from them what is forgotten or redacted, whichever process does
-- it.
create table column_blocks(
    of text not null check(of in ('records', 'passages', 'words')),
    block integer not null,
    content blob not null,
    primary key(of, block)
);
create trigger column_blocks_record_deleted after delete on records begin
    delete from column_blocks where of = 'records' and block = old.id / 16384;
end;
create trigger column_blocks_record_renamed
    after update of project, session, source on records
    when new.project != old.project or new.session != old.session or new.source != old.source
begin
    delete from column_blocks where of = 'records' and block = old.id / 16384;
end;
create trigger column_blocks_passage_deleted after delete on passages begin
    delete from column_blocks where of != 'records' and block = old.id / 16384;
end;

-- Words as they are written, not stemmed, for completions and spelling. The triggers keep them in
-- step, so a forgotten record leaves no word behind. No word of the sample is suggested: it is
-- nobody's own text.
create virtual table words_fts using fts5(
    title, body, content='', detail=none, columnsize=0,
    tokenize='unicode61 remove_diacritics 0'
);
create virtual table words using fts5vocab('words_fts', 'row');
create trigger words_learn after insert on records when new.source != 'sample' begin
    insert into words_fts(rowid, title, body) values(new.id, new.title, new.body);
end;
create trigger words_forget after delete on records when old.source != 'sample' begin
    insert into words_fts(words_fts, rowid, title, body)
    values('delete', old.id, old.title, old.body);
end;
create trigger words_change after update of title, body on records
when old.source != 'sample' and (old.title is not new.title or old.body is not new.body)
begin
    insert into words_fts(words_fts, rowid, title, body)
    values('delete', old.id, old.title, old.body);
    insert into words_fts(rowid, title, body) values(new.id, new.title, new.body);
end;

-- The names of people and attached files have an index of their own. known_words has a word twice
-- where texts and names have it.
create virtual table people_fts using fts5(
    people, content='', detail=none, columnsize=0,
    tokenize='unicode61 remove_diacritics 0'
);
create virtual table people_words using fts5vocab('people_fts', 'row');
create view known_words as
    select term, doc from words union all select term, doc from people_words;
create trigger people_learn after insert on passages when new.people != '' begin
    insert into people_fts(rowid, people) values(new.id, new.people);
end;
create trigger people_forget after delete on passages when old.people != '' begin
    insert into people_fts(people_fts, rowid, people)
    values('delete', old.id, old.people);
end;
create trigger people_change after update of people on passages
when old.people is not new.people begin
    insert into people_fts(people_fts, rowid, people)
    select 'delete', old.id, old.people where old.people != '';
    insert into people_fts(rowid, people)
    select new.id, new.people where new.people != '';
end;

-- Sources, jobs, archives -----------------------------------------------------------------------

create table cursors(
    source text not null,
    location text not null,
    label text not null default '',
    options json text not null default '{}',
    cursor json text not null default '{}',
    followed boolean not null default 0,
    read_at integer not null,
    error text not null default '',
    primary key(source, location)
) without rowid;

-- What became of each item that a source met.
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

create table jobs(
    id text primary key,
    name text not null,
    params json text not null,
    state text not null,
    done integer not null default 0,
    total integer not null default 0,
    message text not null default '',
    result json text not null default '{}',
    created_at integer not null,
    started_at integer,
    ended_at integer
) without rowid;
create index jobs_by_date on jobs(created_at);

-- '' where an archive has no folder of that sort; next_at is null without a schedule.
create table archives(
    name text primary key,
    research text not null default '',
    pages text not null default '',
    schedule text not null default '',
    watch boolean not null default 0,
    next_at integer,
    indexed_at integer,
    statistics json text not null default '{}'
) without rowid;

-- Searches --------------------------------------------------------------------------------------

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

-- When a record was last opened, and how often. Searches do not count.
create table openings(
    record_id integer primary key references records(id) on delete cascade,
    at integer not null,
    times integer not null
);

-- Steps of research chains.
create table search_operations(
    seq integer primary key autoincrement,
    id text not null unique,
    session_id text not null default '',
    parent_id text references search_operations(id) on delete cascade,
    type text not null check(type in ('search', 'fetch', 'refine')),
    query text not null,
    mode text not null,
    content_types json text not null,
    request json text not null,
    redacted boolean not null,
    results json text not null,
    total_count integer not null,
    took_ms real not null,
    report json text not null,
    index_state json text not null,
    created_at integer not null
);
create index search_operations_by_session on search_operations(session_id, seq);
create index search_operations_by_parent on search_operations(parent_id);

-- Searches in the background.
create table search_jobs(
    seq integer primary key autoincrement,
    id text not null unique,
    status text not null default 'pending'
        check(status in ('pending', 'running', 'completed', 'failed', 'cancelled')),
    request json text not null,
    surface text not null,
    webhook_url text not null default '',
    delivery_id text,
    step text not null default '',
    done integer not null default 0,
    total integer not null default 0,
    result text,
    error text not null default '',
    created_at integer not null,
    started_at integer,
    completed_at integer
);
create index search_jobs_by_status on search_jobs(status);

-- Messages to webhooks.
create table webhook_deliveries(
    id text primary key,
    event text not null,
    url text not null,
    body blob not null,
    state text not null default 'pending' check(state in ('pending', 'delivered', 'failed')),
    attempts integer not null default 0,
    next_at integer not null,
    status integer,
    error text not null default '',
    created_at integer not null,
    ended_at integer
) without rowid;
create index webhook_deliveries_due on webhook_deliveries(next_at) where state = 'pending';

create table saved_searches(
    id integer primary key autoincrement,
    name text not null unique collate nocase,
    request json text not null,
    every_seconds integer,
    inbox boolean not null default 1,
    webhook_url text not null default '',
    created_at integer not null,
    since integer not null,
    newest_record integer not null,
    ran_at integer,
    next_at integer,
    error text not null default ''
);
-- Every (record, content) that a saved search has reported: nothing is reported twice, and a
-- changed record is reported again.
create table saved_told(
    search_id integer not null references saved_searches(id) on delete cascade,
    record_id integer not null references records(id) on delete cascade,
    content_hash blob not null,
    primary key(search_id, record_id, content_hash)
) without rowid;
create index saved_told_by_record on saved_told(record_id);

create table notifications(
    id integer primary key autoincrement,
    search_id integer not null references saved_searches(id) on delete cascade,
    at integer not null,
    count integer not null,
    inbox boolean not null,
    delivery_id text,
    read_at integer
);
create index notifications_by_search on notifications(search_id);
create table notification_matches(
    notification_id integer not null references notifications(id) on delete cascade,
    place integer not null,
    record_id integer not null references records(id) on delete cascade,
    changed boolean not null,
    primary key(notification_id, place)
) without rowid;
create index notification_matches_by_record on notification_matches(record_id);

-- A scope is a part of the questions that name it, so its changes count for the revision, too.
create table scopes(
    name text primary key collate nocase,
    filter text not null,
    created_at integer not null
) without rowid;
create trigger revision_scope_insert after insert on scopes begin
    update revision set value = value + 1;
end;
create trigger revision_scope_update after update on scopes begin
    update revision set value = value + 1;
end;
create trigger revision_scope_delete after delete on scopes begin
    update revision set value = value + 1;
end;

-- Forgetting ------------------------------------------------------------------------------------

-- A tombstone is a keyed hash of what was forgotten. The first key is this store's own, the others
-- came with exports of other stores.
create table tombstone_keys(id integer primary key, key blob not null unique);
create table tombstones(
    digest blob not null,
    key_id integer not null references tombstone_keys(id),
    forgotten_at integer not null,
    primary key(digest, key_id)
) without rowid;
create table forget_receipts(
    id text primary key,
    purge boolean not null,
    removed json text not null default '{}',
    pending json text not null,
    waiting text not null default '',
    begun_at integer not null,
    done_at integer,
    copies json text not null default '{}'  -- what was found in other files of the home
) without rowid;
-- Records that are still to be removed, and what is looked for in the rest of the store until it
-- is gone from there.
create table forget_records(record_id integer primary key, receipt text not null);
create table forget_traces(
    sort text not null check(sort in ('word', 'ref', 'id')),
    value text not null,
    primary key(sort, value)
) without rowid;

-- Access ----------------------------------------------------------------------------------------

-- In the worker's own store only. A digest is the SHA-256 of the secret, so that the file alone
-- grants no access.
create table tokens(
    name text primary key,
    user text not null,
    digest blob not null unique,
    read_only boolean not null,
    created_at integer not null,
    expires_at integer,
    last_used_at integer
) without rowid;
-- Requests that count against a limit.
create table granted_requests(
    budget text not null, policy text not null, at integer not null, count integer not null
);
create index granted_requests_by_budget on granted_requests(budget, policy, at);
-- Links that log a browser in, until a second since 1970, and browsers that are logged in: both by
-- the digest of their secret. "key" is one of login_keys.
create table login_links(digest blob not null unique, ends integer not null);
create table login_keys(key blob not null unique);
create table login_sessions(
    id text not null unique, digest blob not null unique, key blob not null,
    browser text not null, began_at integer not null, used_at integer not null
);
