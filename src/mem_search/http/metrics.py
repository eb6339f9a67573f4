"""``/metrics``: what a monitoring system reads, in the text format of Prometheus."""

from __future__ import annotations

from aiohttp import web

from mem_search.errors import NotFound
from mem_search.http.core.measuring import MEASURED, Measured
from mem_search.http.core.routing import Call
from mem_search.install_command import install_command
from mem_search.model.statistics import ReplicaState


async def metrics(call: Call) -> web.StreamResponse:
    """Requests of this worker since its start, and what its store has and waits for."""
    measured = call.request.app[MEASURED]
    if not measured.on:
        raise NotFound(
            "metrics need the Python package prometheus-client; run:"
            f" {install_command('mem-search[serve]')}"
        )
    store = call.runtime.store
    totals = await store.statistics.totals()
    measured.set("records", "Records of the store", "kind", totals.records)
    waiting = {str(step): count for step, count in (await store.indexing.outbox_counts()).items()}
    measured.set("outbox_passages", "Passages that wait", "step", waiting)
    states = {"queued": 0, "running": 0}
    for job in await store.jobs.unfinished():
        states[job.state] += 1
    measured.set("jobs", "Jobs that have not ended", "state", states)
    note_replica(measured, store.replica)
    return web.Response(body=measured.text(), content_type="text/plain", charset="utf-8")


def note_replica(measured: Measured, found: ReplicaState | None) -> None:
    """Set the gauges of the replica of the store; there are none without a replica."""
    if found is None:
        return
    measured.set("replica", "1 for the state of the replica", "state", {found.state: 1})
    lag: dict[str, float] = {} if found.lag_s is None else {found.state: found.lag_s}
    measured.set("replica_lag_seconds", "Seconds of writes that the replica may lack", "state", lag)
