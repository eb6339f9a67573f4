"""What quotes or names a forgotten record elsewhere in the store (``storage.rules.quotes``): found,
and removed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar, Final

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
from mem_search.storage.sql.connection import Json, from_json
from mem_search.text.dates import now_ms

FACETS: Final = "(select string_agg(value, ' ') from facets f where f.record_id = r.id)"
_REF: Final = "r.kind || ':' || r.id"
_SHARED: Final = (
    "select source from cursors union select source from records union select kind from records"
    " union select value from facets"
)


class Quotes(ABC):
    """Those of a store, in one transaction."""

    word: ClassVar[str]
    """The column of ``words`` with the word."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @abstractmethod
    def only_in(self, wanted: set[str], chosen: Sequence[int]) -> Iterable[str]:
        """Those of ``wanted`` that only ``chosen`` records have."""

    @abstractmethod
    def as_text(self, column: str) -> str:
        """A column of ``QUOTING``; ``body`` has bytes."""

    def note_traces(self, numbers: Sequence[int]) -> None:
        """Remember what gives these records away, until nothing in the store has it any more."""
        rows = self._connection.execute(
            f"select {_REF}, r.source_id, r.project, r.session, r.title, r.body, r.url,"
            f" r.data::text, {FACETS} from records r where r.id = any(%s)",
            (list(numbers),),
        )
        traces: set[tuple[str, str]] = set()
        for ref, source_id, project, session, title, body, url, data, facets in rows:
            texts = [source_id, project, session, title, body, url, facets]
            traces |= {("word", word) for word in noted(texts, data)}
            traces |= {("id", name) for name in (source_id, project, session) if name}
            traces.add(("ref", ref))
        uploads = self._connection.column(
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
        traces |= {("id", name) for name in uploads}
        self._connection.insert(
            "forget_traces", ("sort text", "value text"), list(traces), "on conflict do nothing"
        )

    def traces_left(self) -> Traces:
        """What was noted, without the words that some record still has."""
        by_sort: dict[str, set[str]] = {"word": set(), "ref": set(), "id": set()}
        for sort, value in self._connection.execute("select sort, value from forget_traces"):
            by_sort[sort].add(value)
        if not by_sort["word"] and not by_sort["id"]:
            return Traces(frozenset(), frozenset(by_sort["ref"]))
        gone = by_sort["word"] - self._known(by_sort["word"])
        held = self._connection.column(
            "select distinct project from records union select distinct session from records"
        )
        shared = self._connection.column(
            f"select location from cursors where followed union {_SHARED}"
        )
        return traces_of(gone, by_sort["ref"], by_sort["id"], frozenset(held), shared)

    def saved_searches_naming(self, numbers: Sequence[int]) -> list[str]:
        """The saved searches that ``remove`` would remove, were these records forgotten."""
        searches = {
            name: list(strings(texts))
            for name, *texts in self._connection.execute(
                "select name, name, request, error from saved_searches order by lower(name)"
            )
        }
        chosen = list(numbers)
        refs = self._connection.column(
            f"select {_REF} from records r where r.id = any(%s)", (chosen,)
        )
        names = frozenset(
            name
            for column in ("project", "session")
            for name in self._connection.column(
                f"select {column} from records where id = any(%(numbers)s)"
                f" except select {column} from records where id != all(%(numbers)s)",
                {"numbers": chosen},
            )
            if len(name) >= MIN_TELLING_LETTERS
        )
        said = {
            each for texts in searches.values() for text in texts for each in words_and_parts(text)
        }
        shared = self._connection.column(f"{_SHARED} where record_id != all(%s)", (chosen,))
        wanted = said - FIELD_WORDS - words_of(" ".join(shared))
        traces = Traces(frozenset(self.only_in(wanted, chosen)), frozenset(refs), names)
        return [name for name, texts in searches.items() if traces.found_in(texts)]

    def remove(self, traces: Traces) -> Counter[str]:
        """Remove what quotes or names the forgotten records; returns how much, by place."""
        removed: Counter[str] = Counter()
        for place, table, key, columns in QUOTING:
            texts = ", ".join(map(self.as_text, columns))
            condition = " where ended_at is not null" if table == "jobs" else ""
            rows = self._connection.execute(
                f"select {', '.join(key)}, {texts} from {table}{condition}"
            ).fetchall()
            gone = [r[: len(key)] for r in rows if traces.found_in(strings(r[len(key) :]))]
            match_key = " and ".join(f"{name} = %s" for name in key)
            removed[place] += self._connection.many(f"delete from {table} where {match_key}", gone)
        removed["ledger entries"] += self._connection.execute(
            "delete from ledger where item in (select value from forget_traces where sort = 'id')"
        ).rowcount
        removed["research steps"] += self._research_cleaned(traces)
        removed["reading positions"] += self._cursors_cleaned(traces)
        return removed

    def remove_dangling(self) -> Counter[str]:
        """What names records that no longer exist, and logged searches for words that none has."""
        ask = self._connection
        existing = set(ask.column(f"select {_REF} from records r"))
        removed: Counter[str] = Counter()
        results = ask.column("select results from search_operations")
        named = {ref for each in results for ref, _, _ in from_json(each)}
        removed["research steps"] = self._research_cleaned(
            Traces(frozenset(), frozenset(named - existing))
        )
        jobs = ask.execute("select seq, result from search_jobs where result is not null")
        gone = [(row,) for row, result in jobs if refs_in(result) - existing]
        removed["background searches"] = ask.many("delete from search_jobs where seq = %s", gone)
        asked = ask.execute("select id, query from search_log").fetchall()
        said = {word for _, query in asked for word in words_of(query)}
        unknown = said - self._known(said)
        removed["searches in the log"] = ask.many(
            "delete from search_log where id = %s",
            [(row,) for row, query in asked if not unknown.isdisjoint(words_of(query))],
        )
        return removed

    def _known(self, wanted: Collection[str]) -> set[str]:
        """Those of these words that some record has."""
        return set(
            self._connection.column(
                "select d.asked from unnest(%s::text[]) d(asked)"
                f" where exists (select 1 from words w where w.{self.word} = d.asked)",
                (sorted(wanted),),
            )
        )

    def _research_cleaned(self, traces: Traces) -> int:
        """Take forgotten questions and the hashes of forgotten results out of research steps."""
        changed = []
        for row, query, request, redacted, results, report in self._connection.execute(
            "select seq, query, request, redacted, results, report from search_operations"
        ):
            step = Step(
                query, from_json(request), bool(redacted), from_json(results), from_json(report)
            )
            if (better := cleaned(step, traces)) != step:
                texts = (Json(each) for each in (better.request, better.results, better.report))
                changed.append((better.query, better.redacted, *texts, row))
        return int(
            self._connection.many(
                "update search_operations set query = %s, redacted = %s, request = %s,"
                " results = %s, report = %s where seq = %s",
                changed,
            )
        )

    def _cursors_cleaned(self, traces: Traces) -> int:
        """Blank what a source remembers of the texts that it has read.

        A location that is read only once goes if its name gives the record away.
        """
        changed, gone = [], []
        for source, location, stored, error, followed in self._connection.execute(
            "select source, location, cursor, error, followed from cursors"
        ):
            cursor = from_json(stored)
            said = [cursor, error]
            if not followed and as_read_once(location, cursor, error, traces):
                gone.append((source, location))
            elif (
                blank := blanked([without_gone(location, cursor, traces), error], traces)
            ) != said:
                changed.append((Json(blank[0]), blank[1], source, location))
        removed: int = self._connection.many(
            "delete from cursors where source = %s and location = %s", gone
        )
        return removed + int(
            self._connection.many(
                "update cursors set cursor = %s, error = %s where source = %s and location = %s",
                changed,
            )
        )
