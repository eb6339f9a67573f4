"""What tools answer about records: the shapes that OpenAI's deep research expects.

``search`` answers ``{"results": [{id, title, url}]}`` and ``fetch`` ``{id, title, text, url,
metadata}``, as its guide to building MCP servers says; ``metadata`` has only texts. They are
parts of what ``POST /api/v1/mcp/search|fetch`` answer, so that the words are the same.
"""

from __future__ import annotations

from mem_search.mcp.argument_types import STRING, STRINGS, described, listed
from mem_search.mcp.tool import Asker, Json
from mem_search.model import Record, SearchPage
from mem_search.renderers.universal import document_json, found_json
from mem_search.search.citations import citation
from mem_search.text import dates

HITS = described(results=listed(described(id=STRING, title=STRING, url=STRING)))
DOCUMENT = described(id=STRING, title=STRING, text=STRING, url=STRING, metadata=STRINGS)


def hits(page: SearchPage, base: str) -> Json:
    """The results of a search, to choose from by their titles."""
    found = found_json(page, base)["results"]
    return {"results": [{name: each[name] for name in ("id", "title", "url")} for each in found]}


def document(record: Record, asker: Asker) -> Json:
    """A whole record; passages that other tools cite are spans of its ``text``."""
    said = document_json(record, citation(record), asker.base)
    whole = {name: said[name] for name in ("id", "title", "text", "url")}
    return {**whole, "metadata": _metadata(record, said["citation"], asker)}


def _metadata(record: Record, citation: Json, asker: Asker) -> dict[str, str]:
    """What a citation needs, and what the record's kind tells that its text does not."""
    cited = {name: citation[name] for name in ("author", "published_date", "folder", "domain")}
    told = {
        label.lower().replace(" ", "_"): text
        for label, text in asker.view.kinds(record.kind).detail(record)
    }
    common = {
        "kind": record.kind,
        "created_at": dates.iso(record.created_at),
        "updated_at": dates.iso(record.updated_at),
        "project": record.project,
        "session": record.session,
        "source": record.source,
        "tags": ", ".join(record.tags),
    }
    return {name: text for name, text in {**told, **cited, **common}.items() if text}
