"""Filters as SQL: the one place that decides which records may be returned.

``where`` gives a condition over ``records r`` with its parameters. Letters of ASCII count
in either case, as in SQLite: text has the collation "C" here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mem_search.model import AllOf, AnyOf, Condition, Demand, Filters, MetadataTest, Not, Term
from mem_search.storage.postgres import fulltext
from mem_search.storage.postgres.connection import Connection
from mem_search.storage.rules import bm25
from mem_search.storage.rules.demands import word_query
from mem_search.storage.rules.names import ascii_lower
from mem_search.text.words import is_cjk


def where(connection: Connection, filters: Filters) -> tuple[str, list[Any]]:
    """A condition over ``records r`` (``"true"`` without filters) and its parameters.

    Words that a record has to have are looked up at once, in the same snapshot.
    """
    terms: list[str] = []
    values: list[Any] = []

    def add(term: str, /, *parameters: Any) -> None:
        terms.append(term)
        values.extend(parameters)

    if filters.kinds:
        add("r.kind = any(%s::text[])", list(filters.kinds))
    if filters.project:
        # Many tools write project names in different cases; no two projects differ in case only.
        add("r.project_lower = %s", ascii_lower(filters.project))
    if filters.session:
        add("r.session = %s", filters.session)
    if filters.source:
        add("r.source = %s", filters.source)
    spans = {
        "created_at": filters.created,
        "updated_at": filters.updated,
        "stored_at": filters.stored,
    }
    for column, span in spans.items():
        if span.start is not None:
            add(f"r.{column} >= %s", span.start)
        if span.end is not None:
            add(f"r.{column} <= %s", span.end)
    if filters.importance is not None:
        add("r.importance >= %s", filters.importance)
    if filters.archived is not None:
        add("r.archived = %s", filters.archived)
    if filters.superseded is not None:
        add(f"r.superseded_by is {'not ' if filters.superseded else ''}null")
    for condition, parameters in _facets(filters):
        add(
            f"exists (select 1 from facets x where x.record_id = r.id and {condition})",
            *parameters,
        )
    if filters.url:
        add("r.url ilike %s", f"%{_any_letters(filters.url)}%")
    for test in filters.metadata:
        add(*_metadata(test))
    if filters.without:
        add("not r.id = any(%s)", list(filters.without))
    if filters.demand is not None:
        term, parameters = _demand(connection, filters.demand)
        add(term, *parameters)
    return " and ".join(terms) or "true", values


def passing(connection: Connection, records: Collection[int], filters: Filters) -> set[int]:
    """Those of ``records`` that are within ``filters``."""
    condition, values = where(connection, filters)
    if condition == "true" or not records:
        return set(records)
    return set(
        connection.column(
            f"select r.id from records r where r.id = any(%s) and {condition}",
            (list(records), *values),
        )
    )


def _demand(connection: Connection, demand: Demand) -> tuple[str, list[Any]]:
    """A condition with its parameters."""
    match demand:
        case Term():
            return _term(connection, demand)
        case Condition():
            parts = [where(connection, filters) for filters in demand.any_of]
            return _joined(" or ", parts) if parts else ("false", [])
        case Not():
            inside, values = _demand(connection, demand.of)
            return f"not {inside}", values
        case AllOf():
            return _joined(" and ", [_demand(connection, part) for part in demand.of])
        case AnyOf():
            return _joined(" or ", [_demand(connection, part) for part in demand.of])


def _term(connection: Connection, term: Term) -> tuple[str, list[Any]]:
    if term.column and any(map(is_cjk, term.words)):
        # The index holds these characters apart from title and text.
        column = "r.title" if term.column == "title" else "r.body"
        return f"{column} like %s", [f"%{_like(' '.join(term.words))}%"]
    column_of = bm25.COLUMNS.index(term.column) if term.column else None
    passages = fulltext.matched(connection, word_query(term), column_of)
    records = connection.column(
        "select distinct record_id from passages where id = any(%s)", (passages.tolist(),)
    )
    return "r.id = any(%s)", [records]


def _joined(operator: str, parts: list[tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    return (
        f"({operator.join(f'({inside})' for inside, _ in parts)})",
        [value for _, values in parts for value in values],
    )


def _facets(filters: Filters) -> list[tuple[str, list[Any]]]:
    """Conditions over ``facets x``, with their parameters: a record needs a facet for each."""
    wanted = [
        (name, values)
        for name, values in (
            ("type", filters.types),
            ("concept", filters.concepts),
            ("tag", filters.tags),
        )
        if values
    ]
    wanted += [(name, (value,)) for name, value in filters.facets]
    found: list[tuple[str, list[Any]]] = [
        ("x.name = %s and x.value_lower = any(%s::text[])", [name, [*map(ascii_lower, values)]])
        for name, values in wanted
    ]
    if filters.any_facets:
        pairs = " or ".join(["x.name = %s and x.value_lower = %s"] * len(filters.any_facets))
        values = [part for name, value in filters.any_facets for part in (name, ascii_lower(value))]
        found.append((f"({pairs})", values))
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

    ``src/`` is everything below such a folder, ``src/*`` what lies directly in it.
    """
    alike = "x.value ilike %s"
    end = _like(file.removesuffix("*").lstrip("/"))
    if file.endswith("/"):
        return f"{alike} or {alike}", [f"{_like(file)}%", f"%/{end}%"]
    if file.endswith("/*"):
        start = _like(file.removesuffix("*"))
        directly = f"({alike} and not {alike})"
        values = [f"{start}%", f"{start}%/%", f"%/{end}%", f"%/{end}%/%"]
        return f"{directly} or {directly}", values
    return f"x.value_lower = %s or {alike}", [ascii_lower(file), f"%/{end}"]


