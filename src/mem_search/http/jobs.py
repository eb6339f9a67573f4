"""Jobs over HTTP: start sync, import and index work, show its progress, cancel it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import Field

from mem_search import sources
from mem_search.contracts import FileFormat, Source
from mem_search.embedders import checked
from mem_search.errors import InputError, MissingField, UnknownType
from mem_search.http.access.rate_limits import check_jobs
from mem_search.http.core.event_stream import PING, event_of, send_events
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call, Handler
from mem_search.http.schemas.jobs import (
    Embedding,
    Job,
    Jobs,
    SourceLocation,
    SubmittedJob,
    Unfollowed,
)
from mem_search.ingest import spool
from mem_search.model import Location
from mem_search.model.jobs import JobStatus
from mem_search.text import secret_rules

NDJSON = "application/x-ndjson"
_CHUNK = 256 * 1024
_PAUSE_SECONDS = 0.5
_PING_SECONDS = 15.0
EVEN_FORGOTTEN = "Store records again that were forgotten"


class SyncBody(Body):
    """What to read: everything on this machine, one source, or one path."""

    source: str = Field(
        default="", description="With a path, by default every source that reads something there"
    )
    path: str = Field(default="", description="A path, or the URL of a mailbox: imaps://ada@host/")
    cwd: str = Field(default="", description="The directory whose git repository is read")
    again: bool = Field(default=False, description="Read everything, not only what is new")


class UnfollowBody(Body):
    """A location that was read, as `GET /api/stats` lists it."""

    source: str
    path: str


class ImportBody(Body):
    """One file to import."""

    source: str = Field(
        default="", description="By default the source that reads files of this name"
    )
    path: str = Field(description="An absolute path on the worker's machine")
    even_forgotten: bool = Field(default=False, description=EVEN_FORGOTTEN)


class ReembedBody(Body):
    """The embedding model to change to."""

    model: str = Field(
        min_length=1,
        max_length=500,
        description="As in the setting `embedder`: bundled, fastembed:MODEL, openai:MODEL@URL",
    )


class UploadedName(Parameters):
    """The name of the uploaded file."""

    name: str = Field(
        default="",
        max_length=255,
        pattern=r"^[^/\x00-\x1f\x7f]*$",
        description="Its name in jobs and in the ledger; a file name, not a path",
    )


class UploadParameters(UploadedName):
    """The name of the uploaded file, and the source that reads it."""

    source: str = Field(
        default="",
        description="By default the source that reads files of this Content-Type or name",
    )
    even_forgotten: bool = Field(default=False, description=EVEN_FORGOTTEN)


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


async def sync(call: Call) -> web.StreamResponse:
    """Read what is new from the sources of this machine."""
    body = call.json_body(SyncBody)
    if body.source:
        _known(body.source)
    if body.path and sources.by_url(body.path) is None:
        _existing(body.path, "path")
    if body.cwd:
        _existing(body.cwd, "cwd")
    given = body.model_dump(exclude_defaults=True)
    return await submitted(
        call, "sync", {**given, "path": _place(body.path)} if body.path else given
    )


async def unfollow(call: Call) -> web.StreamResponse:
    """Stop reading a location that no longer exists; its records stay."""
    body = call.json_body(UnfollowBody)
    _known(body.source)
    path = _place(body.path)
    await call.runtime.ingest.reader.unfollow(Location(body.source, path))
    return json_reply(Unfollowed(unfollowed=SourceLocation(source=body.source, path=path)))


async def import_file(call: Call) -> web.StreamResponse:
    """Import one file of the worker's machine."""
    body = call.json_body(ImportBody)
    if body.source:
        _known(body.source)
    _existing(body.path, "path")
    source = body.source or await asyncio.to_thread(sources.for_path, Path(body.path))
    source = source or sources.for_file(body.path)[0].name
    return await submitted(
        call,
        "import",
        {"source": source, "path": body.path, **_even(forgotten=body.even_forgotten)},
    )


async def import_upload(call: Call) -> web.StreamResponse:
    """Import the file in the body, with the named source or the one for files of its type."""
    params = call.parameters(UploadParameters)
    content_type = call.request.content_type
    if content_type.startswith("multipart/"):
        raise UnknownType(
            "send the file itself as the body; POST /documents/upload takes it in a form"
        )
    source, file_format = sources.for_file(params.name, params.source, content_type)
    return await _upload(
        call, params.name, source, file_format, even_forgotten=params.even_forgotten
    )


async def import_lines(call: Call) -> web.StreamResponse:
    """Import the records in the body, one a line."""
    return await _upload(call, call.parameters(UploadedName).name, *sources.for_file("", "jsonl"))


async def _upload(
    call: Call,
    name: str,
    source: Source,
    file_format: FileFormat,
    *,
    even_forgotten: bool = False,
) -> web.StreamResponse:
    if not call.request.can_read_body:
        raise MissingField("send the file as the body of the request", field="body")
    await check_jobs(call.request, call.runtime)  # before the upload is stored, not only after
    folder, suffixes = call.runtime.settings.spool_dir, file_format.suffixes
    known = ""
    if secret_rules.are_loaded():
        known = name = await asyncio.to_thread(call.runtime.redaction.name, name)
    else:  # the name of the file is not to wait for them
        suffixes = tuple(each for each in suffixes if name.endswith(each)) or suffixes
    spooled = await spool.keep(folder, _chunks(call.request), known, suffixes)
    path = name or spooled.rpartition("/")[2]
    params = {"source": source.name, "path": path, "spooled": spooled}
    return await submitted(call, "import", params | _even(forgotten=even_forgotten))


def _even(*, forgotten: bool) -> dict[str, bool]:
    return {"even_forgotten": True} if forgotten else {}


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


async def submitted(call: Call, name: str, params: Mapping[str, Any]) -> web.StreamResponse:
    """Queue a job; 202 with its id. Raises LimitReached."""
    await check_jobs(call.request, call.runtime)
    job = await call.runtime.ingest.jobs.submit(name, params)
    reply = json_reply(SubmittedJob(job=job), status=202)
    reply.headers["Location"] = f"/api/jobs/{job}"
    return reply


def _place(path: str) -> str:
    """``path``, or a URL as its source writes it. Raises InputError."""
    source = sources.by_url(path)
    return path if source is None else source.locate(path).path


def _known(source: str) -> None:
    try:
        sources.by_name(source)
    except InputError as error:
        raise InputError(error.message, field="source") from None


def _existing(path: str, field: str) -> None:
    given = Path(path)
    try:
        if not given.is_absolute():
            raise InputError(
                f"{path[:200]!r} is not an absolute path; write the whole path", field=field
            )
        if not given.exists():
            raise InputError(f"{path[:200]!r} does not exist on this machine", field=field)
    except (OSError, ValueError) as error:  # too long, with a null character, or not accessible
        raise InputError(f"{path[:200]!r} cannot be read: {error}", field=field) from None


async def _chunks(request: web.Request) -> AsyncIterator[bytes]:
    async for chunk in request.content.iter_chunked(_CHUNK):
        yield chunk
