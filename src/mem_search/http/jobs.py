"""Jobs over HTTP: list them, show their progress, cancel them, and start work on the index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Self

from aiohttp import web
from pydantic import Field

from mem_search.embedders import parse_embedder_setting
from mem_search.errors import InputError
from mem_search.http.access.authentication import check_jobs
from mem_search.http.core.event_stream import CONTENT_TYPE as EVENTS
from mem_search.http.core.event_stream import PING, event_of, send_events
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Handler, Route
from mem_search.model.jobs import JobState, JobStatus, Pace
from mem_search.renderers.schema import Absent, Count, Time, projected, schema
from mem_search.text.dates import now_ms


@schema
class Job:
    """A job. `done` of `total` are in its own unit; `total` is 0 until it is known.

    A running job has a `rate`, in units a second, and about `seconds_left`, as soon as both can be
    told.
    """

    id: str
    name: str
    params: dict[str, Any]
    state: JobStatus
    done: Count
    total: Count
    message: str
    result: dict[str, Any]
    created_at: Time
    started_at: Time | None
    ended_at: Time | None
    rate: Absent[float] = None
    seconds_left: Absent[int] = None

    @classmethod
    def of(cls, job: JobState, now: int | None = None) -> Self:
        """The job as of ``now``, in ms since 1970."""
        rate = seconds_left = None
        if job.state == "running" and job.pace is not None:
            now = now_ms() if now is None else now
            rate, seconds_left = job.pace.of(job.done, job.total, now)
        return projected(
            cls,
            job,
            rate=rate,
            seconds_left=seconds_left,
        )


@schema
class Embedding:
    """Passages that get vectors: `done` of `total` since there were last none to embed.

    `error` says why it does not go on.
    """

    done: Count
    total: Count
    rate: Absent[float] = None
    seconds_left: Absent[int] = None
    error: Absent[str] = None

    @classmethod
    def of(cls, pace: Pace | None, done: int, waiting: int, error: str) -> Self:
        """``waiting`` passages have no vector yet; ``done`` have got theirs in this ``pace``."""
        total = done + waiting
        rate, left = (None, None) if pace is None or error else pace.of(done, total, now_ms())
        return cls(done=done, total=total, rate=rate, seconds_left=left, error=error or None)


@schema
class Jobs:
    """Jobs, newest first. `embedding` is there while passages wait for their vectors."""

    jobs: list[Job]
    embedding: Absent[Embedding] = None


@schema
class SubmittedJob:
    """The id of a job that was accepted; `GET /api/jobs/{id}` shows its progress."""

    job: str


NDJSON = "application/x-ndjson"


async def submitted(call: Call, name: str, params: Mapping[str, Any]) -> web.StreamResponse:
    """Queue a job; 202 with its id. Raises LimitReached."""
    await check_jobs(call.request, call.runtime)
    job = await call.runtime.ingest.jobs.submit(name, params)
    reply = json_reply(SubmittedJob(job=job), status=202)
    reply.headers["Location"] = f"/api/jobs/{job}"
    return reply


_PAUSE_SECONDS = 0.5
_PING_SECONDS = 15.0


class ReembedBody(Body):
    """The embedding model to change to."""

    model: str = Field(
        min_length=1,
        max_length=500,
        description="As in the setting `embedder`: bundled, fastembed:MODEL, openai:MODEL@URL",
    )


class JobListParameters(Parameters):
    """Which jobs to list."""

    limit: int = Field(default=20, ge=1, le=100, description="How many at most")
    state: JobStatus | None = Field(default=None, description="Only those in this state")


class CompressBody(Body):
    """What to do with the shorter forms of agents' work."""

    take_back: bool = Field(default=False, description="Drop all that the model wrote")


class RetryBody(Body):
    """How to run a job again."""

    without_item: bool = Field(
        default=False, description="Leave out the item over which the worker ended"
    )


async def newest(call: Call) -> web.StreamResponse:
    """The newest jobs, newest first, and how far embedding is."""
    params = call.parameters(JobListParameters)
    return json_reply(await _newest(call, params))


async def events(call: Call) -> web.StreamResponse:
    """Send the newest jobs, and again whenever one of them has changed."""
    return await send_events(call, _changes(call, call.parameters(JobListParameters)))


