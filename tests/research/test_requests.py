"""What is kept of a query is all of it, and a body that can be sent again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from mem_search.http.schemas.universal_requests import UniversalSearchRequest
from mem_search.model import KINDS, DateRange
from mem_search.research.requests import Asked, body, dump, load
from mem_search.search.universal import SearchType, UniversalQuery

TEXT = st.text(min_size=1, max_size=20).filter(str.strip)
MOMENT = st.integers(0, 4_000_000_000_000)
RANGE = st.tuples(st.none() | MOMENT, st.none() | MOMENT).map(
    lambda ends: DateRange(*(sorted(ends) if None not in ends else ends))  # type: ignore[type-var]
)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), ZoneInfo("Europe/Berlin")])
QUERIES = st.builds(
    UniversalQuery,
    text=TEXT,
    kinds=st.lists(st.sampled_from(KINDS), unique=True).map(tuple),
    mode=st.sampled_from(["basic", "deep_research"]),
    search_type=st.sampled_from(get_args(SearchType)),
    limit=st.integers(1, 100),
    offset=st.integers(0, 10_000),
    created=RANGE,
    updated=RANGE,
    folder=st.just("") | TEXT.map(str.strip),
    domain=st.just("") | TEXT.map(str.strip),
    archived=st.none() | st.booleans(),
    snippet_length=st.none() | st.integers(40, 2000),
    full_content=st.booleans(),
    session_id=st.just("") | TEXT,
    parent_operation_id=st.just("") | TEXT,
    max_operations=st.integers(1, 100),
    scope=st.just("") | TEXT.map(str.strip),
)
MOMENTS = st.datetimes(
    datetime(2000, 1, 1),  # noqa: DTZ001 - the zones are added
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=ZONES,
    allow_imaginary=False,
)


@given(query=QUERIES, at=MOMENTS)
def test_what_is_kept_is_the_same_when_it_is_read(query: UniversalQuery, at: datetime) -> None:
    kept: Any = json.loads(json.dumps(dump(Asked(query, at))))
    again = load(kept)
    assert again.query == query
    assert again.at == at
    assert again.at.utcoffset() == at.utcoffset()


@given(query=QUERIES)
def test_what_is_kept_can_be_sent_again(query: UniversalQuery) -> None:
    assert UniversalSearchRequest.model_validate(body(query)).universal() == query
