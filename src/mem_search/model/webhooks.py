"""Messages to webhooks, which several features send. Times are milliseconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Message:
    """A webhook message to queue together with what it reports; due at once."""

    id: str
    event: str
    url: str
    body: bytes
    created_at: int


DeliveryState = Literal["pending", "delivered", "failed"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook message to one receiver, with exactly the ``body`` that is signed and sent.

    ``next_at`` is the time of the next attempt while the message is pending.
    """

    id: str
    event: str
    url: str
    body: bytes
    state: DeliveryState
    attempts: int
    next_at: int
    status: int | None
    error: str
    created_at: int
    ended_at: int | None
