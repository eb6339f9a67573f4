"""Fetching a page or a document from its URL into the spool.

Only http and https, and only addresses on the internet: ``outgoing`` checks each URL and
each address that a connection uses, after every redirect again. No cookies, no proxies, no
credentials, and nothing compressed, which could unpack to anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import ClientError, ClientResponse, hdrs
from yarl import URL

from mem_search.errors import SourceError
from mem_search.ingest import spool
from mem_search.jobs.queue import Report
from mem_search.jobs.tasks import ImportJob
from mem_search.outgoing import Lookup, RefusedPage, check_url, open_session, refusal_in
from mem_search.text.shortening import cut

MAX_BYTES: Final = 100 * 2**20
SECONDS: Final = 60.0
"""The limit for everything: name lookups, redirects, all of the body."""

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MAX_REDIRECTS: Final = 5
_PIECE: Final = 2**16
_SUFFIXES: Final = {
    "text/html": ".html", "application/xhtml+xml": ".xhtml", "text/plain": ".txt",
    "text/markdown": ".md", "text/csv": ".csv", "application/pdf": ".pdf",
    "application/rtf": ".rtf", "application/epub+zip": ".epub",
}  # fmt: skip
"""What a name ends with that does not say its type; the content decides in the end."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file in the spool (see ``spool.keep``), the URL that answered, and a name for it."""

    spooled: str
    url: str
    name: str


async def fetch(
    text: str,
    folder: Path,
    allowed: Collection[str] = (),
    *,
    seconds: float = SECONDS,
    most_bytes: int = MAX_BYTES,
    lookup: Lookup | None = None,
) -> Fetched:
    """Fetch ``text`` into ``folder``. Raises SourceError, or RefusedPage for where it leads."""
    headers = {
        "Accept": "text/html, application/pdf;q=0.9, */*;q=0.8",
        "Accept-Encoding": "identity",
    }
    try:
        async with (
            asyncio.timeout(seconds),
            open_session(allowed, seconds, headers, lookup, RefusedPage) as session,
        ):
            url = check_url(text, allowed, RefusedPage)
            for _ in range(_MAX_REDIRECTS + 1):
                async with session.get(url, allow_redirects=False) as reply:
                    if reply.status in _REDIRECTS:
                        url = _next(url, reply, allowed)
                        continue
                    return await _kept(url, reply, folder, most_bytes)
            raise SourceError(f"{text} redirects more than {_MAX_REDIRECTS} times")
    except TimeoutError:
        raise SourceError(f"{text} was not read within {seconds:g} seconds") from None
    except (ClientError, OSError, ValueError) as error:
        if refused := refusal_in(error):
            raise refused from None
        reason = cut(" ".join(str(error).split()), 200) or type(error).__name__
        raise SourceError(f"{text} cannot be reached: {reason}") from None


def _next(url: URL, reply: ClientResponse, allowed: Collection[str]) -> URL:
    location = reply.headers.get(hdrs.LOCATION, "")
    if not location:
        raise SourceError(f"{url} answered {reply.status} without saying where to go")
    try:
        return check_url(str(url.join(URL(location))), allowed, RefusedPage)
    except RefusedPage as refused:
        raise SourceError(f"{url} leads to {cut(location, 200)}: {refused.message}") from None


async def _kept(url: URL, reply: ClientResponse, folder: Path, most: int) -> Fetched:
    if reply.status != 200:
        raise SourceError(f"{url} answered {reply.status} {reply.reason or ''}".rstrip())
    if reply.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
        raise SourceError(f"{url} sends only compressed data; save the page and add the file")
    name = _name(url, reply.content_type)
    spooled = await spool.keep(folder, _chunks(url, reply, most), name, ("",))
    return Fetched(spooled, str(url), name)


async def _chunks(url: URL, reply: ClientResponse, most: int) -> AsyncIterator[bytes]:
    size = 0
    if (reply.content_length or 0) > most:
        raise SourceError(f"{url} is larger than {most // 2**20} MB")
    async for chunk in reply.content.iter_chunked(_PIECE):
        size += len(chunk)
        if size > most:
            raise SourceError(f"{url} is larger than {most // 2**20} MB")
        yield chunk


def _name(url: URL, content_type: str) -> str:
    """A file name with the ending that its type has."""
    last = unquote(url.path).replace("\\", "/").rpartition("/")[2]
    name = "".join(letter for letter in last if letter.isprintable())[-100:].strip(". ")
    suffix = _SUFFIXES.get(content_type, "")
    return name if name.lower().endswith(suffix or "\0") else f"{name or 'page'}{suffix}"


class FetchJob:
    """Read a page or a document from its URL, once: it is not followed."""

    name = "fetch"

    def __init__(self, importing: ImportJob, spool_dir: Path, allowed: Collection[str]) -> None:
        self._importing = importing
        self._spool = spool_dir
        self._allowed = tuple(allowed)

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        """``url`` is read; ``options`` are what was said about the document."""
        url = str(params["url"])
        await report(0, 0, f"fetching {url}")
        fetched = await fetch(url, self._spool, self._allowed)
        options = {**params.get("options", {}), "name": fetched.name, "fetched_from": fetched.url}
        done = {"source": "files", "path": url, "spooled": fetched.spooled, "options": options}
        done["job"] = params.get("job", "")
        try:
            return await self._importing.run(done, report)
        finally:
            await asyncio.to_thread(spool.discard, self._spool, fetched.spooled)
