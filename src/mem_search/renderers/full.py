"""The full listing: every record whole, with the reason why it was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mem_search.model import Link, Record, Ref, Result, SearchPage
from mem_search.renderers.header import heading, notes, paging
from mem_search.renderers.index import advice
from mem_search.renderers.line import explanation, name_of, told
from mem_search.renderers.safe_text import harmless, one_line
from mem_search.renderers.view import View

RULE = "\n\n---\n\n"


class Full:
    """``format=full``."""

    name = "full"
    between = RULE
    may_cut = True

    def entry(self, result: Result, view: View) -> str:
        """The whole record, and why it was found."""
        parts = ", ".join(f"{name} {value:.3g}" for name, value in told(result.scores))
        why = f"Score: {result.score:.3g}{f' ({parts})' if parts else ''}"
        similar = [f"Similar: {_refs(result.similar)}"] if result.similar else []
        reasons = "\n".join((*similar, why, *explanation(result.scores)))
        return "\n\n".join([*_blocks(result.record, view), reasons])

    def render(self, page: SearchPage, view: View, *, title: str = "") -> str:
        top = title or heading(page, view)
        body = self.between.join(self.entry(result, view) for result in page.results)
        end = [line for line in (paging(page), *notes(page)) if line]
        if not page.results:
            end += advice(page, view)
        return "\n\n".join(block for block in (top, body, "\n".join(end)) if block)


def render_record(record: Record, view: View, links: Sequence[Link] = ()) -> str:
    """One record whole: what opening a ref shows."""
    return "\n\n".join(_blocks(record, view, links))


def _blocks(record: Record, view: View, links: Sequence[Link] = ()) -> Iterator[str]:
    yield f"## {name_of(record, view)}"
    yield "\n".join(
        f"{label}:\n{text}" if "\n" in text else f"{label}: {text}"
        for label, text in _fields(record, view, links)
        if text
    )
    yield harmless(record.text)


def _fields(record: Record, view: View, links: Sequence[Link]) -> Iterator[tuple[str, str]]:
    yield "Ref", str(record.ref)
    yield "Date", view.full_date(record.created_at)
    if record.updated_at != record.created_at:
        yield "Updated", view.full_date(record.updated_at)
    yield "Project", one_line(record.project)
    yield "Session", one_line(record.session)
    yield "Source", one_line(record.source)
    yield "Tags", one_line(", ".join(record.tags))
    yield "URL", one_line(record.url)
    yield "Importance", "" if record.importance is None else f"{record.importance:g}"
    yield "Archived", "yes" if record.archived else ""
    yield "Superseded by", str(record.superseded_by or "")
    yield "Supersedes", _refs(record.supersedes)
    for label, text in view.kinds(record.kind).detail(record):
        yield one_line(label), harmless(text)
    yield "Links", ", ".join(f"{one_line(ln.relation)} {one_line(ln.to)}" for ln in links)


def _refs(refs: Sequence[Ref]) -> str:
    return ", ".join(map(str, refs))
