"""Counting and timing requests for ``/metrics``, where prometheus-client is installed.

A route is named by its pattern: no label has a query, an id or a user, and their number is bounded.
The package is imported when somebody asks for metrics: a start need not wait for it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import accumulate
from typing import Any, Final

from aiohttp import web

PACKAGE: Final = "prometheus_client"
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Bounds of the histogram: from a search from memory to one on a busy machine."""


class Measured:
    """What one worker answered, and the gauges of its store; for the thread of the event loop.

    ``on``: the package is installed.
    """

    def __init__(self) -> None:
        self.on = find_spec(PACKAGE) is not None
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._slots: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self._gauges: dict[str, tuple[str, str, Mapping[str, float]]] = {}

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests[method, route, str(status)] += 1
        slots = self._slots.setdefault(route, [0] * (len(_SECONDS) + 1))
        slots[bisect_left(_SECONDS, seconds)] += 1
        self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def set(self, name: str, help_text: str, label: str, values: Mapping[str, float]) -> None:
        """Set a gauge for each value of ``label``; one that is left out is gone."""
        self._gauges[f"mem_search_{name}"] = (help_text, label, values)

    def collect(self) -> Iterator[Any]:
        """All of it as the metrics of Prometheus; its registry calls this."""
        from prometheus_client import core

        requests = core.CounterMetricFamily(
            "mem_search_requests", "Requests answered", labels=("method", "route", "status")
        )
        for labels, count in self._requests.items():
            requests.add_metric(labels, count)
        yield requests
        seconds = core.HistogramMetricFamily(
            "mem_search_request_seconds", "Seconds until the reply began", labels=("route",)
        )
        bounds = (*map(str, _SECONDS), "+Inf")
        for route, slots in self._slots.items():
            up_to = zip(bounds, accumulate(slots), strict=True)
            seconds.add_metric((route,), list(up_to), self._seconds[route])
        yield seconds
        for name, (help_text, label, values) in self._gauges.items():
            gauge = core.GaugeMetricFamily(name, help_text, labels=(label,))
            for value, number in values.items():
                gauge.add_metric((value,), number)
            yield gauge

    def text(self) -> bytes:
        """All of it, and what is known of the process, in the text format of Prometheus."""
        from prometheus_client import (
            CollectorRegistry,
            PlatformCollector,
            ProcessCollector,
            generate_latest,
        )

        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        registry.register(self)
        return bytes(generate_latest(registry))


MEASURED: Final = web.AppKey("measured", Measured)


def pattern_of(request: web.Request) -> str:
    """The pattern of the route that answers; the same for every path that none has."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "none"
