"""Counting and timing requests for ``/metrics``, where prometheus-client is installed.

A route is named by its pattern: no label has a query, an id or a user, and their number is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from aiohttp import web

PACKAGE: Final = "prometheus_client"
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Bounds of the histogram: from a search from memory to one on a busy machine."""


class Measured:
    """The metrics of one worker; does nothing without the package. Thread-safe."""

    def __init__(self) -> None:
        self.on = find_spec(PACKAGE) is not None
        if not self.on:
            return
        # Heavy for a worker that nobody asks for metrics; and it is no part of the default install.
        from prometheus_client import (
            CollectorRegistry,
            Counter,
            Gauge,
            Histogram,
            PlatformCollector,
            ProcessCollector,
        )

        self._registry = CollectorRegistry()
        self._gauge = Gauge
        self._gauges: dict[str, Any] = {}
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._requests = Counter(
            "mem_search_requests", "Requests answered", ("method", "route", "status"),
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "mem_search_request_seconds", "Seconds until the reply began", ("route",),
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        if self.on:
            self._requests.labels(method, route, str(status)).inc()
            self._seconds.labels(route).observe(seconds)

    def set(self, name: str, help_text: str, label: str, values: Mapping[str, int]) -> None:
        """Set a gauge for each value of ``label``; one that is left out is gone."""
        name = f"mem_search_{name}"
        if name not in self._gauges:
            self._gauges[name] = self._gauge(name, help_text, (label,), registry=self._registry)
        self._gauges[name].clear()
        for value, number in values.items():
            self._gauges[name].labels(value).set(number)

    def text(self) -> bytes:
        """All of it in the text format of Prometheus."""
        from prometheus_client import generate_latest

        return bytes(generate_latest(self._registry))


MEASURED: Final = web.AppKey("measured", Measured)


def pattern_of(request: web.Request) -> str:
    """The pattern of the route that answers; the same for every path that none has."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "none"
