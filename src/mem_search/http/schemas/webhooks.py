"""What replies say of a message to a webhook."""

from __future__ import annotations

from typing import Literal, Self

from mem_search.model.webhooks import Delivery
from mem_search.renderers.schema import Count, Time, schema


@schema
class WebhookDelivery:
    """A message to a webhook; `status` is the HTTP status of the receiver's last answer."""

    id: str
    event: str
    url: str
    state: Literal["pending", "delivered", "failed"]
    attempts: Count
    status: int | None
    error: str | None
    next_attempt_at: Time | None
    ended_at: Time | None

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        return cls(
            id=delivery.id,
            event=delivery.event,
            url=delivery.url,
            state=delivery.state,
            attempts=delivery.attempts,
            status=delivery.status,
            error=delivery.error or None,
            next_attempt_at=delivery.next_at if delivery.state == "pending" else None,
            ended_at=delivery.ended_at,
        )
