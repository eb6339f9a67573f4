"""The index: a line a record, cheap enough to read before opening anything."""

from __future__ import annotations

from mem_search.model import Result, SearchPage
from mem_search.renderers.header import described, heading, notes, paging
from mem_search.renderers.line import explanation, index_line
from mem_search.renderers.view import View


class Index:
    """``format=index``. Every line stays under 60 tokens."""

    name = "index"
    between = "\n"
    may_cut = False

    def entry(self, result: Result, view: View) -> str:
        """One line, and one with the reason of its score where that was asked for."""
        line = index_line(result.record, view, result.similar)
        return "\n".join((line, *explanation(result.scores)))

    def render(self, page: SearchPage, view: View, *, title: str = "") -> str:
        blocks = [
            [title or heading(page, view)],
            [self.entry(result, view) for result in page.results],
            [line for line in (paging(page), *notes(page)) if line],
            tips(page) if page.results else advice(page, view),
        ]
        return "\n\n".join("\n".join(block) for block in blocks if block)


def tips(page: SearchPage) -> list[str]:
    """How to go on without spending tokens on what is not needed."""
    ref = page.results[0].record.ref
    return [
        f"Tip: open only what you need: mem-search get {ref} (HTTP: /api/records/{ref})",
        f"Tip: what happened around it: mem-search timeline {ref}",
        "Tip: format=full prints every result whole; use it with a small limit",
    ]


def advice(page: SearchPage, view: View) -> list[str]:
    """What to try when nothing was found."""
    if page.total:
        return []
    lines = []
    if page.request.text:
        lines.append("Try: fewer words, or other words for the same thing")
    if filters := described(page.request.filters, view):
        lines.append(f"Try: drop a filter ({filters})")
    return [*lines, "Try: mem-search stats, to see what is stored at all"]
