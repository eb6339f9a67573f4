"""The guide that agents ask for: which route finds what, and with which parameters."""

from __future__ import annotations

from collections.abc import Sequence

from mem_search.http.parameters import SearchParameters
from mem_search.http.reading import spellings
from mem_search.http.routing import Route

_EXAMPLES = """\
Examples
  /api/search/unified?query=auth
  /api/search/unified?query=login&types=observations,sessions&since=last+week&limit=10
  /api/search/observations?query=token+refresh&type=bugfix&format=full&limit=3
  /api/search/by-file?filePath=src/auth.py
  /api/search?query=login&orderBy=date_desc&format=json
  /api/timeline?anchor=42&depth_before=5&depth_after=5
  /api/records/observation:42"""


def guide(routes: Sequence[Route]) -> str:
    """Searches first; what they take is said once."""
    found = [route for route in routes if route.tag in ("search", "timeline")]
    wide = max(len(route.path) for route in found)
    lines = ["Search, from cheap to dear: an index line a record, then open what you need", ""]
    lines += [f"  {route.path:<{wide}}  {route.summary}" for route in found]
    lines += ["", "Parameters of searches", *_parameters(), "", _EXAMPLES, ""]
    lines += ["Everything else: GET /docs or /openapi.json. Accept: text/plain gives bare text."]
    return "\n".join(lines)


def _parameters() -> list[str]:
    lines = []
    for name, field in SearchParameters.model_fields.items():
        words = spellings(name, field)
        default = f" (default {field.default})" if field.default not in (None, "", ()) else ""
        lines.append(f"  {'|'.join(words)}: {field.description}{default}")
    return lines
