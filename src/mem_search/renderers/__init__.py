"""Text and JSON of results: the same words over HTTP, on the command line and by MCP.

All renderers are pure functions of a page or of records, and a ``DisplayOptions``.
"""

from mem_search.renderers.context import (
    RenderedBriefing,
    render_briefing,
    render_context,
    render_matches,
    render_prompt_guide,
)
from mem_search.renderers.listing import LISTINGS, Fitted, fitted, render, render_record
from mem_search.renderers.record_line import DisplayOptions
from mem_search.renderers.related import render_related
from mem_search.renderers.timeline import render_timeline
from mem_search.renderers.unasked import harmless, quoted

__all__ = [
    "LISTINGS",
    "DisplayOptions",
    "Fitted",
    "RenderedBriefing",
    "fitted",
    "harmless",
    "quoted",
    "render",
    "render_briefing",
    "render_context",
    "render_matches",
    "render_prompt_guide",
    "render_record",
    "render_related",
    "render_timeline",
]
