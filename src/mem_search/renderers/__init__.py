"""Text and JSON of results: the same words over HTTP, on the command line and by MCP.

Pure functions of a ``SearchPage`` or of records, and a ``View``. To add a listing: a file here
and a line in ``RENDERERS``.
"""

from __future__ import annotations

from typing import Protocol

from mem_search.errors import InputError
from mem_search.model import Result, SearchPage
from mem_search.renderers.context import render_context
from mem_search.renderers.full import Full, render_record
from mem_search.renderers.index import Index
from mem_search.renderers.json import record_json, to_json
from mem_search.renderers.related import render_related
from mem_search.renderers.timeline import render_timeline
from mem_search.renderers.token_budget import Fitted, fits, fitted_listing
from mem_search.renderers.view import View
from mem_search.text import token_count

__all__ = [
    "RENDERERS",
    "Fitted",
    "Renderer",
    "View",
    "fitted",
    "record_json",
    "render",
    "render_context",
    "render_record",
    "render_related",
    "render_timeline",
    "to_json",
]


class Renderer(Protocol):
    """A page as text. ``name`` is the word in ``format=``.

    ``between`` stands between two entries; ``may_cut`` says that a part of one is of use.
    """

    name: str
    between: str
    may_cut: bool

    def entry(self, result: Result, view: View) -> str:
        """One result."""
        ...

    def render(self, page: SearchPage, view: View, *, title: str = "") -> str:
        """The listing; ``title`` replaces its first line."""
        ...


RENDERERS: tuple[Renderer, ...] = (Index(), Full())


def render(page: SearchPage, format: str, view: View, *, title: str = "") -> str:  # noqa: A002
    """``page`` as the listing called ``format``; raises InputError listing the formats."""
    return _by_name(format).render(page, view, title=title)


def fitted(
    page: SearchPage,
    format: str,  # noqa: A002 - the word callers write
    view: View,
    max_tokens: int | None,
    *,
    title: str = "",
) -> Fitted:
    """As ``render``, within ``max_tokens``: with fewer results where it has to be."""
    renderer = _by_name(format)
    text = renderer.render(page, view, title=title)
    if max_tokens is None or fits(text, max_tokens) or not page.results:
        text = text if max_tokens is None else token_count.cut(text, max_tokens)
        return Fitted(text, page, token_count.count(text))
    return fitted_listing(
        page,
        renderer.entry,
        renderer.between,
        view,
        max_tokens,
        title=title,
        may_cut=renderer.may_cut,
    )


def _by_name(name: str) -> Renderer:
    for renderer in RENDERERS:
        if renderer.name == name:
            return renderer
    known = ", ".join(renderer.name for renderer in RENDERERS)
    raise InputError(f"{name!r} is no text format; known are {known}", field="format")
