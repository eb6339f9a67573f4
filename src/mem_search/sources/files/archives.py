"""The sources ``research-archive`` and ``url-archive``: the two folders of an archive of research.

A file of the first is a ``report``, of the second a ``website``. What a file says of itself comes
from its front matter, its JSON, its HTML, or lines such as ``Query: …`` and ``URL: …`` at its head.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import unquote

from mem_search.errors import InputError
from mem_search.extractors.main_text import plain_text
from mem_search.extractors.refusal import Unreadable
from mem_search.model import Draft, Location
from mem_search.model.ingest import Extracted
from mem_search.patterns import pattern
from mem_search.sources.files import Files, identity_of
from mem_search.text.dates import from_iso
from mem_search.text.json_reading import read_json
from mem_search.text.shortening import cut

RESEARCH: Final = "research-archive"
PAGES: Final = "url-archive"

_HEAD: Final = 20
"""Lines at the head of a file in which it says what it is."""

_SAYS: Final = pattern(
    r"\W{0,4}(query|question|topic|prompt|title|type|date|created|published(?:[ ]time)?|updated"
    r"|retrieved|fetched|saved|accessed|timestamp|url(?:[ ]source)?|source(?:[ ]url)?|link"
    r"|original[ ]url|canonical[ ]url|requested[ ]url|final[ ]url|redirected[ ]from)"
    r"\W{0,2}:\W{0,4}[ \t](\S[^\n]{0,2000})",
    re.IGNORECASE,
)
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "title": ("title", "name", "headline"),
    "query": ("query", "question", "topic", "prompt", "search_query", "searchquery"),
    "type": ("type", "kind"),
    "date": ("date", "created", "created_at", "createdat", "timestamp", "published",
             "published_time", "saved", "saved_at", "fetched", "fetched_at", "retrieved",
             "retrieved_at", "accessed", "updated"),
    "url": ("url", "source_url", "sourceurl", "url_source", "link", "source", "original_url",
            "requestedurl"),
    "text": ("markdown", "content", "text", "body", "report", "answer", "result", "summary",
             "html"),
    "canonical_url": ("canonical_url", "canonicalurl", "canonical"),
    "requested_url": ("requested_url",),
    "final_url": ("final_url", "finalurl", "resolved_url"),
    "author": ("author", "byline"),
    "doi": ("doi",),
}  # fmt: skip
"""What a record has, by the names under which tools write it; the first that is there counts."""

_LISTED: Final = ("redirects", "redirect_chain", "redirectchain", "redirected_from")
_RESULTS: Final = ("results", "search_results", "items", "hits")
_SOURCES: Final = ("sources", "citations", "references", "urls")
_DAY: Final = pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]{4,15}(?:Z|[+-][0-9:]{4,6})?)?")
_ANCHOR: Final = pattern(
    r"<a\s[^<>]{0,500}?href\s?=\s?[\"'](https?://[^\"'<>\s]{1,2000})[\"'][^<>]{0,500}>([^<>]{0,500})</a>",
    re.IGNORECASE,
)
_BLOCK: Final = pattern(
    r"</?(?:p|div|h[1-6]|li|ul|ol|tr|table|br|section)\b[^<>]{0,500}>", re.IGNORECASE
)
_PAGE: Final = pattern(r"\s{0,200}<(?:!doctype|[a-z][a-z0-9]{0,20})[\s/>]", re.IGNORECASE)
_TAG: Final = pattern(r"<(?!https?:)[a-zA-Z/!][^<>]{0,2000}>")


class Said(NamedTuple):
    """What a file says of itself, by the names of ``_NAMES``; ``results`` has a search."""

    fields: Mapping[str, str]
    redirects: tuple[str, ...] = ()
    text: str = ""
    is_search: bool = False


class ArchiveFolder(Files):
    """One folder of an archive. ``Location.label`` is the name of the archive, the project."""

    file_format = None
    kind: Literal["report", "website"]
    holds: str
    usual_type: str

    def elsewhere(self, path: Path) -> str:
        return ""

    def draft(
        self, location: Location, item: str, name: str, read: Extracted, modified: int, project: str
    ) -> Draft:
        said = _said(read, name)
        text = said.text or read.text
        url = self._url(read, said, name)
        if self.kind == "website" and not url:
            raise Unreadable("it does not say which page it is; give it a line URL: https://…")
        created, wrong = _date(said.fields.get("date", ""))
        given = {key: value for key, value in said.fields.items() if key not in ("title", "text")}
        metadata: dict[str, Any] = {
            **{key: value for key, value in read.metadata.items() if key not in _KEPT},
            **{key: given[key] for key in _KEPT if key in given},
            "path": identity_of(location, item),
            "archive": self.holds,
            "type": given.get("type") or ("search" if said.is_search else self.usual_type),
        }
        if said.redirects:
            metadata["redirects"] = list(said.redirects)
        if wrong:
            metadata["invalid_date"] = wrong
        own = created if created is not None else read.created_at
        return Draft(
            kind=self.kind,
            source=self.name,
            source_id=identity_of(location, item),
            text=text,
            title=said.fields.get("title") or read.title or said.fields.get("query")
            or Path(name).stem,
            created_at=own if own is not None else modified,
            updated_at=modified,
            project=location.label or project,
            url=url,
            tags=read.tags,
            metadata=metadata,
        )  # fmt: skip

    def _url(self, read: Extracted, said: Said, name: str) -> str:
        decoded = unquote(Path(name).stem)
        named = decoded if decoded.startswith(("http://", "https://")) else ""
        urls = (said.fields.get("url", ""), read.url, named)
        return next((url for url in urls if url.startswith(("http://", "https://"))), "")


_KEPT: Final = ("query", "date", "canonical_url", "requested_url", "final_url", "author", "doi")


class ResearchArchive(ArchiveFolder):
    """The source `research-archive`: reports and searches, in Markdown, JSON or HTML.

    A report has no address of its own; what it names, it cites.
    """

    name = RESEARCH
    kind = "report"
    holds = "research"
    links = True
    usual_type = "report"

    def _url(self, read: Extracted, said: Said, name: str) -> str:
        return ""


class UrlArchive(ArchiveFolder):
    """The source `url-archive`: saved web pages, each with its address."""

    name = PAGES
    kind = "website"
    holds = "url-content"
    usual_type = "webpage"


def _said(read: Extracted, name: str) -> Said:
    if Path(name).suffix.lower() == ".json":
        return _said_in_json(read.text)
    fields: dict[str, str] = {}
    for line in read.text.split("\n", _HEAD)[:_HEAD]:
        if match := _SAYS.match(line[:2100]):
            key = match[1].lower().replace(" ", "_")
            fields.setdefault(key, match[2].strip().strip("*_`<>"))
    named = _named({**fields, **_words(read.metadata)})
    return Said(named, tuple(filter(None, [fields.get("redirected_from", "")])))


def _said_in_json(text: str) -> Said:
    """What a JSON file says. Raises Unreadable for one that holds no report, search or page."""
    try:
        document = read_json(text)
    except (InputError, ValueError, RecursionError) as error:
        raise Unreadable(f"it is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise Unreadable("it holds no report and no page: its JSON is not an object")
    top = {key.lower(): value for key, value in document.items()}
    inner = top.get("metadata")
    more = {key.lower(): value for key, value in inner.items()} if isinstance(inner, dict) else {}
    fields = _named({**_words(more), **_words(top)})
    results: list[Any] = next((top[key] for key in _RESULTS if isinstance(top.get(key), list)), [])
    sources: list[Any] = next((top[key] for key in _SOURCES if isinstance(top.get(key), list)), [])
    body = fields.get("text", "")
    if "<" in body and (body == fields.get("html") or len(_TAG.findall(body[:5000])) > 2):
        body = _without_tags(body)
    listed = [_result(each) for each in results]
    cited = [f"[{at}] {line}" for at, each in enumerate(sources, 1) if (line := _source(each))]
    parts = [body, *filter(None, listed), "References\n\n" + "\n".join(cited) if cited else ""]
    whole = "\n\n".join(part for part in parts if part.strip())
    if not whole:
        raise Unreadable("it holds no report and no page: no text, content, report or results")
    redirects: list[Any] = next((top[key] for key in _LISTED if isinstance(top.get(key), list)), [])
    chain = [each if isinstance(each, str) else _words(each).get("url", "") if isinstance(
        each, dict) else "" for each in redirects]  # fmt: skip
    return Said(fields, tuple(filter(None, chain)), whole, bool(listed))


def _named(given: Mapping[str, str]) -> dict[str, str]:
    named = {}
    for field, names in _NAMES.items():
        if value := next((given[name] for name in names if given.get(name)), ""):
            named[field] = value
    return named


def _words(given: Mapping[str, Any]) -> dict[str, str]:
    """The texts and numbers of an object."""
    return {
        key: str(value).strip()
        for key, value in given.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }


def _result(result: object) -> str:
    """A result of a search, as an entry that cites its page."""
    if not isinstance(result, dict):
        return str(result) if isinstance(result, str) else ""
    said = _named(_words({key.lower(): value for key, value in result.items()}))
    snippet = next((str(result[key]) for key in ("snippet", "description", "content")
                    if isinstance(result.get(key), str)), said.get("text", ""))  # fmt: skip
    return "\n".join(filter(None, [said.get("title", ""), said.get("url", ""), snippet]))


def _source(source: object) -> str:
    if isinstance(source, str):
        return source
    if not isinstance(source, dict):
        return ""
    said = _named(_words({key.lower(): value for key, value in source.items()}))
    return " - ".join(filter(None, [said.get("url", ""), said.get("title", "")]))


def _without_tags(text: str) -> str:
    """The text of HTML, or of Markdown with tags, with links as Markdown, which are cited."""
    if _PAGE.match(text):
        from mem_search.extractors.html import with_links  # heavy: lxml

        return plain_text(with_links(text)).replace("\n", "\n\n")
    linked = _ANCHOR.sub(r"[\2](\1)", text)
    return unescape(_TAG.sub(" ", _BLOCK.sub("\n\n", linked))).strip()


def _date(written: str) -> tuple[int | None, str]:
    """The time in ms since 1970, or what was written instead of one."""
    if not written:
        return None, ""
    if written.isdecimal() and len(written) in (10, 13):
        return int(written) * (1000 if len(written) == 10 else 1), ""
    try:
        match = _DAY.match(written)
        return (from_iso(match[0].replace(" ", "T")), "") if match else (None, cut(written, 100))
    except (InputError, ValueError):
        return None, cut(written, 100)
