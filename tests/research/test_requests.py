"""A stored request is complete and can be sent again as a body."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from mem_search.http.universal_requests import (
    BASE,
    UniversalSearchRequest,
    request_body,
)
from mem_search.model import (
    DateRange,
    Filters,
    Mode,
    ResearchPlacement,
    ResultTexts,
    SearchRequest,
)
from mem_search.records.registry import installed_kinds
from mem_search.search.stored_requests import dump, load

TEXT = st.text(min_size=1, max_size=20).filter(str.strip)
NAME = st.just("") | TEXT.map(str.strip)
MOMENT = st.integers(0, 4_000_000_000_000)
RANGE = st.tuples(st.none() | MOMENT, st.none() | MOMENT).map(
    lambda ends: DateRange(*(sorted(ends) if None not in ends else ends))  # type: ignore[type-var]
)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), ZoneInfo("Europe/Berlin")])
MOMENTS = st.datetimes(
    datetime(2000, 1, 1),  # noqa: DTZ001 - the zones are added
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=ZONES,
    allow_imaginary=False,
)
KIND_LISTS = st.lists(st.sampled_from(installed_kinds().names), unique=True).map(tuple)
SENT = st.builds(
    replace,
    st.just(BASE),
    text=TEXT,
    filters=st.builds(
        Filters,
        kinds=KIND_LISTS,
        created=RANGE,
        updated=RANGE,
        archived=st.none() | st.booleans(),
    ),
    mode=st.sampled_from(get_args(Mode)),
    limit=st.integers(1, 100),
    offset=st.integers(0, 10_000),
    folder=NAME,
    domain=NAME,
    scope=NAME,
    boosts=st.sampled_from([(), ("recency",), ("importance", "recency")]),
    texts=st.builds(ResultTexts, st.booleans(), st.integers(40, 2000), st.booleans()),
    research=st.builds(
        ResearchPlacement,
        st.sampled_from(["basic", "deep_research"]),
        st.just("") | TEXT,
        st.just("") | TEXT,
        st.integers(1, 100),
    ),
    asked_at=MOMENTS,
)
"""What a body of ``POST /api/v1/search`` can mean."""

ANY = st.builds(
    replace,
    SENT,
    filters=st.builds(
        Filters,
        kinds=KIND_LISTS,
        types=st.lists(TEXT, max_size=2).map(tuple),
        facets=st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple),
        importance=st.none() | st.floats(0, 1),
        stored=RANGE,
        project=NAME,
    ),
    order=st.sampled_from(["relevance", "date_desc"]),
    fold=st.booleans(),
    per_session=st.none() | st.integers(1, 9),
    explain=st.booleans(),
)


def stored(request: SearchRequest) -> Any:
    return json.loads(json.dumps(dump(request)))


@given(request=ANY)
def test_a_stored_request_is_the_same_when_it_is_read(request: SearchRequest) -> None:
    again = load(stored(request))
    assert again == request
    assert again.asked_at is not None
    assert request.asked_at is not None
    assert again.asked_at.utcoffset() == request.asked_at.utcoffset()


@given(request=SENT)
def test_a_stored_request_can_be_sent_again(request: SearchRequest) -> None:
    body = request_body(stored(request))
    assert body is not None
    assert set(UniversalSearchRequest.model_fields) - set(body) == {
        "background",
        "webhook_url",
        "fields",  # not for what is answered later
    }
    assert UniversalSearchRequest.model_validate(body).request(request.asked_at) == request


def test_a_fetch_has_no_body() -> None:
    assert request_body({"ref": "note:1"}) is None
