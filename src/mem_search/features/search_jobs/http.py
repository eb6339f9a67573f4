"""``/api/v1/search/jobs``: searches in the background, by the names of its contract."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

from aiohttp import web
from pydantic import Field

from mem_search.features.search_jobs.service import JobWithDelivery
from mem_search.features.webhooks.http import WebhookDelivery
from mem_search.http.core.parameters import Listing
from mem_search.http.core.replies import Deleted, Paged, json_reply
from mem_search.http.core.routing import Call, Route
from mem_search.http.universal_requests import UniversalSearchRequest, request_body
from mem_search.renderers.schema import Count, From, Stored, Time, or_none, projected, schema
from mem_search.renderers.universal import NotSearchedYet, UniversalSearchResponse

PATH = "/api/v1/search/jobs"


class JobsListing(Listing):
    """Parameters of the list of background searches."""

    status: Literal["pending", "running", "completed", "failed", "cancelled"] | None = Field(
        default=None, description="Only those of this status"
    )


@schema
class Progress:
    """`done` of `total` steps; `step` is the current one."""

    step: str
    done: Count
    total: Count


@schema
class SearchJob:
    """A search in the background. `id` and `job_id` are the same."""

    id: str
    job_id: Annotated[str, From("id")]
    status: Literal["pending", "running", "completed", "failed", "cancelled"]
    progress: Progress
    request_payload: dict[str, Any] | None
    error_message: Annotated[str | None, From("error", or_none)]
    webhook_url: Annotated[str | None, From(then=or_none)]
    webhook_called_at: Time | None
    notification: WebhookDelivery | None
    created_at: Time
    started_at: Time | None
    completed_at: Time | None
    expires_at: Time | None

    @classmethod
    def of(cls, with_delivery: JobWithDelivery, /, **more: Any) -> Self:
        job, delivery = with_delivery.job, with_delivery.delivery
        is_delivered = delivery is not None and delivery.state == "delivered"
        return projected(
            cls,
            job,
            progress=Progress(step=job.step, done=job.done, total=job.total),
            request_payload=request_body(job.request),
            webhook_called_at=delivery.ended_at if delivery and is_delivered else None,
            notification=None if delivery is None else WebhookDelivery.of(delivery),
            expires_at=with_delivery.expires_at,
            **more,
        )


@schema
class SearchJobResult(SearchJob):
    """A search in the background with its results, once it has ended."""

    result_payload: Stored[UniversalSearchResponse] | None

    @classmethod
    def whole(cls, with_delivery: JobWithDelivery) -> Self:
        """With the result as it was stored, which another version may have written."""
        result = with_delivery.job.result
        return cls.of(with_delivery, result_payload=None if result is None else json.loads(result))


@schema
class SearchJobs(Paged):
    """Searches in the background without their results, newest first."""

    jobs: list[SearchJob]


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
    jobs, total = await call.runtime.research.search_jobs.newest(
        params.status or "", params.limit, params.offset
    )
    return json_reply(SearchJobs.of(params, total, jobs=[SearchJob.of(each) for each in jobs]))


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
    with_delivery = await jobs.get(_id(call))
    if with_delivery.is_unfinished:
        return json_reply(SearchJobResult.whole(await jobs.cancel(_id(call))))
    await jobs.forget(_id(call))
    return json_reply(Deleted(deleted=with_delivery.job.id))


def _id(call: Call) -> str:
    return call.request.match_info["id"]


# fmt: off
ROUTES = (
    Route("GET", "/api/v1/search/jobs", newest, "List searches in the background, newest first", "research", JobsListing, response=SearchJobs, private=True),
    Route("GET", "/api/v1/search/jobs/{id}", one, "Show a search in the background and its results", "research", response=SearchJobResult, private=True),
    Route("POST", "/api/v1/search/jobs/{id}/cancel", cancel, "Cancel a search in the background", "research", write=True, response=SearchJobResult, errors=(409,)),
    Route("DELETE", "/api/v1/search/jobs/{id}", delete, "Cancel a search in the background, or delete it once it has ended", "research", write=True, response=SearchJobResult | Deleted, errors=(409,)),
)
