"""Statements of both engines in SQLite's form."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from mem_search.storage.sql.connection import FREE, HERE, MINE, OWN_HOME, Json, from_json
from mem_search.storage.sqlite.connection import SqliteConnection, for_sqlite


@pytest.mark.parametrize(
    ("shared", "own"),
    [
        ("a = %s and b = %(name)s", "a = ? and b = :name"),
        ("a = any(%s::text[])", "a in (select value from json_each(?))"),
        ("a != all(%(left)s)", "a not in (select value from json_each(:left))"),
        ('lower(%(n)s::text collate "C")', "lower(:n)"),
        ("on conflict(owner, lower(name)) do nothing", "on conflict(name) do nothing"),
        ("on conflict(owner, id) do nothing", "on conflict(id) do nothing"),
        ("request ->> 'budget' = %s", "json_extract(request, '$.budget') = ?"),
        ("greatest(%s, least(1, strpos(a, b)))", "max(?, min(1, instr(a, b)))"),
        ("set a = 1, worker = null where b = %s", "set a = 1 where b = ?"),
        ("select 1 from t for update", "select 1 from t"),
        ("limit 1 for update skip locked) returning id", "limit 1) returning id"),
        (
            f"set worker_name = 1, worker = {MINE} where {HERE} and {FREE}",
            "set worker_name = 1 where true and true",
        ),
        (f"where id = %s and worker = {MINE}", "where id = ?"),
        (f"(not %s or {OWN_HOME} and {FREE})", "(not ? or true and true)"),
        ("result || %(more)s::jsonb", "json_patch(result, :more)"),
        ("jsonb_build_object('a', data -> 'a')", "json_object('a', json_extract(data, '$.a'))"),
        ("like '50%%' or %s", "like '50%' or ?"),
        (
            "from unnest(%s::text[]) one(word) cross join t",
            "from (select value as word from json_each(?)) one cross join t",
        ),
        ("group by x.value_lower", "group by lower(x.value)"),
        ("title || chr(10) || body", "title || char(10) || body"),
        ("forward = %s and allow", "forward = ? and allow"),
    ],
)
def test_a_shared_statement_gets_the_form_of_sqlite(shared: str, own: str) -> None:
    assert for_sqlite(shared) == own


def test_lists_json_and_rows_are_those_of_both_engines() -> None:
    with closing(sqlite3.connect(":memory:", factory=SqliteConnection)) as connection:
        connection.execute("create table t(id integer primary key, data text)")
        added = connection.many(
            "insert into t values(%s, %s)", [(n, Json({"n": n})) for n in (1, 2, 3)]
        )
        assert added == 3
        assert connection.column("select id from t where id = any(%s) order by id", ([3, 1],)) == [
            1,
            3,
        ]
        assert connection.count("select count(*) from t where id != all(%s)", ([3],)) == 2
        again = [(3, None), (4, None)]
        connection.insert("t", ("id bigint", "data jsonb"), again, "on conflict do nothing")
        assert connection.column("select id from t where data is null") == [4]
        connection.execute("delete from t where id = %s", (4,))
        assert connection.maybe("select 1 from t where id = %s", (9,)) is None
        (stored,) = connection.one("select data from t where id = %(id)s", {"id": 2})
        assert from_json(stored) == {"n": 2} == from_json({"n": 2})


def test_a_statement_of_sqlite_is_run_as_it_stands() -> None:
    with closing(sqlite3.connect(":memory:", factory=SqliteConnection)) as connection:
        assert connection.execute("select ? || '% for update'", ("a",)).fetchone() == (
            "a% for update",
        )


def test_memory_that_a_damaged_index_asks_for_is_an_error_of_the_database() -> None:
    def greedy() -> None:
        raise MemoryError

    with closing(sqlite3.connect(":memory:", factory=SqliteConnection)) as connection:
        connection.create_function("greedy", 0, greedy)
        for statement, values in (("select greedy()", ()), ("select greedy(), %s", (1,))):
            with pytest.raises(sqlite3.DatabaseError, match="more memory than there is"):
                connection.execute(statement, values)
