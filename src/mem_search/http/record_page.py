"""``GET /v/{ref}``: the page of a record, which is its URL where it has no web address.

Plain HTML without scripts. Text of a record is never markup and loads nothing from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from aiohttp import web

from mem_search.http.core.replies import HTML, JSON, html_page, json_reply, prefers, style_policy
from mem_search.http.core.routing import Call
from mem_search.http.records import find, id_in_path
from mem_search.model import Citation, Record
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions
from mem_search.renderers.record_json import WholeRecord
from mem_search.renderers.safe_text import harmless
from mem_search.search.citations import citation as citation_of

_STYLE = """
body { font: 16px/1.6 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem;
  color: #1f2328; background: #fff }
h1 { font-size: 1.4rem; line-height: 1.3 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .9rem }
dt { color: #59636e }
dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap }
pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; border-top: 1px solid #d0d7de;
  padding-top: 1rem }
a { color: inherit }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117 }
  pre { border-color: #3d444d }
  dt { color: #9198a1 }
}
"""
POLICY = style_policy(_STYLE)


async def show(call: Call) -> web.StreamResponse:
    """The page of one record; JSON where ``Accept`` prefers it to HTML."""
    record, links = await find(call, id_in_path(call))
    if prefers(call.request, JSON, HTML):
        return json_reply(WholeRecord.of(record, links))
    return web.Response(
        text=render(record, citation_of(record), call.display()),
        content_type=HTML,
        headers={"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"},
    )


def render(record: Record, citation: Citation, display: DisplayOptions) -> str:
    """The page of ``record``."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{shown}</dd>" for name, shown in
                   _fields(record, citation, display))  # fmt: skip
    title = harmless(citation.source_title)
    body = (
        f"<h1>{escape(title)}</h1>\n<dl>{rows}</dl>\n<pre>{escape(harmless(record.text))}</pre>\n"
    )
    return html_page(title, _STYLE, body)


def _fields(
    record: Record, citation: Citation, display: DisplayOptions
) -> Iterator[tuple[str, str]]:
    """(label, HTML) of each known detail."""
    kind = installed_kinds().get(record.kind)
    yield kind.label, f'<a href="/api/records/{record.ref}">{record.ref}</a>'
    pairs = [
        ("Date", display.full_date(record.created_at)),
        ("By", citation.author),
        (
            "Published",
            citation.published_month
            if citation.published_at is None
            else display.day(citation.published_at),
        ),
        ("Project", record.project),
        ("Session", record.session),
        ("Tags", ", ".join(record.tags)),
        *kind.detail(record),
    ]
    for name, value in pairs:
        if value and not (name == "Author" and citation.author):
            yield harmless(name), escape(harmless(value))
    if record.url.lower().startswith(("https://", "http://")):
        address = escape(harmless(record.url))
        yield "URL", f'<a href="{address}" rel="noreferrer noopener">{address}</a>'
    elif record.url:
        yield "URL", escape(harmless(record.url))
