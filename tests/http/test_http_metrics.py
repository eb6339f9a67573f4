"""``/metrics`` for a monitoring system."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest
from http_worker import Client, lifecycle_of

from mem_search.http.about import note_replica
from mem_search.http.core import routing
from mem_search.http.core.routing import MEASURED, Measured
from mem_search.model.statistics import ReplicaState

installed = pytest.mark.skipif(
    find_spec(routing.PACKAGE) is None, reason="prometheus-client is not installed"
)


@installed
async def test_requests_are_counted_by_route_and_say_nothing_of_what_was_asked(
    client: Client,
) -> None:
    await client.get("/api/search", params={"query": "topsecretword"})
    await client.get("/api/records/note:999999")
    await client.get("/nowhere/topsecretpath")
    reply = await client.get("/metrics")
    text = await reply.text()
    assert reply.content_type == "text/plain"
    assert 'requests_total{method="GET",route="/api/search",status="200"} 1.0' in text
    assert re.search(r'route="/api/records/{\w+}",status="404"} 1.0', text)
    assert 'requests_total{method="GET",route="none",status="404"} 1.0' in text
    assert 'request_seconds_count{route="/api/search"} 1.0' in text
    assert re.search(r'mem_search_records{kind="note"} [1-9]', text)
    assert 'mem_search_jobs{state="queued"} 0.0' in text
    assert "topsecret" not in text


@installed
def test_the_state_of_a_replica_is_a_gauge() -> None:
    measured = Measured()
    note_replica(measured, None)
    assert b"replica" not in measured.text()
    note_replica(measured, ReplicaState("host/db", "behind", 12.5, "too far"))
    text = measured.text().decode()
    assert 'mem_search_replica{state="behind"} 1.0' in text
    assert 'mem_search_replica_lag_seconds{state="behind"} 12.5' in text
    assert "host/db" not in text
    note_replica(measured, ReplicaState("host/db", "away", None, "it does not answer"))
    text = measured.text().decode()
    assert 'mem_search_replica{state="away"} 1.0' in text
    assert "behind" not in text
    assert "replica_lag_seconds{" not in text


async def test_without_the_package_the_route_says_what_to_install(
    empty: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "PACKAGE", "no_such_package")
    lifecycle_of(empty)
    assert empty.app is not None
    monkeypatch.setitem(empty.app._state, MEASURED, Measured())
    assert (await empty.get("/api/health")).status == 200
    reply = await empty.get("/metrics")
    assert reply.status == 404
    assert "mem-search[serve]" in (await reply.json())["detail"]
