"""``/api/archive``: archives of research, and the citations between reports and pages."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Literal

from aiohttp import web
from pydantic import Field

from mem_search.errors import InputError, MissingField
from mem_search.http.core.parameter_types import IdOfRecord, Name, Stripped
from mem_search.http.core.parameters import Body, Parameters
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.http.jobs import submitted
from mem_search.http.records import find
from mem_search.http.schemas.archives import Archive, Archives, PageCitation, PageCitations
from mem_search.http.schemas.common import Deleted
from mem_search.jobs.archives import JOB, folder
from mem_search.model import Filters, SearchRequest, graph
from mem_search.model import archives as stored
from mem_search.text.highlight import WordMatcher
from mem_search.text.record_ids import RecordId
from mem_search.text.words import runs_of

_REPORTS = 50
"""Reports whose places are compared with a question; more are about something else."""

_EACH = 500
"""Pages that one report cites, at most, of those that are compared."""


class ArchiveBody(Body):
    """Which archive to read. Its folders and schedule are needed once; later its name is enough."""

    name: Name = Field(default="archive", description="Its name, the project of its records")
    research: str = Field(
        default="", alias="researchPath", description="The folder of reports: an absolute path"
    )
    pages: str = Field(
        default="", alias="urlContentPath", description="The folder of saved pages, likewise"
    )
    force: bool = Field(default=False, description="Read every file again, changed or not")
    schedule: Annotated[str, Field(max_length=200)] | None = Field(
        default=None, description="A cron expression, such as 0 4 * * *; empty for none"
    )
    watch: bool | None = Field(
        default=None, alias="watchFiles", description="Read what changes, as it changes"
    )


class CitationParameters(Parameters):
    """Of which record, or about what."""

    ref: IdOfRecord = Field(default="", description="A report or a page, by its ref")
    direction: Literal["cites", "cited-by"] = Field(
        default="cites", description="What the record cites, or what cites it"
    )
    query: Stripped = Field(default="", description="Words of the sentences that cite")
    limit: int = Field(default=100, ge=1, le=1000, description="How many at most")


async def index(call: Call) -> web.StreamResponse:
    """Store what is new about the archive, and queue the reading of its folders."""
    body = call.json_body(ArchiveBody)
    archives = call.runtime.ingest.archives
    known = await archives.get(body.name) or stored.Archive(body.name)
    research = await asyncio.to_thread(folder, body.research, "researchPath")
    pages = await asyncio.to_thread(folder, body.pages, "urlContentPath")
    changed = replace(
        known,
        research=research or known.research,
        pages=pages or known.pages,
        schedule=known.schedule if body.schedule is None else body.schedule.strip(),
        watch=known.watch if body.watch is None else body.watch,
    )
    if changed.research and changed.research == changed.pages:
        raise InputError("both folders are the same; name two", field="urlContentPath")
    await archives.put(changed)
    return await submitted(
        call, JOB, {"name": body.name, **({"force": True} if body.force else {})}
    )


async def listed(call: Call) -> web.StreamResponse:
    """Every archive with the statistics of its last run."""
    found = await call.runtime.ingest.archives.listed()
    return json_reply(Archives(archives=[Archive.of(each) for each in found]))


async def remove(call: Call) -> web.StreamResponse:
    """Stop reading an archive."""
    name = call.request.match_info["name"]
    await call.runtime.ingest.archives.remove(name)
    return json_reply(Deleted(deleted=name))


async def citations(call: Call) -> web.StreamResponse:
    """The citations of a record, or those whose sentences have the words of a question."""
    params = call.parameters(CitationParameters)
    archives = call.runtime.store.archives
    if params.ref:
        record, _ = await find(call, RecordId.parse(params.ref))
        if params.direction == "cites":
            found = await archives.references([record.number], params.limit)
        else:
            found = await archives.citations([record.number], params.limit)
    elif params.query:
        found = await _about(call, params.query, params.limit)
    else:
        raise MissingField("give ref, a record, or query, words of the sentences", field="ref")
    return json_reply(PageCitations(citations=[PageCitation.of(each) for each in found]))


async def _about(call: Call, query: str, limit: int) -> list[graph.PageCitation]:
    """Citations with a place whose context has words of ``query``, the most words first.

    A context is a span of its report, so the reports are searched, and their places compared.
    """
    page = await call.search(
        SearchRequest(text=query, filters=Filters(kinds=("report",)), limit=_REPORTS),
        current=True,
    )
    numbers = [result.record.number for result in page.results]
    words = list(dict.fromkeys(runs_of(query.lower())))
    matchers = [WordMatcher((word,)) for word in words]
    ranked: list[tuple[int, int, graph.PageCitation]] = []
    found = await call.runtime.store.archives.references(numbers, _EACH)
    for at, citation in enumerate(found):
        scored = [
            (sum(bool(matcher.count_in(place.context)) for matcher in matchers), place)
            for place in citation.places
        ]
        best = max((score for score, _ in scored), default=0)
        if best:
            places = tuple(place for score, place in scored if score == best)
            ranked.append((-best, at, replace(citation, places=places)))
    ranked.sort(key=lambda item: item[:2])
    return [citation for _, _, citation in ranked[:limit]]
