"""Requests of research: stored, replayed, and how results drift."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

import drafts
from mem_search.features.research.service import drift
from mem_search.http.universal_requests import BASE, UniversalSearchRequest, request_body
from mem_search.model import DateRange, Filters, Mode, ResearchPlacement, ResultTexts, SearchRequest
from mem_search.model.results import StoredResult
from mem_search.records.registry import installed_kinds
from mem_search.search.stored_requests import dump, load
from mem_search.wiring import open_runtime
from patience import PATIENCE
from runtimes import fill, settled, small
from search_requests import universal

# A stored request is complete and can be sent again as a body.

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


# The difference between two results of the same query.

REFS = st.sampled_from([f"note:{n}" for n in range(8)])
RESULTS = st.lists(
    st.builds(StoredResult, REFS, st.sampled_from("ab"), st.sampled_from([0.5, 0.75])),
    unique_by=lambda seen: seen.ref,
)


@given(results=RESULTS, total=st.integers(0, 9))
def test_the_same_answer_has_no_drift(results: list[StoredResult], total: int) -> None:
    assert not drift(results, results, total, total)
    assert drift(results, results, total, total + 1)


@given(before=RESULTS, after=RESULTS)
def test_every_difference_is_reported_and_nothing_else(
    before: list[StoredResult], after: list[StoredResult]
) -> None:
    found = drift(before, after, 0, 0)
    assert bool(found) is (before != after)
    old, new = [s.ref for s in before], [s.ref for s in after]
    assert {change.ref for change in found.appeared} == set(new) - set(old)
    assert {change.ref for change in found.gone} == set(old) - set(new)
    for change in (*found.changed, *found.moved, *found.rescored):
        assert change.before is not None
        assert change.after is not None
        assert old[change.before - 1] == new[change.after - 1] == change.ref
    assert all(change.before != change.after for change in found.moved)
    digests = {s.ref: s.digest for s in before}
    assert {change.ref for change in found.changed} == {
        s.ref for s in after if s.ref in digests and digests[s.ref] != s.digest
    }


def test_places_count_from_one() -> None:
    before = [StoredResult("note:1", "a", 0.5), StoredResult("note:2", "a", 0.5)]
    after = [StoredResult("note:2", "a", 0.5)]
    (gone,) = drift(before, after, 2, 1).gone
    (moved,) = drift(before, after, 2, 1).moved
    assert (gone.before, gone.after) == (1, None)
    assert (moved.before, moved.after) == (2, 1)


# A research step gives the same result, whatever happened to the vector index since.


async def test_a_step_is_identical_when_the_index_is_away(tmp_path: Path) -> None:
    steps: list[str] = []
    async with open_runtime(small(tmp_path, chroma_url="")) as runtime:
        await runtime.index.ready(PATIENCE)
        many = [drafts.draft(f"n{n}", f"login form fixed, take {n}") for n in range(1600)]
        await fill(runtime, *many)
        await settled(runtime)
        for search in ("hybrid", "vector"):
            request = universal("login form", mode="deep_research", search=search)
            _, step = await runtime.research.operations.search(request, "http")
            assert step is not None
            steps.append(step.id)
    async with open_runtime(small(tmp_path, chroma_url="off")) as runtime:
        for number in steps:
            done = await runtime.research.replays.get(number)
            replay = await runtime.research.replays.replay(done)
            assert replay.is_same_index
            assert replay.is_identical, replay.drift
