"""The port for the graph as a whole; a search walks it through ``SearchSnapshot``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from mem_search.model.graph import ExportedGraph, GraphPart

T = TypeVar("T")


class GraphStore(Protocol):
    """The edges between records, and the pages that they cite."""

    async def export(self, part: GraphPart, write: Callable[[ExportedGraph], T]) -> T:
        """Call ``write`` in a thread with that part of the graph, as of one moment.

        Memory does not grow with the part. Nobody who searches or stores waits for it.
        """
        ...
