"""``/api/v1/search/jobs``: searches in the background, by the names of its contract."""

from __future__ import annotations

from typing import Literal

from aiohttp import web
from pydantic import Field

from mem_search.http.core.parameters import Listing
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.common import Deleted
from mem_search.http.schemas.search_jobs import SearchJob, SearchJobResult, SearchJobs
from mem_search.http.schemas.universal_requests import UniversalSearchRequest
from mem_search.renderers.universal import NotSearchedYet, UniversalSearchResponse

PATH = "/api/v1/search/jobs"


class JobsListing(Listing):
    """Parameters of the list of background searches."""

    status: Literal["pending", "running", "completed", "failed", "cancelled"] | None = Field(
        default=None, description="Only those of this status"
    )


async def submit(call: Call, body: UniversalSearchRequest) -> web.StreamResponse:
    """Queue the search; the reply is an empty page with the id of its job."""
    request = body.request(call.now)
    job = await call.runtime.research.search_jobs.submit(
        request,
        call.surface,
        base=call.base,
        budget=call.caller.budget,
        webhook_url=body.webhook_url,
        flags=call.flags,
    )
    notice = f"runs in the background; the result: GET {PATH}/{job}"
    reply = json_reply(
        UniversalSearchResponse(
            items=[],
            total_count=0,
            weaker=0,
            counts_by_type={},
            query=request.text,
            execution_time_ms=0.0,
            operations=None,
            session_id=request.research.session_id or None,
            job_id=job,
            limit=request.limit,
            offset=request.offset,
            search=NotSearchedYet(notices=(notice,), flags=call.flags or None),
        )
    )
    reply.headers["Location"] = f"{PATH}/{job}"
    return reply


async def newest(call: Call) -> web.StreamResponse:
    """Background searches without their results, the newest first."""
    params = call.parameters(JobsListing)
    found, total = await call.runtime.research.search_jobs.newest(
        params.status or "", params.limit, params.offset
    )
    return json_reply(
        SearchJobs(
            jobs=[SearchJob.of(each) for each in found],
            total=total,
            limit=params.limit,
            offset=params.offset,
        )
    )


async def one(call: Call) -> web.StreamResponse:
    """The progress of a background search, and its result when it has ended."""
    return json_reply(SearchJobResult.whole(await call.runtime.research.search_jobs.get(_id(call))))


async def cancel(call: Call) -> web.StreamResponse:
    """Cancel a background search."""
    return json_reply(
        SearchJobResult.whole(await call.runtime.research.search_jobs.cancel(_id(call)))
    )


async def delete(call: Call) -> web.StreamResponse:
    """Cancel an unfinished background search, or delete a finished one."""
    jobs = call.runtime.research.search_jobs
    found = await jobs.get(_id(call))
    if found.is_unfinished:
        return json_reply(SearchJobResult.whole(await jobs.cancel(_id(call))))
    await jobs.forget(_id(call))
    return json_reply(Deleted(deleted=found.job.id))


def _id(call: Call) -> str:
    return call.request.match_info["id"]
