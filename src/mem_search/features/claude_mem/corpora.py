"""``/api/corpus``: claude-mem's knowledge corpora, which are saved searches here.

There a corpus is a file with the observations that a search found, and a language model that was
given the file answers questions about it. Here the corpus ``NAME`` is the saved search
``corpus.NAME``: it is current at any time, needs no priming, and a question is answered with the
observations of the corpus that match it best. The agent that asked reads them itself.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Annotated, Any, Final

from aiohttp import web
from multidict import MultiDict
from pydantic import BeforeValidator, Field

from mem_search.errors import NotFound
from mem_search.features.claude_mem.clients import ClientBody
from mem_search.features.claude_mem.reading import words_of
from mem_search.features.claude_mem.replies import (
    Corpus,
    CorpusAnswer,
    CorpusDates,
    CorpusPrimed,
    CorpusStats,
    ListedCorpus,
    McpReply,
    McpText,
    Success,
)
from mem_search.features.context.service import Briefing, Candidate, Situation
from mem_search.features.context.text import render_matches
from mem_search.features.saved_searches.model import SavedSearch
from mem_search.features.saved_searches.service import Plan
from mem_search.http.access.authentication import admit
from mem_search.http.core.parameter_types import Name
from mem_search.http.core.parameters import SearchParameters
from mem_search.http.core.reading import read_query
from mem_search.http.core.replies import json_reply
from mem_search.http.core.routing import Call
from mem_search.model import Record, SearchRequest
from mem_search.renderers import quoted
from mem_search.renderers.schema import dumped, to_values
from mem_search.search.service import UNLOGGED
from mem_search.search.stored_requests import load
from mem_search.text import dates, secret_rules, token_count
from mem_search.text.redaction import redact

PREFIX: Final = "corpus."
USUAL: Final = 500
MAX_RECORDS: Final = 10_000
_ANSWERS: Final = 10
_ANSWER_TOKENS: Final = 2_000
_NO_MODEL: Final = (
    "No language model was asked. These observations of the corpus match the question best;"
    " get_observations opens them by their numbers."
)

_List = Annotated[tuple[str, ...], BeforeValidator(words_of), Field(max_length=200)]


class CorpusBody(ClientBody):
    """A corpus to build: which observations are in it."""

    name: Name
    description: str = Field(default="", max_length=2_000)
    project: str = Field(default="", max_length=300)
    types: _List = ()
    concepts: _List = ()
    files: _List = ()
    words: str = Field(default="", max_length=10_000, alias="query")
    date_start: str = ""
    date_end: str = ""
    limit: Annotated[int, BeforeValidator(lambda given: given or USUAL)] = Field(
        default=USUAL, ge=1
    )

    def request(self, call: Call) -> SearchRequest:
        """The search for its observations. Raises Invalid naming what cannot be read."""
        given = {
            "query": self.words, "project": self.project, "type": ",".join(self.types),
            "concepts": ",".join(self.concepts), "files": ",".join(self.files),
            "dateStart": self.date_start, "dateEnd": self.date_end,
        }  # fmt: skip
        sent = MultiDict((name, value) for name, value in given.items() if value)
        params = read_query(SearchParameters, sent, call.now)
        limit = min(self.limit, MAX_RECORDS)
        return replace(params.search(("observation",)), asked_at=call.now, limit=limit, fold=False)


class QuestionBody(ClientBody):
    """A question about a corpus."""

    question: str = Field(min_length=1, max_length=10_000)


async def build(call: Call) -> web.StreamResponse:
    """Save the search of a corpus; one of the same name is replaced."""
    body = call.json_body(CorpusBody)
    searches, name = call.runtime.research.saved_searches, PREFIX + body.name
    await secret_rules.ready()
    plan = Plan(body.request(call), inbox=False, description=redact(body.description)[0])
    known = {each.name.lower() for each in await searches.listed()}
    save = searches.change if name.lower() in known else searches.create
    return json_reply(await _described(call, await save(name, plan)))


async def listed(call: Call) -> web.StreamResponse:
    """All corpora, as a text that its MCP server hands on."""
    saved = await call.runtime.research.saved_searches.listed()
    corpora = [
        await _described(call, each) for each in saved if each.name.lower().startswith(PREFIX)
    ]
    shown = [
        to_values(
            ListedCorpus(
                name=each.name,
                description=each.description,
                stats=each.stats,
                session_id=each.session_id,
            )
        )
        for each in corpora
    ]
    return json_reply(McpReply(content=[McpText(text=dumped(shown))]))


async def one(call: Call) -> web.StreamResponse:
    """A corpus; a rebuilt one is the same, because its search is run anew."""
    return json_reply(await _described(call, await _saved(call)))


async def remove(call: Call) -> web.StreamResponse:
    """Delete a corpus; its observations stay."""
    await call.runtime.research.saved_searches.remove((await _saved(call)).name)
    return json_reply(Success())


async def prime(call: Call) -> web.StreamResponse:
    """Say that the corpus is ready, as it always is."""
    name = (await _saved(call)).name
    return json_reply(CorpusPrimed(session_id=name, name=name[len(PREFIX) :]))


async def ask(call: Call) -> web.StreamResponse:
    """The observations of the corpus that match a question best, fenced and within a budget."""
    question, saved = call.json_body(QuestionBody).question, await _saved(call)
    await admit(call.request, question)
    corpus = load(saved.request)
    page = await call.search(
        replace(corpus, text=question, limit=USUAL, asked_at=call.now, as_words=("all",)),
        current=True,
    )
    records = [result.record for result in page.results]
    if corpus.text.strip():  # what its own words do not find is not in it
        members = {record.number for record in await _observations(call, saved)}
        records = [record for record in records if record.number in members]
    candidates = tuple(
        Candidate(record, 1 / rank, ("prompt",)) for rank, record in enumerate(records, 1)
    )
    briefing = Briefing(Situation((saved.name,), prompt=question), candidates=candidates)
    matches = render_matches(briefing, call.display(), _ANSWER_TOKENS, _ANSWERS)
    name = quoted(saved.name[len(PREFIX) :], "this corpus")
    nothing = f"No observation of the corpus {name} matches the question."
    answer = f"{_NO_MODEL}\n\n{matches.text}" if matches.text else nothing
    return json_reply(CorpusAnswer(answer=answer, session_id=saved.name))


async def _saved(call: Call) -> SavedSearch:
    """The saved search of the corpus in the path. Raises NotFound naming those that exist."""
    name, searches = call.request.match_info["name"], call.runtime.research.saved_searches
    try:
        return await searches.get(PREFIX + name)
    except NotFound:
        names = [each.name for each in await searches.listed()]
        known = [each[len(PREFIX) :] for each in names if each.lower().startswith(PREFIX)]
        there = f"there are {', '.join(known[:20])}" if known else "build_corpus makes one"
        raise NotFound(f"no corpus {name[:60]!r}; {there}", field="name") from None


async def _observations(call: Call, saved: SavedSearch) -> list[Record]:
    page = await call.runtime.research.saved_searches.search(saved, UNLOGGED)
    return [result.record for result in page.results]


async def _described(call: Call, saved: SavedSearch) -> Corpus:
    request, records = load(saved.request), await _observations(call, saved)
    tokens = await asyncio.to_thread(sum, (token_count.count(each.text) for each in records))
    moments = [record.created_at for record in records] or [saved.created_at]
    filters: dict[str, Any] = {
        "project": request.filters.project,
        "types": list(request.filters.types),
        "concepts": list(request.filters.concepts),
        "files": list(request.filters.files),
        "query": request.text,
        "date_start": _iso(request.filters.created.start),
        "date_end": _iso(request.filters.created.end),
        "limit": request.limit,
    }
    return Corpus(
        name=saved.name[len(PREFIX) :],
        description=str(saved.request.get("description", "")),
        created_at=dates.iso(saved.created_at),
        updated_at=dates.iso(max(moments)),
        filter={name: value for name, value in filters.items() if value},
        stats=CorpusStats(
            observation_count=len(records),
            token_estimate=tokens,
            date_range=CorpusDates(
                earliest=dates.iso(min(moments)), latest=dates.iso(max(moments))
            ),
            type_breakdown=dict(Counter(str(r.metadata.get("type", "")) for r in records)),
        ),
        session_id=saved.name,
    )


def _iso(moment: int | None) -> str:
    return "" if moment is None else dates.iso(moment)