async def _changes(call: Call, params: JobListParameters) -> AsyncIterator[bytes]:
    sent, silent = b"", 0.0
    while call.lifecycle.key:  # it is empty from when the worker stops
        event = event_of(await _newest(call, params))
        if event != sent or silent >= _PING_SECONDS:
            yield PING if event == sent else event
            sent, silent = event, 0.0
        await asyncio.sleep(_PAUSE_SECONDS)
        silent += _PAUSE_SECONDS


async def _newest(call: Call, params: JobListParameters) -> Jobs:
    runtime, indexer = call.runtime, call.runtime.ingest.indexer
    states = await runtime.ingest.jobs.newest(params.limit, params.state)
    waiting = (await runtime.store.indexing.outbox_counts()).get("embed", 0)
    embedding = Embedding.of(indexer.pace, indexer.embedded, waiting, indexer.errors["embed"])
    jobs = [Job.of(job) for job in states]
    return Jobs(jobs=jobs, embedding=embedding if waiting else None)


async def one(call: Call) -> web.StreamResponse:
    """The progress of a job, and its result."""
    return json_reply(Job.of(await call.runtime.ingest.jobs.get(call.request.match_info["id"])))


async def cancel(call: Call) -> web.StreamResponse:
    """Cancel a job at its next step; what it stored stays."""
    return json_reply(Job.of(await call.runtime.ingest.jobs.cancel(call.request.match_info["id"])))


async def retry(call: Call) -> web.StreamResponse:
    """Run a job again that failed, was cancelled or was set aside."""
    body = call.json_body(RetryBody)
    await check_jobs(call.request, call.runtime)
    jobs, job = call.runtime.ingest.jobs, call.request.match_info["id"]
    return json_reply(Job.of(await jobs.retry(job, without_item=body.without_item)))


async def reembed(call: Call) -> web.StreamResponse:
    """Embed everything with another model, and change over to it."""
    body = call.json_body(ReembedBody)
    try:
        parse_embedder_setting(body.model)
    except InputError as error:
        raise InputError(error.message, field="model") from None
    return await submitted(call, "reembed", {"model": body.model.strip()})


async def compress(call: Call) -> web.StreamResponse:
    """Ask the model about the agents' work that waits, or drop what it wrote."""
    body = call.json_body(CompressBody)
    if not body.take_back:
        next(
            job for job in call.runtime.ingest.enriching if job.name == "compress"
        ).named_endpoint()
    return await submitted(call, "compress", body.model_dump(exclude_defaults=True))


def submit(name: str) -> Handler:
    """Queue the job ``name``, which takes no parameters."""

    async def queued(call: Call) -> web.StreamResponse:
        return await submitted(call, name, {})

    return queued


# fmt: off
ROUTES = (
    Route("GET", "/api/jobs", newest, "List jobs, newest first", "import", JobListParameters, write=True, response=Jobs),
    Route("GET", "/api/jobs/events", events, "Send the newest jobs again whenever one changes", "import", JobListParameters, write=True, content_type=EVENTS, is_rest=False),
    Route("GET", "/api/jobs/{id}", one, "Show a job", "import", write=True, response=Job),
    Route("POST", "/api/jobs/{id}/cancel", cancel, "Cancel a job", "import", write=True, defers=True, response=Job, errors=(409,)),
    Route("POST", "/api/jobs/{id}/retry", retry, "Run a job again", "import", body=RetryBody, write=True, response=Job, errors=(409,)),
    Route("POST", "/api/index/audit", submit("audit"), "Compare the vector index with the store", "import", write=True, only="owner", status=202, response=SubmittedJob, errors=(429,)),
    Route("POST", "/api/reembed", reembed, "Change the embedding model while searches go on", "import", body=ReembedBody, write=True, only="owner", status=202, response=SubmittedJob, errors=(429,)),
    Route("POST", "/api/compress", compress, "Shorten agents' work by a language model, or take that back", "import", body=CompressBody, write=True, only="owner", status=202, response=SubmittedJob, errors=(409, 429)),
    Route("POST", "/api/index/rebuild", submit("rebuild"), "Rebuild the vector index", "import", write=True, only="owner", status=202, response=SubmittedJob, errors=(429,)),
)
# fmt: on
