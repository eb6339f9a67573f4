"""A web page as it was when it was stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar
from urllib.parse import urlsplit

from mem_search.model import Citation, Draft, Kind, Record
from mem_search.records.base import BaseKind, Metadata
from mem_search.records.citation_fields import words


class WebsiteMetadata(Metadata):
    """The metadata of a website. ``domain`` is taken from the URL when missing."""

    domain: str | None = None


class Website(BaseKind[WebsiteMetadata]):
    """The ``website`` kind."""

    name: Kind = "website"
    plural = "websites"
    label = "Website"
    sign = "🌐"
    asked_as: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("bookmark", "bookmarks", "bookmarked"), "source:bookmarks"),
        **dict.fromkeys(("web page", "web pages", "webpage", "webpages"), "kind:website"),
    }
    may_be_asked_as: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("article", "articles", "page", "pages", "website", "websites", "blog post"),
        "kind:website",
    )
    source_type = "web_scrape"
    csl_type = "webpage"
    model = WebsiteMetadata

    def facets(self, draft: Draft) -> Iterable[tuple[str, str]]:
        domain = (self.known(draft.metadata).domain or "").strip().lower() or _domain(draft.url)
        return [*super().facets(draft), *([("domain", domain)] if domain else [])]

    def citation(self, record: Record) -> Citation:
        domain = words(record.metadata, "domain").lower() or _domain(record.url)
        return replace(super().citation(record), domain=domain)


def _domain(url: str) -> str:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # such as an unclosed bracket of an IPv6 address
        return ""
    return host.removeprefix("www.")