_COMMON_DATES = r"'^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$'"
_DAY = len("2025-10-03")


def _metadata(test: MetadataTest) -> tuple[Any, ...]:
    """A condition over ``records r``, with its parameters. A list passes by one of its items."""
    held, values = _value_condition(test)
    # A value that is no list is read as a list of one.
    each = (
        "exists (select 1 from jsonb_array_elements(case jsonb_typeof(r.data #> %s)"
        " when 'array' then r.data #> %s else jsonb_build_array(r.data #> %s) end) e(j),"
        " lateral (select e.j #>> '{}' collate \"C\" as value, jsonb_typeof(e.j) as type) v"
        f" where {held})"
    )
    alternatives: list[str] = []
    parameters: list[Any] = []
    for name in test.names:
        path = name.split(".")
        alternatives.append(f"r.data ? %s and {each}")
        parameters += [path[0], path, path, path, *values]
    if test.test == "has":  # tags and derived facets are not in the metadata
        alternatives.append(
            "exists (select 1 from facets x where x.record_id = r.id and x.name = any(%s::text[]))"
        )
        parameters.append(list(test.names))
    return f"({' or '.join(alternatives)})", *parameters


def _value_condition(test: MetadataTest) -> tuple[str, list[Any]]:
    """The condition of ``test`` over ``v``, a value with its type, and its parameters."""
    if test.test == "has":
        return "v.type != 'null' and v.value not in ('', '0', 'false')", []
    text = "v.type = 'string' and v.value ilike %s"
    if test.test == "contains":
        return text, [f"%{_any_letters(test.value)}%"]
    if test.test == "is":
        alternatives = [text, "v.type in ('boolean', 'null') and v.value = %s"]
        values: list[Any] = [_any_letters(test.value), ascii_lower(test.value)]
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
    # "case" decides what is converted: PostgreSQL may reorder the parts of an "and".
    if test.days is None:
        return f"case when v.type = 'number' then v.value::numeric {sign} %s else false end", [
            bound
        ]
    of_day = f"case when length(v.value) <= {_DAY} then %s else %s end"
    return (
        f"case when v.type = 'string' and v.value ~ {_COMMON_DATES} and pg_input_is_valid(v.value,"
        " 'timestamptz') then extract(epoch from v.value::timestamptz)::bigint * 1000"
        f" {sign} {of_day} else false end",
        [test.days[place], bound],
    )


def _any_letters(text: str) -> str:
    """``text`` for LIKE, where ``*`` stands for any letters."""
    return _like(text).replace("*", "%")


def _like(text: str) -> str:
    r"""``text`` with the wildcards of LIKE taken literally."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
