"""What replies say of a message to a webhook."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from mem_search.model.webhooks import Delivery
from mem_search.renderers.projection import From, or_none, projected
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
    error: Annotated[str | None, From(then=or_none)]
    next_attempt_at: Time | None
    ended_at: Time | None

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        return projected(
            cls,
            delivery,
            next_attempt_at=delivery.next_at if delivery.state == "pending" else None,
        )
