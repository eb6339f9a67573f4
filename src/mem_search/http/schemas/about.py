"""Replies about the worker itself."""

from __future__ import annotations

from typing import Literal

from mem_search.renderers.schema import Count, schema


@schema
class Alive:
    """The worker answers; `timestamp` is in milliseconds since 1970."""

    status: Literal["ok"] = "ok"
    timestamp: Count


@schema
class Health:
    """Which worker answers. `store_id` names its store, `instance_id` this run of the worker.

    `unwritable` says why nothing can be stored at the moment; empty when it can be.
    """

    status: Literal["ok", "starting", "failed"]
    uptime: float
    pid: int
    initialized: bool
    service: Literal["mem-search"] = "mem-search"
    instance_id: str
    store_id: str | None
    unwritable: str


@schema
class Ready:
    """Searches are answered."""

    status: Literal["ready"] = "ready"


@schema
class Version:
    """The version of mem-search."""

    version: str
