"""What became of a message to a webhook, as plain values for JSON."""

from __future__ import annotations

from typing import Any

from mem_search.storage.sqlite.webhook_deliveries import Delivery
from mem_search.text import dates


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    """``state`` is pending, delivered or failed; ``error`` says why it is not delivered."""
    is_pending = delivery.state == "pending"
    return {
        "id": delivery.id,
        "event": delivery.event,
        "url": delivery.url,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "status": delivery.status,
        "error": delivery.error or None,
        "next_attempt_at": dates.iso(delivery.next_at) if is_pending else None,
        "ended_at": None if delivery.ended_at is None else dates.iso(delivery.ended_at),
    }
