"""What quotes or names a forgotten record elsewhere in the store: found, and removed.

A word counts as a quote when the forgotten records had it and no record has it now.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from mem_search.model.forgetting import SHORTEST_PART, Traces, words_of
from mem_search.storage.sqlite.database import Connection

FORGOTTEN: Final = "[forgotten]"
"""Stands where a stored question quoted a forgotten record."""

_LONGEST_CUT: Final = 40
"""Letters of a word of a saved search up to which a forgotten word is looked for inside it."""

_SHORTEST: Final = 3
"""Letters of a word that gives a record away; shorter ones are in everything."""


def note_traces(connection: Connection, numbers: Sequence[int]) -> None:
    """Remember what gives these records away, until nothing in the store has it any more."""
    rows = connection.execute(
        "select r.kind || ':' || r.id, r.source_id, r.title, r.body, r.url, r.data,"
        " (select group_concat(value, ' ') from facets f where f.record_id = r.id)"
        " from records r where r.id in (select value from json_each(?))",
        (json.dumps(list(numbers)),),
    )
    for ref, source_id, *texts in rows.fetchall():
        words = words_of(" ".join(filter(None, [*texts, source_id])))
        found = [("word", word) for word in words if len(word) >= _SHORTEST]
        connection.executemany(
            "insert or ignore into forget_traces(sort, value) values(?, ?)",
            [("ref", ref), ("id", source_id), *found],
        )


def traces_left(connection: Connection) -> Traces:
    """What was noted, without the words that some record still has."""
    found: dict[str, set[str]] = {"word": set(), "ref": set(), "id": set()}
    for sort, value in connection.execute("select sort, value from forget_traces"):
        found[sort].add(value)
    words = _without_known(connection, found["word"])
    return Traces(frozenset(words), frozenset(found["ref"]))


def saved_searches_naming(connection: Connection, numbers: Sequence[int]) -> list[str]:
    """The saved searches that ``remove_quotes`` would remove, were these records forgotten."""
    chosen = set(numbers)
    searches = {
        name: list(_strings(texts))
        for name, *texts in connection.execute(
            "select name, name, request, error from saved_searches order by name"
        )
    }
    wanted = {
        each for texts in searches.values() for text in texts for each in _words_and_parts(text)
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
    )
    return [name for name, texts in searches.items() if traces.found_in(texts)]


def _words_and_parts(text: str) -> Iterator[str]:
    """Each word, and what is inside it, as ``Traces`` compares them."""
    for word in words_of(text):
        yield word
        if len(word) <= _LONGEST_CUT:
            for length in range(SHORTEST_PART, len(word)):
                for start in range(len(word) - length + 1):
                    yield word[start : start + length]


def _only_in(connection: Connection, wanted: set[str], chosen: set[int]) -> Iterator[str]:
    """Those of ``wanted`` that only ``chosen`` records have."""
    unknown = set()
    for word in wanted:
        if len(word) < _SHORTEST:
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
        "select r.source_id, r.url, r.data,"
        " (select group_concat(value, ' ') from facets f where f.record_id = r.id)"
        " from records r where r.id = ?",
        (number,),
    )
    return {word for row in rows for word in words_of(" ".join(filter(None, row)))}


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

    def drop(place: str, table: str, key: str, columns: str, condition: str = "1") -> None:
        gone = [
            row[: key.count(",") + 1]
            for row in connection.execute(
                f"select {key}, {columns} from {table} where {condition}"
            ).fetchall()
            if traces.found_in(_strings(row[key.count(",") + 1 :]))
        ]
        match_key = " and ".join(f"{name} = ?" for name in key.split(", "))
        connection.executemany(f"delete from {table} where {match_key}", gone)
        removed[place] += len(gone)

    drop("searches in the log", "search_log", "id", "query")
    drop("background searches", "search_jobs", "seq", "request, result, error")
    drop("saved searches", "saved_searches", "id", "name, request, error")
    drop("webhook messages", "webhook_deliveries", "id", "cast(body as text), error")
    drop("finished jobs", "jobs", "id", "params, message, result", "ended_at is not null")
    drop("ledger entries", "ledger", "source, location, item", "item, location, reason")
    removed["ledger entries"] += connection.execute(
        "delete from ledger where item in (select value from forget_traces where sort = 'id')"
    ).rowcount
    removed["research steps"] += _research_cleaned(connection, traces)
    removed["reading positions"] += _cursors_cleaned(connection, traces)
    return removed


def _research_cleaned(connection: Connection, traces: Traces) -> int:
    """Take forgotten questions and the hashes of forgotten results out of research steps."""
    cleaned = []
    for row, query, request, results, report in connection.execute(
        "select seq, query, request, results, report from search_operations"
    ).fetchall():
        asked = traces.found_in(_strings((query, request, report)))
        kept = [
            [ref, "" if ref in traces.refs else seen, relevance]
            for ref, seen, relevance in json.loads(results)
        ]
        if asked and not traces.has_ref(query):
            # As for a secret: the step stays in its chain and cannot be replayed.
            empty = json.loads(request)
            empty["search"] = {**empty.get("search", {}), "text": FORGOTTEN}
            cleaned.append((FORGOTTEN, json.dumps(empty), 1, json.dumps(kept), "{}", row))
        elif kept != json.loads(results):
            cleaned.append((query, request, 0, json.dumps(kept), report, row))
    connection.executemany(
        "update search_operations set query = ?, request = ?, redacted = max(redacted, ?),"
        " results = ?, report = ? where seq = ?",
        cleaned,
    )
    return len(cleaned)


def _cursors_cleaned(connection: Connection, traces: Traces) -> int:
    """Blank what a source remembers of the texts that it has read.

    A location that is read only once goes if its name gives the record away.
    """
    cleaned, gone = [], []
    for source, location, cursor, error, followed in connection.execute(
        "select source, location, cursor, error, followed from cursors"
    ).fetchall():
        key = (source, location)
        if not followed and traces.has_word(f"{location} {error}"):
            gone.append(key)
        elif (blank := _blanked([json.loads(cursor), error], traces)) != [
            json.loads(cursor),
            error,
        ]:
            cleaned.append((json.dumps(blank[0]), blank[1], *key))
    connection.executemany("delete from cursors where source = ? and location = ?", gone)
    connection.executemany(
        "update cursors set cursor = ?, error = ? where source = ? and location = ?", cleaned
    )
    return len(cleaned) + len(gone)


def _blanked(value: Any, traces: Traces) -> Any:
    match value:
        case str():
            return "" if traces.has_word(value) else value
        case list():
            return [_blanked(item, traces) for item in value]
        case dict():
            return {key: _blanked(item, traces) for key, item in value.items()}
        case _:
            return value


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
        refs = {found.removeprefix("local:") for found in _strings((result,)) if _is_ref(found)}
        if refs - existing:
            gone.append((row,))
    connection.executemany("delete from search_jobs where seq = ?", gone)
    removed["background searches"] = len(gone)
    asked = connection.execute("select id, query from search_log").fetchall()
    unknown = _without_known(connection, {w for _, query in asked for w in words_of(query)})
    unasked = [(row,) for row, query in asked if not unknown.isdisjoint(words_of(query))]
    connection.executemany("delete from search_log where id = ?", unasked)
    removed["searches in the log"] = len(unasked)
    return removed


def _is_ref(text: str) -> bool:
    kind, _, number = text.removeprefix("local:").partition(":")
    return kind.isidentifier() and number.isdecimal()


def _strings(values: Sequence[Any]) -> Iterator[str]:
    """The texts in ``values``; of JSON its strings, because its keys are ours."""
    for value in values:
        if isinstance(value, str) and value[:1] in ("{", "["):
            try:
                yield from _leaves(json.loads(value))
                continue
            except ValueError:
                pass
        if isinstance(value, str):
            yield value


def _leaves(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _leaves(item)
        case dict():
            for item in value.values():
                yield from _leaves(item)
