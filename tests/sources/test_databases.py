"""Databases of other programs: only what a plain table holds, in a process with limits."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import agent_sessions
import source_samples
from mem_search.errors import SourceError
from mem_search.model import Location
from mem_search.sources import by_name, databases
from mem_search.sources.databases import MISSING, UnreadableDatabase, foreign_database

LARGE = "hex(zeroblob(30000000))"


def made(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        for statement in statements:
            store.execute(statement)
    return path


def refusal(path: Path, sql: str = "select id, v from t") -> UnreadableDatabase:
    with pytest.raises(UnreadableDatabase) as refused, foreign_database(path, ("t",)) as store:
        store.rows(sql)
    return refused.value


def test_a_plain_table_is_read(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", "create table t(id integer primary key, v)",
                "insert into t values(1, 'one'), (2, x'00ff')")  # fmt: skip
    with foreign_database(path, ("t",), ("none",)) as store:
        assert store.columns == {"t": frozenset({"id", "v"})}
        assert store.rows("select id, v from t where id between ? and ?", 1, 2) == [
            (1, "one"), (2, b"\x00\xff"),
        ]  # fmt: skip
    with foreign_database(path, ("T",), as_bytes=True) as store:
        assert store.rows("select v from t where id = 1") == [(b"one",)]


@pytest.mark.parametrize(
    ("name", "statements"),
    [
        ("a view", [f"create view t as select 1 as id, {LARGE} as v"]),
        ("a recursive view", [
            "create view t as with recursive n(id) as (select 1 union all select id + 1 from n)"
            f" select id, {LARGE} as v from n",
        ]),
        ("a generated column", [
            f"create table t(id integer primary key, v generated always as ({LARGE}))",
            "insert into t(id) values(1), (2)",
        ]),
        ("a virtual table", ["create virtual table t using fts5(id, v)"]),
        ("a view that is listed as a table", [
            "create table t(id, v)", "pragma writable_schema = on",
            f"update sqlite_master set sql = 'create view t as select 1 as id, {LARGE} as v'",
        ]),
        ("a view behind a table of another name", [
            "create table other(id, v)", f"create view t as select 1 as id, {LARGE} as v",
            "pragma writable_schema = on",
            "update sqlite_master set name = 't' where name = 'other'",
            "update sqlite_master set name = 'z' where type = 'view'",
        ]),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_table_is_refused(
    tmp_path: Path, name: str, statements: list[str]
) -> None:
    error = refusal(made(tmp_path / "a.db", *statements))
    assert any(
        said in str(error)
        for said in ("plain table", "generated columns", "malformed", "prohibited")
    ), (name, str(error))


def test_a_query_runs_no_function_and_reads_no_table_but_its_own(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", "create table t(id, v)", "create table u(id)")
    for sql in (
        f"select id, {LARGE} from t", "select id from u", "select load_extension('x') from t",
        "attach ':memory:' as b", "pragma writable_schema = on", "delete from t",
        "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n",
    ):  # fmt: skip
        assert refusal(path, sql).name != MISSING, sql


def test_a_small_file_never_answers_with_gigabytes(tmp_path: Path) -> None:
    """A column that was added later has its default in every row, and takes no room in any."""
    path = made(
        tmp_path / "a.db", "create table t(id integer primary key)",
        "insert into t with recursive n(i) as (select 1 union all select i + 1 from n limit 5000)"
        " select i from n",
        f"alter table t add column v default '{'x' * 90_000}'",
    )  # fmt: skip
    assert path.stat().st_size < 400_000
    assert "far more than it holds" in str(refusal(path))


def test_a_value_longer_than_any_honest_one_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", "create table t(id, v)",
                "insert into t values(1, zeroblob(70000000))")  # fmt: skip
    assert "too big" in str(refusal(path))


def test_a_query_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "SECONDS", 4)  # of the process: the query has half of 60
    databases._IDLE.end()
    path = made(
        tmp_path / "a.db", "create table t(id integer primary key, v)",
        "insert into t with recursive n(i) as (select 1 union all select i + 1 from n limit 3000)"
        " select i, 1 from n",
    )  # fmt: skip
    slow = "select count(*), 1 from t a, t b, t c, t d where a.v = b.v"
    assert "seconds of processor time" in str(refusal(path, slow))


def test_a_pipe_or_a_link_to_one_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    (tmp_path / "link.db").symlink_to("pipe.db")
    (tmp_path / "zero.db").symlink_to("/dev/zero")
    for name in ("pipe.db", "link.db", "zero.db"):
        assert "not a file" in str(refusal(tmp_path / name))
    path = made(tmp_path / "a.db", "create table t(id, v)")
    os.mkfifo(tmp_path / "a.db-wal")
    assert "a.db-wal beside it is a pipe" in str(refusal(path))


def test_a_missing_table_is_told_from_a_damaged_file(tmp_path: Path) -> None:
    assert refusal(made(tmp_path / "a.db", "create table u(id)")).name == MISSING
    (tmp_path / "b.db").write_bytes(b"no database" * 1000)
    assert refusal(tmp_path / "b.db").name == "SQLITE_NOTADB"


Sample = Callable[[Path], Path]


@pytest.mark.parametrize(
    ("source", "sample", "table"),
    [
        ("claude-mem", source_samples.claude_mem, "observations"),
        ("opencode", agent_sessions.opencode, "part"),
        ("zed", agent_sessions.zed, "threads"),
        ("kiro", agent_sessions.kiro, "conversations_v2"),
    ],
)
def test_every_source_refuses_a_generated_column(
    tmp_path: Path, source: str, sample: Sample, table: str
) -> None:
    path = sample(tmp_path)
    made(path, f"alter table {table} add column bomb generated always as ({LARGE})")
    with pytest.raises(SourceError, match=rf"its {table} has generated columns \(bomb\)"):
        list(by_name(source).read(Location(source, str(path)), {}))
