"""Text and JSON of results: the same words over HTTP, on the command line and by MCP.

Pure functions of a ``Page`` or of records, and a ``View``. To add a listing: a file here and a
line in ``RENDERERS``.
"""

from __future__ import annotations

from typing import Protocol

from mem_search.errors import InputError
from mem_search.model import Page
from mem_search.renderers.context import render_context
from mem_search.renderers.full import Full, render_record
from mem_search.renderers.index import Index
from mem_search.renderers.json import record_json, to_json
from mem_search.renderers.timeline import render_timeline
from mem_search.renderers.view import View

__all__ = [
    "RENDERERS",
    "Renderer",
    "View",
    "record_json",
    "render",
    "render_context",
    "render_record",
    "render_timeline",
    "to_json",
]


class Renderer(Protocol):
    """A page as text. ``name`` is the word in ``format=``."""

    name: str

    def render(self, page: Page, view: View, *, title: str = "") -> str:
        """The listing; ``title`` replaces its first line."""
        ...


RENDERERS: tuple[Renderer, ...] = (Index(), Full())


def render(page: Page, format: str, view: View, *, title: str = "") -> str:  # noqa: A002
    """``page`` as the listing called ``format``; raises InputError listing the formats."""
    for renderer in RENDERERS:
        if renderer.name == format:
            return renderer.render(page, view, title=title)
    known = ", ".join(renderer.name for renderer in RENDERERS)
    raise InputError(f"{format!r} is no text format; known are {known}", field="format")
