"""Which records a filter lets pass, in SQL and in Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import drafts
from drafts import store
from mem_search.model import DateRange, Filters, Record
from mem_search.storage.sql import records
from mem_search.storage.sqlite.database import Connection
from mem_search.storage.sqlite.filters import FILTERS as SQL


@pytest.fixture
def numbers(connection: Connection) -> dict[str, int]:
    """Ten records that differ in everything that can be filtered by: source_id → number."""
    observation = {"kind": "observation", "project": "Shop"}
    made = (
        drafts.draft("bug", **observation, created_at=100, session="s1",
              metadata={"type": "bugfix", "concepts": ["gotcha", "how-it-works"],
                        "files_read": ["src/auth.py"], "files_modified": ["src/a%b.py"]}),
        drafts.draft("feature", **observation, created_at=200, session="s2",
              metadata={"type": "Feature", "files_modified": ["/abs/src/Auth.py", "my_auth.py"]}),
        drafts.draft("decision", **observation, created_at=300, updated_at=900,
              metadata={"type": "decision", "concepts": ["Gotcha"], "branch": "main"}),
        drafts.draft("prompt", kind="user_prompt", project="shop", session="s1", created_at=150),
        drafts.draft("note", tags=("urgent", "Home"), importance=0.9, created_at=50),
        drafts.draft("archived", tags=("urgent",), metadata={"archived": True}, created_at=60),
        drafts.draft("minor", importance=0.1, created_at=70, tags=("a%b",)),
        drafts.draft("other", source="elsewhere", created_at=80, project="Shop%"),
        drafts.draft("file", kind="file", metadata={"path": "docs/my_auth.py"}, created_at=90),
        drafts.draft("aXb", metadata={"folder": "x"}, created_at=95, tags=("aXb",)),
    )  # fmt: skip
    stored = store(connection, *made)
    return {each.source_id: one.number for each, one in zip(made, stored, strict=True)}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(kinds=("user_prompt", "file")), "prompt file"),
        (Filters(types=("bugfix", "FEATURE")), "bug feature"),
        (Filters(concepts=("gotcha",)), "bug decision"),
        (Filters(concepts=("nothing", "how-it-works")), "bug"),
        (Filters(tags=("URGENT",)), "note archived"),
        (Filters(tags=("a%b",)), "minor"),
        (Filters(project="shop"), "bug feature decision prompt"),
        (Filters(project="Shop%"), "other"),
        (Filters(session="s1"), "bug prompt"),
        (Filters(source="elsewhere"), "other"),
        (Filters(created=DateRange(100, 200)), "bug feature prompt"),
        (Filters(created=DateRange(None, 50)), "note"),
        (Filters(updated=DateRange(900, None)), "decision"),
        (Filters(importance=0.9), "note"),
        (Filters(archived=True), "archived"),
        (Filters(archived=False, tags=("urgent",)), "note"),
        (Filters(facets=(("branch", "main"),)), "decision"),
        (Filters(facets=(("folder", "x"), ("branch", "main"))), ""),
        # a path matches whole or from a separator on, and its wildcards are letters
        (Filters(files=("auth.py",)), "bug feature"),
        (Filters(files=("src/auth.py",)), "bug feature"),
        (Filters(files=("./src/auth.py",)), "bug feature"),
        (Filters(files=("/abs/src/auth.py",)), "feature"),
        (Filters(files=("my_auth.py",)), "feature file"),
        (Filters(files=("my%auth.py",)), ""),
        (Filters(files=("a%b.py",)), "bug"),
        (Filters(files=("uth.py",)), ""),
        (Filters(files=("src/",)), "bug feature"),
        (Filters(files=("abs/",)), "feature"),
        (Filters(files=("/abs/",)), "feature"),
        (Filters(files=("abs/*",)), ""),
        (Filters(files=("src/*",)), "bug feature"),
        (Filters(files=("rc/",)), ""),
        (Filters(files=("nowhere.py", "docs/my_auth.py")), "file"),
        (Filters(kinds=("observation",), concepts=("gotcha",), session="s1"), "bug"),
    ],
)
def test_a_filter_lets_through_what_it_names(
    connection: Connection, numbers: dict[str, int], filters: Filters, expected: str
) -> None:
    found = records.browse(connection, SQL.where(connection, filters), "relevance", 100, 0)
    assert set(found) == {numbers[name] for name in expected.split()}
    assert sum(records.counts(connection, SQL.where(connection, filters)).values()) == len(found)


NAMES = st.sampled_from(["", "a", "A", "b%", "b_", "bx"])
DRAFTS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["note", "observation", "memory"]),
            "project": NAMES,
            "session": NAMES,
            "created_at": st.integers(0, 5),
            "importance": st.sampled_from([None, 0.0, 0.5, 1.0]),
            "tags": st.lists(NAMES, max_size=2).map(tuple),
            "metadata": st.fixed_dictionaries(
                {}, optional={"archived": st.booleans(), "branch": NAMES}
            ),
        }
    ),
    max_size=12,
)
FILTERS = st.builds(
    Filters,
    kinds=st.sampled_from([(), ("note",), ("note", "memory")]),
    tags=st.lists(NAMES.filter(bool), max_size=2).map(tuple),
    project=NAMES,
    session=NAMES,
    created=st.builds(DateRange, st.none() | st.integers(0, 5), st.none() | st.integers(0, 5)),
    importance=st.sampled_from([None, 0.0, 0.5]),
    archived=st.sampled_from([None, True, False]),
    facets=NAMES.map(lambda name: (("branch", name),) if name else ()),
    without=st.lists(st.integers(1, 12), max_size=3).map(tuple),
)


@given(DRAFTS, FILTERS)
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_browsing_with_a_filter_is_filtering_all_of_it(
    connection: Connection, made: list[dict[str, Any]], filters: Filters
) -> None:
    connection.execute("savepoint example")
    store(connection, *(drafts.draft(f"{n}", f"text {n}", **each) for n, each in enumerate(made)))
    everything = records.browse(connection, SQL.where(connection, Filters()), "date_asc", 99, 0)
    found = records.fetch(connection, everything)
    expected = [number for number in everything if _passes(found[number], filters)]
    assert records.browse(connection, SQL.where(connection, filters), "date_asc", 99, 0) == expected
    connection.execute("rollback to example")


def _passes(record: Record, filters: Filters) -> bool:
    def one_of(values: Iterable[str], wanted: Iterable[str]) -> bool:
        return bool({value.lower() for value in values} & {value.lower() for value in wanted})

    created = filters.created
    return all(
        (
            not filters.kinds or record.kind in filters.kinds,
            record.number not in filters.without,
            not filters.project or record.project.lower() == filters.project.lower(),
            not filters.session or record.session == filters.session,
            created.start is None or record.created_at >= created.start,
            created.end is None or record.created_at <= created.end,
            filters.importance is None
            or (record.importance is not None and record.importance >= filters.importance),
            filters.archived is None or record.archived == filters.archived,
            not filters.tags or one_of(record.tags, filters.tags),
            all(
                one_of([record.metadata.get(name) or ""], [value]) for name, value in filters.facets
            ),
        )
    )
