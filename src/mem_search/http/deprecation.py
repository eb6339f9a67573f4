"""How a deprecated route says so: the headers of RFC 9745 and RFC 8288, for programs to read.

Such a route goes on working; nothing is printed, and no date is set for its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from aiohttp import web

SUCCESSORS: Final = web.AppKey("successors", Mapping[str, str])
"""Path of a deprecated route → path of what replaces it."""

SINCE: Final = datetime(2026, 11, 22, tzinfo=UTC)
"""When the universal search came to replace them."""


def headers_of(request: web.Request) -> dict[str, str]:
    """What a reply to ``request`` says; nothing for a route that is not deprecated."""
    resource = request.match_info.route.resource
    successor = request.app[SUCCESSORS].get(resource.canonical) if resource else None
    if successor is None:
        return {}
    return {
        "Deprecation": f"@{SINCE.timestamp():.0f}",
        "Link": f'<{successor}>; rel="successor-version"',
    }
