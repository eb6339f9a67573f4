"""Replies of searches in the background."""

from __future__ import annotations

import json
from typing import Any, Literal, Self

from mem_search.http.schemas.common import Paged
from mem_search.http.schemas.universal_requests import request_body
from mem_search.http.schemas.webhooks import WebhookDelivery
from mem_search.renderers.schema import Count, Stored, Time, schema
from mem_search.renderers.universal import UniversalSearchResponse
from mem_search.research.search_jobs import JobWithDelivery


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
    job_id: str
    status: Literal["pending", "running", "completed", "failed", "cancelled"]
    progress: Progress
    request_payload: dict[str, Any] | None
    error_message: str | None
    webhook_url: str | None
    webhook_called_at: Time | None
    notification: WebhookDelivery | None
    created_at: Time
    started_at: Time | None
    completed_at: Time | None
    expires_at: Time | None

    @classmethod
    def of(cls, found: JobWithDelivery, /, **more: Any) -> Self:
        job, delivery = found.job, found.delivery
        is_delivered = delivery is not None and delivery.state == "delivered"
        return cls(
            id=job.id,
            job_id=job.id,
            status=job.status,
            progress=Progress(step=job.step, done=job.done, total=job.total),
            request_payload=request_body(job.request),
            error_message=job.error or None,
            webhook_url=job.webhook_url or None,
            webhook_called_at=delivery.ended_at if delivery and is_delivered else None,
            notification=None if delivery is None else WebhookDelivery.of(delivery),
            created_at=job.created_at,
            started_at=job.started_at,
            completed_at=job.completed_at,
            expires_at=found.expires_at,
            **more,
        )


@schema
class SearchJobResult(SearchJob):
    """A search in the background with its results, once it has ended."""

    result_payload: Stored[UniversalSearchResponse] | None

    @classmethod
    def whole(cls, found: JobWithDelivery) -> Self:
        """With the result as it was stored, which another version may have written."""
        result = found.job.result
        return cls.of(found, result_payload=None if result is None else json.loads(result))


@schema
class SearchJobs(Paged):
    """Searches in the background without their results, newest first."""

    jobs: list[SearchJob]
