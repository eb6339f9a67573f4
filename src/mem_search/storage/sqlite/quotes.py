"""What quotes or names a forgotten record elsewhere in the store (``storage.rules.quotes``): found,
and removed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from mem_search.model.forgetting import Traces, words_of
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
from mem_search.storage.sqlite.database import Connection
from mem_search.text.dates import now_ms

_SHARED: Final = (
    "select source from cursors union select source from records union select kind from records"
    " union select value from facets"
)


def note_traces(connection: Connection, numbers: Sequence[int]) -> None:
    """Remember what gives these records away, until nothing in the store has it any more."""
    rows = connection.execute(
        "select r.kind || ':' || r.id, r.source_id, r.project, r.session, r.title, r.body, r.url,"
        " r.data,"
        " (select group_concat(value, ' ') from facets f where f.record_id = r.id)"
        " from records r where r.id in (select value from json_each(?))",
        (json.dumps(list(numbers)),),
    )
    for ref, source_id, project, session, title, body, url, data, facets in rows.fetchall():
        words = noted([source_id, project, session, title, body, url, facets], data)
        names = {source_id, project, session} - {""}
        connection.executemany(
            "insert or ignore into forget_traces(sort, value) values(?, ?)",
            [
                ("ref", ref),
                *(("id", name) for name in names),
                *(("word", word) for word in words),
            ],
        )
    connection.execute(
        "insert or ignore into forget_traces(sort, value)"
        " select 'id', json_extract(j.params, '$.path') from jobs j"
        " where json_extract(j.params, '$.spooled') is not null"
        " and json_extract(j.params, '$.path') is not null and exists ("
        " select 1 from records r where r.id in (select value from json_each(?1))"
        " and r.stored_at between j.started_at and coalesce(j.ended_at, ?2)"
        # Of an upload whose other records stay, the name stays.
        " and not exists (select 1 from records o where o.source = r.source"
        " and o.stored_at between j.started_at and coalesce(j.ended_at, ?2)"
        " and o.id not in (select record_id from forget_records)))",
        (json.dumps(numbers), now_ms()),
    )


def traces_left(connection: Connection) -> Traces:
    """What was noted, without the words that some record still has."""
    found: dict[str, set[str]] = {"word": set(), "ref": set(), "id": set()}
    for sort, value in connection.execute("select sort, value from forget_traces"):
        found[sort].add(value)
    if not found["word"] and not found["id"]:
        return Traces(frozenset(), frozenset(found["ref"]))
    held, shared = (
        [value for (value,) in connection.execute(statement)]
        for statement in (
            "select distinct project from records union select distinct session from records",
            f"select location from cursors where followed union {_SHARED}",
        )
    )
    words = _without_known(connection, found["word"])
    return traces_of(words, found["ref"], found["id"], frozenset(held), shared)


def saved_searches_naming(connection: Connection, numbers: Sequence[int]) -> list[str]:
    """The saved searches that ``remove_quotes`` would remove, were these records forgotten."""
    chosen = set(numbers)
    searches = {
        name: list(strings(texts))
        for name, *texts in connection.execute(
            "select name, name, request, error from saved_searches order by name"
        )
    }
    wanted = {
        each for texts in searches.values() for text in texts for each in words_and_parts(text)
    }
    traces = Traces(
        frozenset(_only_in(connection, wanted, chosen)),
        frozenset(
            f"{kind}:{number}"
            for kind, number in connection.execute(
                "select kind, id from records where id in (select value from json_each(?))",
                (json.dumps(numbers),),
            )
        ),
        frozenset(
            name
            for column in ("project", "session")
            for (name,) in connection.execute(
                f"select {column} from records where id in (select value from json_each(?1))"
                f" except select {column} from records"
                " where id not in (select value from json_each(?1))",
                (json.dumps(numbers),),
            )
            if len(name) >= MIN_TELLING_LETTERS
        ),
    )
    return [name for name, texts in searches.items() if traces.found_in(texts)]


def _only_in(connection: Connection, wanted: set[str], chosen: set[int]) -> Iterator[str]:
    """Those of ``wanted`` that only ``chosen`` records have."""
    shared = connection.execute(
        f"{_SHARED} where record_id not in (select value from json_each(?))",
        (json.dumps(sorted(chosen)),),
    )
    unknown = set()
    for word in wanted - FIELD_WORDS - words_of(" ".join(value for (value,) in shared)):
        if len(word) < MIN_TELLING_LETTERS:
            continue
        holders = connection.execute(
            "select rowid from words_fts where words_fts match ?", (f'"{word}"',)
        )
        first = next(holders, None)
        if first is None:
            unknown.add(word)  # it may be in a tag, a source id or metadata
        elif first[0] in chosen and all(number in chosen for (number,) in holders):
            yield word
    if unknown:
        for number in chosen:
            yield from unknown & _words_of_record(connection, number)


def _words_of_record(connection: Connection, number: int) -> set[str]:
    """The words of all that a record has but its title and text."""
    rows = connection.execute(
        "select r.data, r.source_id, r.url,"
        " (select group_concat(value, ' ') from facets f where f.record_id = r.id)"
        " from records r where r.id = ?",
        (number,),
    )
    return {word for data, *texts in rows for word in noted(texts, data)}


def _without_known(connection: Connection, wanted: set[str]) -> set[str]:
    known = {
        word
        for (word,) in connection.execute(
            "select j.value from json_each(?) j"
            " where exists (select 1 from words w where w.term = j.value)",
            (json.dumps(sorted(wanted)),),
        )
    }
    return wanted - known


def remove_quotes(connection: Connection, traces: Traces) -> Counter[str]:
    """Remove what quotes or names the forgotten records; returns how much, by place."""
    removed: Counter[str] = Counter()
    for place, table, key, columns in QUOTING:
        texts = ", ".join(f"cast({column} as text)" for column in columns)
        condition = " where ended_at is not null" if table == "jobs" else ""
        gone = [
            row[: len(key)]
            for row in connection.execute(
                f"select {', '.join(key)}, {texts} from {table}{condition}"
            ).fetchall()
            if traces.found_in(strings(row[len(key) :]))
        ]
        match_key = " and ".join(f"{name} = ?" for name in key)
        connection.executemany(f"delete from {table} where {match_key}", gone)
        removed[place] += len(gone)
    removed["ledger entries"] += connection.execute(
        "delete from ledger where item in (select value from forget_traces where sort = 'id')"
    ).rowcount
    removed["research steps"] += _research_cleaned(connection, traces)
    removed["reading positions"] += _cursors_cleaned(connection, traces)
    return removed


def _research_cleaned(connection: Connection, traces: Traces) -> int:
    """Take forgotten questions and the hashes of forgotten results out of research steps."""
    changed = []
    for row, query, request, redacted, results, report in connection.execute(
        "select seq, query, request, redacted, results, report from search_operations"
    ).fetchall():
        step = Step(
            query, json.loads(request), bool(redacted), json.loads(results), json.loads(report)
        )
        if (better := cleaned(step, traces)) != step:
            texts = (json.dumps(each) for each in (better.request, better.results, better.report))
            changed.append((better.query, better.redacted, *texts, row))
    connection.executemany(
        "update search_operations set query = ?, redacted = ?, request = ?, results = ?,"
        " report = ? where seq = ?",
        changed,
    )
    return len(changed)


def _cursors_cleaned(connection: Connection, traces: Traces) -> int:
    """Blank what a source remembers of the texts that it has read.

    A location that is read only once goes if its name gives the record away.
    """
    changed, gone = [], []
    for source, location, cursor, error, followed in connection.execute(
        "select source, location, cursor, error, followed from cursors"
    ).fetchall():
        key = (source, location)
        said = [json.loads(cursor), error]
        if not followed and as_read_once(location, said[0], error, traces):
            gone.append(key)
        elif (blank := blanked([without_gone(location, said[0], traces), error], traces)) != said:
            changed.append((json.dumps(blank[0]), blank[1], *key))
    connection.executemany("delete from cursors where source = ? and location = ?", gone)
    connection.executemany(
        "update cursors set cursor = ?, error = ? where source = ? and location = ?", changed
    )
    return len(changed) + len(gone)


def remove_dangling(connection: Connection) -> Counter[str]:
    """What names records that no longer exist, and logged searches for words that none has."""
    existing = {ref for (ref,) in connection.execute("select kind || ':' || id from records")}
    removed: Counter[str] = Counter()
    named = {
        ref
        for (results,) in connection.execute("select results from search_operations")
        for ref, _, _ in json.loads(results)
    }
    removed["research steps"] = _research_cleaned(
        connection, Traces(frozenset(), frozenset(named - existing))
    )
    gone = []
    for row, result in connection.execute(
        "select seq, result from search_jobs where result is not null"
    ).fetchall():
        if refs_in(result) - existing:
            gone.append((row,))
    connection.executemany("delete from search_jobs where seq = ?", gone)
    removed["background searches"] = len(gone)
    asked = connection.execute("select id, query from search_log").fetchall()
    unknown = _without_known(connection, {w for _, query in asked for w in words_of(query)})
    unasked = [(row,) for row, query in asked if not unknown.isdisjoint(words_of(query))]
    connection.executemany("delete from search_log where id = ?", unasked)
    removed["searches in the log"] = len(unasked)
    return removed
