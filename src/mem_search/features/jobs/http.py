"""Jobs over HTTP: list them, show their progress, cancel them, and start work on the index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web
from pydantic import Field

from mem_search.embedders import checked
from mem_search.errors import InputError
from mem_search.http.access.rate_limits import check_jobs
from mem_search.http.core.event_stream import CONTENT_TYPE as EVENTS
from mem_search.http.core.event_stream import PING, event_of, send_events
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Handler, Route
from mem_search.http.jobs import Embedding, Job, Jobs, SubmittedJob, submitted
from mem_search.model.jobs import JobStatus

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
    found = await runtime.ingest.jobs.newest(params.limit, params.state)
    waiting = (await runtime.store.indexing.outbox_counts()).get("embed", 0)
    embedding = Embedding.of(indexer.pace, indexer.embedded, waiting, indexer.errors["embed"])
    jobs = [Job.of(job) for job in found]
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
        checked(body.model)
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
