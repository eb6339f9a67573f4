"""Filters as SQL: the one place that decides which records a search may return.

``where(filters)`` gives a condition over ``records r`` with its parameters, used unchanged by
every leg, by browsing, counting and deleting, so that no leg can see a different corpus.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection
from typing import Any

from mem_search.model import AllOf, AnyOf, Condition, Demand, Filters, MetadataTest, Not, Term
from mem_search.storage.rules.demands import word_query
from mem_search.storage.sqlite import fulltext
from mem_search.text.words import is_cjk

Where = Callable[[Filters], tuple[str, list[Any]]]


def demand_condition(demand: Demand, where: Where) -> tuple[str, list[Any]]:
    """A condition with its parameters; ``where`` turns the filters of a field into one."""
    match demand:
        case Term():
            expression = fulltext.expression(word_query(demand))
            if demand.column and any(map(is_cjk, demand.words)):
                # The index holds these characters apart from title and text.
                column = "r.title" if demand.column == "title" else "r.body"
                return f"{column} like ? escape '\\'", [f"%{like(' '.join(demand.words))}%"]
            if demand.column:
                expression = f"{demand.column} : ({expression})"
            return (
                "r.id in (select q.record_id from passages_fts"
                " join passages q on q.id = passages_fts.rowid where passages_fts match ?)",
                [expression],
            )
        case Condition():
            return _joined(" or ", [where(filters) for filters in demand.any_of])
        case Not():
            inside, values = demand_condition(demand.of, where)
            return f"not {inside}", values
        case AllOf():
            return _joined(" and ", [demand_condition(part, where) for part in demand.of])
        case AnyOf():
            return _joined(" or ", [demand_condition(part, where) for part in demand.of])


def _joined(operator: str, parts: list[tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    return (
        f"({operator.join(f'({inside})' for inside, _ in parts)})",
        [value for _, values in parts for value in values],
    )


def where(filters: Filters) -> tuple[str, list[Any]]:
    """A condition over ``records r`` (``"1"`` without filters) and its parameters."""
    terms: list[str] = []
    values: list[Any] = []

    def add(term: str, /, *parameters: Any) -> None:
        terms.append(term)
        values.extend(parameters)

    if filters.kinds:
        add(f"r.kind in ({_marks(filters.kinds)})", *filters.kinds)
    if filters.project:
        # Many tools write project names in different cases; no two projects differ in case only.
        add("r.project = ? collate nocase", filters.project)
    if filters.session:
        add("r.session = ?", filters.session)
    if filters.source:
        add("r.source = ?", filters.source)
    spans = {
        "created_at": filters.created,
        "updated_at": filters.updated,
        "stored_at": filters.stored,
    }
    for column, span in spans.items():
        if span.start is not None:
            add(f"r.{column} >= ?", span.start)
        if span.end is not None:
            add(f"r.{column} <= ?", span.end)
    if filters.importance is not None:
        add("r.importance >= ?", filters.importance)
    if filters.archived is not None:
        add("r.archived = ?", int(filters.archived))
    if filters.superseded is not None:
        add(f"r.superseded_by is {'not ' if filters.superseded else ''}null")
    for condition, parameters in facets(filters):
        add(
            f"exists (select 1 from facets x where x.record_id = r.id and {condition})",
            *parameters,
        )
    if filters.url:
        add("r.url like ? escape '\\'", f"%{_any_letters(filters.url)}%")
    for test in filters.metadata:
        add(*_metadata(test))
    if filters.without:
        add("r.id not in (select value from json_each(?))", json.dumps(filters.without))
    if filters.demand is not None:
        term, parameters = demand_condition(filters.demand, where)
        add(term, *parameters)
    return " and ".join(terms) or "1", values


def facets(filters: Filters) -> list[tuple[str, list[Any]]]:
    """Conditions over ``facets x``, with their parameters: a record needs a facet for each."""

    def named(names: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, list[Any]]:
        return (
            f"x.name in ({_marks(names)}) and x.value collate nocase in ({_marks(wanted)})",
            [*names, *wanted],
        )

    found = [
        named((name,), wanted)
        for name, wanted in (
            ("type", filters.types),
            ("concept", filters.concepts),
            ("tag", filters.tags),
        )
        if wanted
    ]
    found += [named((name,), (value,)) for name, value in filters.facets]
    if filters.any_facets:
        pairs = " or ".join(["x.name = ? and x.value = ? collate nocase"] * len(filters.any_facets))
        found.append((f"({pairs})", [part for pair in filters.any_facets for part in pair]))
    if filters.files:
        paths = [_path(file.removeprefix("./")) for file in filters.files]
        condition = " or ".join(condition for condition, _ in paths)
        found.append(
            (
                f"x.name in ('file_read', 'file_modified', 'path') and ({condition})",
                [value for _, values in paths for value in values],
            )
        )
    return found


def _path(file: str) -> tuple[str, list[str]]:
    """A path matches whole or after a separator: ``auth.py`` finds ``src/auth.py``.

    ``src/`` is everything below such a folder, ``src/*`` what lies directly in it. LIKE ignores
    the case of ASCII letters, so the whole match does as well.
    """
    alike = "x.value like ? escape '\\'"
    end = like(file.removesuffix("*").lstrip("/"))
    if file.endswith("/"):
        return f"{alike} or {alike}", [f"{like(file)}%", f"%/{end}%"]
    if file.endswith("/*"):
        start = like(file.removesuffix("*"))
        directly = f"({alike} and not {alike})"
        values = [f"{start}%", f"{start}%/%", f"%/{end}%", f"%/{end}%/%"]
        return f"{directly} or {directly}", values
    return f"x.value = ? collate nocase or {alike}", [file, f"%/{end}"]


_MS_OF_DATE = "strftime('%s', v.value) * 1000"
_DAY = len("2025-10-03")


def _metadata(test: MetadataTest) -> tuple[Any, ...]:
    """A condition over ``records r``, with its parameters. A list passes by one of its items."""
    held, values = value_condition(test)
    paths_of: dict[str, list[str]] = {}
    for name in test.names:
        key = json.dumps(name.partition(".")[0], ensure_ascii=False)
        paths_of.setdefault(key, []).append(metadata_path(name))
    alternatives: list[str] = []
    parameters: list[Any] = []
    for key, paths in paths_of.items():
        # Most records have no such key, and looking for it costs less than parsing JSON.
        each = [f"exists (select 1 from json_each(r.data, ?) v where {held})"] * len(paths)
        alternatives.append(f"instr(r.data, ?) and ({' or '.join(each)})")
        parameters += [key, *(each for path in paths for each in (path, *values))]
    if test.test == "has":  # tags and derived facets are not in the metadata
        alternatives.append(
            "exists (select 1 from facets x where x.record_id = r.id"
            f" and x.name in ({_marks(test.names)}))"
        )
        parameters += test.names
    return f"({' or '.join(alternatives)})", *parameters


def metadata_path(name: str) -> str:
    """The path of a field of metadata in JSON; a full stop leads into objects."""
    return "$" + "".join(f'."{key}"' for key in name.split("."))


def value_condition(test: MetadataTest) -> tuple[str, list[Any]]:
    """The condition of ``test`` over values ``v`` of ``json_each``, and its parameters."""
    if test.test == "has":
        return "v.type not in ('null', 'false') and v.value not in ('', 0)", []
    if test.test == "contains":
        return "v.type = 'text' and v.value like ? escape '\\'", [f"%{_any_letters(test.value)}%"]
    if test.test == "is":
        alternatives = ["v.type = 'text' and v.value like ? escape '\\'", "v.type = lower(?)"]
        values: list[Any] = [_any_letters(test.value), test.value]
        if test.bounds is not None:
            above, least = _compared(test, ">=", 0)
            below, most = _compared(test, "<=", 1)
            alternatives.append(f"{above} and {below}")
            values += [*least, *most]
        return " or ".join(alternatives), values
    # After a day means after its end, before a day before its beginning.
    return _compared(test, test.test, int(test.test in (">", "<=")))


def _compared(test: MetadataTest, sign: str, place: int) -> tuple[str, list[Any]]:
    """The comparison of ``v`` with the first (0) or the last bound (1)."""
    assert test.bounds is not None
    bound = test.bounds[place]
    if test.days is None:
        return f"v.type in ('integer', 'real') and v.value {sign} ?", [bound]
    of_day = f"case when length(v.value) <= {_DAY} then ? else ? end"
    return f"v.type = 'text' and {_MS_OF_DATE} {sign} {of_day}", [test.days[place], bound]


def passing(connection: sqlite3.Connection, records: Collection[int], filters: Filters) -> set[int]:
    """Those of ``records`` that are within ``filters``."""
    condition, values = where(filters)
    if condition == "1":
        return set(records)
    rows = connection.execute(
        "select r.id from records r where r.id in (select value from json_each(?))"
        f" and {condition}",
        (json.dumps(list(records)), *values),
    )
    return {number for (number,) in rows}


def is_met(connection: sqlite3.Connection, filters: Filters) -> bool:
    """Whether any record passes."""
    condition, values = where(filters)
    statement = f"select exists (select 1 from records r where {condition})"
    return bool(connection.execute(statement, values).fetchone()[0])


def _any_letters(text: str) -> str:
    """``text`` for LIKE, where ``*`` stands for any letters."""
    return like(text).replace("*", "%")


def like(text: str) -> str:
    r"""``text`` with the wildcards of LIKE taken literally (``escape '\'``)."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _marks(values: tuple[str, ...]) -> str:
    return ", ".join("?" * len(values))
