"""``/api/v1/search/jobs``: searches in the background, by the names of seed 000's table."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from mem_search.http.core.paging import JobsListing
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.schemas.universal_requests import UniversalSearchRequest, request_body
from mem_search.research.json import delivery_json
from mem_search.research.search_jobs import Told
from mem_search.text import dates

PATH = "/api/v1/search/jobs"


async def submit(call: Call, body: UniversalSearchRequest) -> web.StreamResponse:
    """Queue the search; the reply is an empty page with the id of its job.

    A ``webhook_url`` makes the worker talk to another machine, so it needs the token.
    """
    if body.webhook_url is not None:
        call.check_may_change()
    request = body.request(call.now)
    job = await call.runtime.research.search_jobs.submit(
        request,
        call.surface,
        base=call.base,
        webhook_url=body.webhook_url,
        flags=call.flags,
    )
    said = call.flagged(
        {
            "items": [],
            "total_count": 0,
            "counts_by_type": {},
            "query": request.text,
            "execution_time_ms": 0.0,
            "operations": None,
            "session_id": request.research.session_id or None,
            "job_id": job,
            "limit": request.limit,
            "offset": request.offset,
            "search": {"notices": [f"runs in the background; the result: GET {PATH}/{job}"]},
        }
    )
    reply = json_reply(said)
    reply.headers["Location"] = f"{PATH}/{job}"
    return reply


async def newest(call: Call) -> web.StreamResponse:
    """Background searches without their results, the newest first."""
    asked = call.asked(JobsListing)
    found, total = await call.runtime.research.search_jobs.newest(
        asked.status or "", asked.limit, asked.offset
    )
    jobs = [_job(told) for told in found]
    return json_reply({"jobs": jobs, "total": total, "limit": asked.limit, "offset": asked.offset})


async def one(call: Call) -> web.StreamResponse:
    """How far a background search is, and its result once it has one."""
    return json_reply(_whole(await call.runtime.research.search_jobs.get(_id(call))))


async def cancel(call: Call) -> web.StreamResponse:
    """End a background search that is not finished."""
    return json_reply(_whole(await call.runtime.research.search_jobs.cancel(_id(call))))


async def delete(call: Call) -> web.StreamResponse:
    """End a background search that is not finished, or forget one that is."""
    jobs = call.runtime.research.search_jobs
    told = await jobs.get(_id(call))
    if told.is_unfinished:
        return json_reply(_whole(await jobs.cancel(_id(call))))
    await jobs.forget(_id(call))
    return json_reply({"deleted": told.job.id})


def _id(call: Call) -> str:
    return call.request.match_info["id"]


def _whole(told: Told) -> dict[str, Any]:
    result = told.job.result
    return {**_job(told), "result_payload": None if result is None else json.loads(result)}


def _job(told: Told) -> dict[str, Any]:
    job, delivery = told.job, told.delivery
    delivered = delivery is not None and delivery.state == "delivered"
    return {
        "id": job.id,
        "job_id": job.id,
        "status": job.status,
        "progress": {"step": job.step, "done": job.done, "total": job.total},
        "request_payload": request_body(job.request),
        "error_message": job.error or None,
        "webhook_url": job.webhook_url or None,
        "webhook_called_at": _time(delivery.ended_at) if delivery and delivered else None,
        "notification": delivery_json(delivery) if delivery is not None else None,
        "created_at": dates.iso(job.created_at),
        "started_at": _time(job.started_at),
        "completed_at": _time(job.completed_at),
        "expires_at": _time(told.expires_at),
    }


def _time(at: int | None) -> str | None:
    return None if at is None else dates.iso(at)
