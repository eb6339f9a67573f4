"""New attributes for a store: every filter gets every share, and nothing else changes."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from drafts import draft, store
from mem_search.http.core.parameters import SearchParameters
from mem_search.storage.sql import records
from mem_search.storage.sqlite.connection import SqliteConnection
from mem_search.storage.sqlite.filters import FILTERS as SQL
from mem_search.storage.sqlite.migrations import migrate

sys.path.append(str(Path(__file__).parents[2] / "scripts" / "benchmarks"))

from filing import KINDS, SHARES, file_anew

RECORDS = 1000
FIRST = 1_700_000_000_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    connection = sqlite3.connect(
        tmp_path / "mem-search.db", isolation_level=None, factory=SqliteConnection
    )
    migrate(connection)
    connection.execute("begin")
    store(
        connection,
        *(
            draft(
                f"d{i}", f"words of {i}", project=f"p{i % 7}", created_at=FIRST + i, tags=("old",)
            )
            for i in range(RECORDS)
        ),
    )
    connection.execute("commit")
    connection.close()
    return tmp_path


def test_every_filter_lets_its_share_of_the_records_pass(home: Path) -> None:
    filed = file_anew(home)
    assert set(filed) == {"project", "kind", "type", "tag", "date"}
    connection = sqlite3.connect(home / "mem-search.db", factory=SqliteConnection)
    for sort, by_share in filed.items():
        assert tuple(by_share) == SHARES
        for share, parameters in by_share.items():
            asked = SearchParameters.model_validate(
                {name: str(value) for name, value in parameters.items()}
            )
            passing = sum(
                records.counts(connection, SQL.where(connection, asked.search().filters)).values()
            )
            spread = 0 if sort in ("date", "project") else 4 * (RECORDS * share) ** 0.5
            assert passing == pytest.approx(RECORDS * share, abs=spread), (sort, share)
    connection.close()


def test_passages_go_with_their_records_and_texts_stay(home: Path) -> None:
    file_anew(home)
    connection = sqlite3.connect(home / "mem-search.db", factory=SqliteConnection)
    rows = connection.execute(
        "select p.kind, count(*) from passages p join records r on r.id = p.record_id"
        " where p.kind = r.kind group by 1"
    )
    kinds = dict(rows.fetchall())
    assert sum(kinds.values()) == RECORDS
    assert set(kinds) <= {*KINDS, "note"}
    assert connection.execute(
        "select count(distinct body) from records where body like 'words of %'"
    ).fetchone() == (RECORDS,)
    connection.close()


def test_a_new_project_is_made_of_whole_old_ones_but_at_its_ends(home: Path) -> None:
    connection = sqlite3.connect(home / "mem-search.db", factory=SqliteConnection)
    before = dict(connection.execute("select id, project from records").fetchall())
    file_anew(home)
    half = connection.execute("select id from records where project = 'project-50.0%'").fetchall()
    olds = [before[number] for (number,) in half]
    assert {old: olds.count(old) for old in set(olds)} == {
        "p0": 143,
        "p1": 143,
        "p2": 143,
        "p3": 71,
    }
    connection.close()


def test_the_same_store_is_always_filed_alike(home: Path, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("other")
    shutil.copy(home / "mem-search.db", other)
    assert file_anew(home) == file_anew(other)
    contents = []
    for folder in (home, other):
        connection = sqlite3.connect(folder / "mem-search.db")
        contents.append(
            connection.execute("select id, kind, project from records order by id").fetchall()
        )
        connection.close()
    assert contents[0] == contents[1]
