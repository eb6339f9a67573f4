"""The id of the request that a task answers: in its reply, and in the log's lines about it."""

from __future__ import annotations

from contextvars import ContextVar

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
