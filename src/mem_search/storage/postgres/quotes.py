"""What quotes or names a forgotten record elsewhere in the store (``storage.rules.quotes``): found,
and removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from mem_search.model.forgetting import Traces, words_of
from mem_search.storage.postgres import words
from mem_search.storage.postgres.connection import Connection, Jsonb
from mem_search.storage.rules.quotes import (
    FIELD_WORDS,
    MIN_TELLING_LETTERS,
    QUOTING,
    Step,
    as_read_once,
    blanked,
    cleaned,
    noted,
    refs_in,
    strings,
    traces_of,
    without_gone,
    words_and_parts,
)
from mem_search.text.dates import now_ms

_FACETS = "(select string_agg(value, ' ') from facets f where f.record_id = r.id)"
_REF = "r.kind || ':' || r.id"
_SHARED = (
    "select source from cursors union select source from records union select kind from records"
    " union select value from facets"
)


def note_traces(connection: Connection, numbers: Sequence[int]) -> None:
    """Remember what gives these records away, until nothing in the store has it any more."""
    rows = connection.execute(
        f"select {_REF}, r.source_id, r.project, r.session, r.title, r.body, r.url, r.data::text,"
        f" {_FACETS} from records r where r.id = any(%s)",
        (list(numbers),),
    )
    found: set[tuple[str, str]] = set()
    for ref, source_id, project, session, title, body, url, data, facets in rows:
        texts = [source_id, project, session, title, body, url, facets]
        found |= {("word", word) for word in noted(texts, data)}
        found |= {("id", name) for name in (source_id, project, session) if name}
        found.add(("ref", ref))
    uploads = connection.column(
        "select distinct j.params ->> 'path' from jobs j"
        " where j.params ->> 'spooled' is not null and j.params ->> 'path' is not null"
        " and exists (select 1 from records r where r.id = any(%(numbers)s)"
        " and r.stored_at between j.started_at and coalesce(j.ended_at, %(now)s)"
        # Of an upload whose other records stay, the name stays.
        " and not exists (select 1 from records o where o.source = r.source"
        " and o.stored_at between j.started_at and coalesce(j.ended_at, %(now)s)"
        " and o.id not in (select record_id from forget_records)))",
        {"numbers": list(numbers), "now": now_ms()},
    )
    found |= {("id", name) for name in uploads}
    connection.execute(
        "insert into forget_traces(sort, value) select * from unnest(%s::text[], %s::text[])"
        " on conflict do nothing",
        ([sort for sort, _ in found], [value for _, value in found]),
    )


def traces_left(connection: Connection) -> Traces:
    """What was noted, without the words that some record still has."""
    found: dict[str, set[str]] = {"word": set(), "ref": set(), "id": set()}
    for sort, value in connection.execute("select sort, value from forget_traces"):
        found[sort].add(value)
    if not found["word"] and not found["id"]:
        return Traces(frozenset(), frozenset(found["ref"]))
    gone = found["word"] - words.holders(connection, found["word"]).keys()
    held = connection.column(
        "select distinct project from records union select distinct session from records"
    )
    shared = connection.column(f"select location from cursors where followed union {_SHARED}")
    return traces_of(gone, found["ref"], found["id"], frozenset(held), shared)


def saved_searches_naming(connection: Connection, numbers: Sequence[int]) -> list[str]:
    """The saved searches that ``remove_quotes`` would remove, were these records forgotten."""
    searches = {
        name: list(strings(texts))
        for name, *texts in connection.execute(
            "select name, name, request, error from saved_searches order by lower(name)"
        )
    }
    wanted = {
        each for texts in searches.values() for text in texts for each in words_and_parts(text)
    }
    refs = connection.column(f"select {_REF} from records r where id = any(%s)", (list(numbers),))
    names = frozenset(
        name
        for column in ("project", "session")
        for name in connection.column(
            f"select {column} from records where id = any(%(numbers)s)"
            f" except select {column} from records where id <> all(%(numbers)s)",
            {"numbers": list(numbers)},
        )
        if len(name) >= MIN_TELLING_LETTERS
    )
    traces = Traces(frozenset(_only_in(connection, wanted, numbers)), frozenset(refs), names)
    return [name for name, texts in searches.items() if traces.found_in(texts)]


def _only_in(connection: Connection, wanted: set[str], chosen: Sequence[int]) -> Iterator[str]:
    """Those of ``wanted`` that only ``chosen`` records have."""
    shared = connection.column(f"{_SHARED} where record_id <> all(%s)", (list(chosen),))
    wanted = wanted - FIELD_WORDS - words_of(" ".join(shared))
    known = words.holders(connection, wanted)
    own = words.of_stored(connection, chosen)
    yield from (word for word in wanted & own.keys() if known.get(word) == own[word])
    rows = connection.execute(
        f"select r.data::text, r.source_id, r.url, {_FACETS} from records r where r.id = any(%s)",
        (list(chosen),),
    )
    beside = {word for data, *texts in rows for word in noted(texts, data)}
    yield from (wanted & beside) - known.keys()


def remove_quotes(connection: Connection, traces: Traces) -> Counter[str]:
    """Remove what quotes or names the forgotten records; returns how much, by place."""
    removed: Counter[str] = Counter()
    for place, table, key, columns in QUOTING:
        texts = ", ".join("convert_from(body, 'UTF8')" if c == "body" else c for c in columns)
        condition = " where ended_at is not null" if table == "jobs" else ""
        gone = [
            row[: len(key)]
            for row in connection.execute(
                f"select {', '.join(key)}, {texts} from {table}{condition}"
            )
            if traces.found_in(strings(row[len(key) :]))
        ]
        match_key = " and ".join(f"{name} = %s" for name in key)
        removed[place] += connection.many(f"delete from {table} where {match_key}", gone)
    removed["ledger entries"] += connection.execute(
        "delete from ledger where item in (select value from forget_traces where sort = 'id')"
    ).rowcount
    removed["research steps"] += _research_cleaned(connection, traces)
    removed["reading positions"] += _cursors_cleaned(connection, traces)
    return removed


def _research_cleaned(connection: Connection, traces: Traces) -> int:
    """Take forgotten questions and the hashes of forgotten results out of research steps."""
    changed = []
    for row, *fields in connection.execute(
        "select seq, query, request, redacted, results, report from search_operations"
    ):
        step = Step(*fields)
        if (better := cleaned(step, traces)) != step:
            query, request, redacted, results, report = better
            changed.append((query, Jsonb(request), redacted, Jsonb(results), Jsonb(report), row))
    return connection.many(
        "update search_operations set query = %s, request = %s, redacted = %s, results = %s,"
        " report = %s where seq = %s",
        changed,
    )


def _cursors_cleaned(connection: Connection, traces: Traces) -> int:
    """Blank what a source remembers of the texts that it has read.

    A location that is read only once goes if its name gives the record away.
    """
    changed, gone = [], []
    for source, location, cursor, error, followed in connection.execute(
        "select source, location, cursor, error, followed from cursors"
    ):
        said = [cursor, error]
        if not followed and as_read_once(location, cursor, error, traces):
            gone.append((source, location))
        elif (blank := blanked([without_gone(location, cursor, traces), error], traces)) != said:
            changed.append((Jsonb(blank[0]), blank[1], source, location))
    return connection.many(
        "delete from cursors where source = %s and location = %s", gone
    ) + connection.many(
        "update cursors set cursor = %s, error = %s where source = %s and location = %s", changed
    )


def remove_dangling(connection: Connection) -> Counter[str]:
    """What names records that no longer exist, and logged searches for words that none has."""
    existing = set(connection.column(f"select {_REF} from records r"))
    removed: Counter[str] = Counter()
    results = connection.column("select results from search_operations")
    named = {ref for each in results for ref, _, _ in each}
    removed["research steps"] = _research_cleaned(
        connection, Traces(frozenset(), frozenset(named - existing))
    )
    gone = [
        (row,)
        for row, result in connection.execute(
            "select seq, result from search_jobs where result is not null"
        )
        if refs_in(result) - existing
    ]
    removed["background searches"] = connection.many("delete from search_jobs where seq = %s", gone)
    asked = connection.execute("select id, query from search_log").fetchall()
    said = {word for _, query in asked for word in words_of(query)}
    unknown = said - words.holders(connection, said).keys()
    removed["searches in the log"] = connection.many(
        "delete from search_log where id = %s",
        [(row,) for row, query in asked if not unknown.isdisjoint(words_of(query))],
    )
    return removed
