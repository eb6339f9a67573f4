"""What tools answer about records: the shapes that OpenAI's deep research expects.

``search`` answers ``{"results": [{id, title, url}]}`` and ``fetch`` ``{id, title, text, url,
metadata}``, as its guide to building MCP servers says; ``metadata`` has only texts. They are
parts of what ``POST /api/v1/mcp/search|fetch`` answer, so that the words are the same.
"""

from __future__ import annotations

from mem_search.mcp.argument_types import STRING, STRINGS, described, listed
from mem_search.mcp.tool import Asker, Json
from mem_search.model import Citation, Record, SearchPage
from mem_search.renderers.universal import id_of, url_of
from mem_search.search.citations import citation, cite
from mem_search.text import dates

HITS = described(results=listed(described(id=STRING, title=STRING, url=STRING)))
DOCUMENT = described(id=STRING, title=STRING, text=STRING, url=STRING, metadata=STRINGS)


def hits(page: SearchPage, base: str) -> Json:
    """The results of a search, to choose from by their titles."""
    return {
        "results": [
            {
                "id": id_of(cited.record),
                "title": cited.citation.source_title,
                "url": url_of(cited.record, base),
            }
            for cited in cite(page)
        ]
    }


def document(record: Record, asker: Asker) -> Json:
    """A whole record; passages that other tools cite are spans of its ``text``."""
    cited = citation(record)
    return {
        "id": id_of(record),
        "title": cited.source_title,
        "text": record.text,
        "url": url_of(record, asker.base),
        "metadata": _metadata(record, cited, asker),
    }


def _metadata(record: Record, citation: Citation, asker: Asker) -> dict[str, str]:
    """What a citation needs, and what the record's kind tells that its text does not."""
    published = citation.published_at
    cited = {
        "author": citation.author,
        "published_date": "" if published is None else dates.iso(published),
        "folder": citation.folder,
        "domain": citation.domain,
    }
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
