"""What a distributed PostgreSQL needs to shard by owner: no statement reads across owners.

The server logs each statement that a search and other frequent operations send. Its plan, with
what row-level security adds, has to name one owner in every scan of a table with owners. So all of
a statement's rows are on one shard, and no join crosses shards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from drafts import draft
from mem_search.model import DateRange, Filters, SearchRequest
from mem_search.settings import Settings
from mem_search.storage.postgres.migrations import SCHEMA, TABLES
from mem_search.wiring import open_runtime
from postgres_server import server
from runtimes import fill

_LOGGED = re.compile(r"^\S.*?(?:LOG:  (?:statement|execute [^:]*): )", re.MULTILINE)
_READS = re.compile(r"\s*(?:with|select|insert|update|delete)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A database whose statements are logged."""
    name = f"plans_{uuid4().hex[:8]}"
    made = server().create_database(name)
    server().query(f"alter database {name} set log_statement = 'all'")
    yield made
    server().query(f"drop database {name} with (force)")


async def test_every_scan_of_a_frequent_statement_is_of_one_owner(
    tmp_path: Path, address: str
) -> None:
    log = server().folder / "log"
    settings = Settings(
        home=tmp_path, port=0, embedder="hashing", follow=0, store=address, store_owner="ana"
    )
    async with open_runtime(settings) as runtime:
        before = log.stat().st_size
        await fill(
            runtime,
            *(draft(f"{n}", f"a lighthouse by the sea {n}", title=f"{n}") for n in range(30)),
        )
        search = runtime.search.service.search
        for filters in (
            Filters(),
            Filters(project="demo"),
            Filters(kinds=("note",), created=DateRange(start=1)),
            Filters(facets=(("tag", "sea"),)),
        ):
            for text in ("lighthouse sea", '"by the sea"', "light*", "" if filters else "sea"):
                await search(SearchRequest(text=text, filters=filters), "test")
        with log.open("rb") as file:
            file.seek(before)
            statements = logged(file.read().decode())
    assert len(statements) > 20
    scanned: set[str] = set()
    with psycopg.connect(address) as connection:
        connection.execute(f"set search_path = {SCHEMA}, public")
        connection.execute("set mem_search.owner = 'ana'")
        connection.execute("set mem_search.worker = 'w'")
        connection.execute("set mem_search.home = 'h'")
        for statement in statements:
            for table, conditions in scans(explained(connection, statement)):
                if table.startswith("pg_"):
                    continue  # each server has a catalogue of its own
                scanned.add(table)
                assert "owner" in conditions, f"{table} in {statement}"
    assert {"records", "passages", "postings", "vectors", "words", "facets"} <= scanned
    assert scanned <= set(TABLES)


@pytest.mark.parametrize(
    ("statement", "index", "condition"),
    [
        ("select id from records where project_lower = $1", "_project_lower_", "project_lower ="),
        ("select id from records where kind = any($1::text[])", "_kind_", "kind ="),
        ("select id from records where created_at >= 9000000000000", "", "created_at >"),
        ("select record_id from facets where name = 'tag' and value_lower = any($1::text[])",
         "_value_lower_", "value_lower ="),
        ("select min(project) from records where project > $1", "_project_idx", "project >"),
        ("select min(source) from records where source > $1", "_source_", "source >"),
        ("select min(value) from facets where name = 'tag' and value > $1", "", "value >"),
    ],
)  # fmt: skip
async def test_a_filter_and_a_list_of_values_read_an_index_alone(
    tmp_path: Path, address: str, statement: str, index: str, condition: str
) -> None:
    """The pages of a million records are read in a second, those of an index in a tenth."""
    owner = tmp_path.name
    settings = Settings(
        home=tmp_path, port=0, embedder="hashing", follow=0, store=address, store_owner=owner,
        redaction_key="aa" * 32,
    )  # fmt: skip
    async with open_runtime(settings) as runtime:
        await fill(runtime, *(draft(f"{n}", f"a lighthouse {n}", project=f"p{n % 9}", tags=("sea",))
                              for n in range(200)))  # fmt: skip
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"vacuum analyze {SCHEMA}.records, {SCHEMA}.facets")
        connection.execute(f"set search_path = {SCHEMA}, public")
        connection.execute(f"set mem_search.owner = '{owner}'")
        # So few records would be read whole.
        connection.execute("set enable_seqscan = off")
        connection.execute("set enable_bitmapscan = off")
        [scan] = [
            each for each in nodes(explained(connection, statement)) if "Scan" in each["Node Type"]
        ]
    assert scan["Node Type"] == "Index Only Scan"
    assert index in scan["Index Name"]
    assert condition in scan["Index Cond"]
    assert "lower" not in scan.get("Filter", "")


def logged(text: str) -> list[str]:
    """The different statements of a log that read or write rows."""
    starts = [*_LOGGED.finditer(text)]
    ends = [*(each.start() for each in starts[1:]), len(text)]
    found = dict.fromkeys(
        _statement(text[start.end() : end]) for start, end in zip(starts, ends, strict=True)
    )
    return [each for each in found if _READS.match(each)]


def _statement(text: str) -> str:
    """The statement that ``text`` begins with: its later lines begin with a tab."""
    first, *rest = text.split("\n")
    lines = [first]
    for line in rest:
        if not line.startswith("\t"):
            break
        lines.append(line)
    return "\n".join(lines)


def explained(connection: psycopg.Connection[Any], statement: str) -> dict[str, Any]:
    row = connection.execute(
        f"explain (generic_plan, format json) {statement}".encode(), prepare=False
    ).fetchone()
    assert row is not None
    found = row[0] if isinstance(row[0], list) else json.loads(row[0])
    plan: dict[str, Any] = found[0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """``plan`` and all below it."""
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)


def scans(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each table that ``plan`` scans, and the conditions of that scan."""
    if (table := plan.get("Relation Name")) and "Scan" in plan["Node Type"]:
        conditions = [
            str(value)
            for node in [plan, *plan.get("Plans", ())]
            for name, value in node.items()
            if name.endswith(("Cond", "Filter"))
        ]
        yield table, " ".join(conditions)
    for each in plan.get("Plans", ()):
        yield from scans(each)
