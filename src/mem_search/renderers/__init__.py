"""Text and JSON of results: the same words over HTTP, on the command line and by MCP.

All renderers are pure functions of a page or of records, and a ``DisplayOptions``.
"""

from mem_search.renderers.listing import LISTINGS, Fitted, fitted, render, render_record
from mem_search.renderers.record_line import DisplayOptions
from mem_search.renderers.unasked import harmless, quoted

__all__ = [
    "LISTINGS",
    "DisplayOptions",
    "Fitted",
    "fitted",
    "harmless",
    "quoted",
    "render",
    "render_record",
]
