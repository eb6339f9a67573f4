"""Which requests come from claude-mem's clients, and what its worker tolerates in them.

Its clients share some routes with ours, which refuse what they do not know. Claude-mem's worker
ignores unknown parameters and takes every limit, so its clients send them: agents fill in what
they like where the tools of its MCP server allow further properties.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web
from annotated_types import Le
from multidict import MultiDict
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo

from mem_search.http.core.clients import Mount, Tolerated
from mem_search.http.core.parameters import spellings
from mem_search.http.core.routing import Call, Route
from mem_search.model import SearchRequest
from mem_search.text.platforms import platform_named
from mem_search.validation import as_meant

PLATFORM_HEADERS: Final = ("X-Platform-Source", "X-Claude-Mem-Platform-Source")
RUNTIMES: Final = ("node", "Bun/", "undici")
"""How the User-Agent begins that Node and Bun send by themselves, as claude-mem's clients do."""
_PLATFORM: Final = "platformSource"
_LIMIT: Final = "limit"
_MAX_NUMBER_DIGITS: Final = 18

SHARED: Final = frozenset({
    "/api/context/inject", "/api/context/preview", "/api/context/recent", "/api/context/semantic",
    "/api/corpus", "/api/instructions", "/api/logs", "/api/observation/{number}",
    "/api/observations", "/api/observations/batch", "/api/observations/by-file", "/api/projects",
    "/api/prompt/{number}", "/api/prompts", "/api/search", "/api/search/by-file",
    "/api/search/observations", "/api/session/{number}", "/api/stats", "/api/summaries",
    "/api/timeline", "/api/timeline/by-query", "/api/tool-uses",
})  # fmt: skip
"""The routes with parameters that claude-mem's worker has, too."""


class ClientBody(BaseModel):
    """A JSON body of claude-mem's clients: newer ones send more, which is left alone."""

    model_config = ConfigDict(defer_build=True, extra="ignore", frozen=True, populate_by_name=True)

    platform: str = Field(
        default="",
        max_length=100,
        validation_alias=AliasChoices("platformSource", "platform_source", "platform"),
    )

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, sent: Any) -> Any:
        return as_meant(cls, sent)


def platform_of(request: web.Request, body: ClientBody | None = None) -> str:
    """The agent that the client works for, as records name it; empty where it does not say."""
    said = body.platform if body is not None else ""
    named = (request.headers.get(name, "") for name in PLATFORM_HEADERS)
    return platform_named((said or next(filter(None, named), ""))[:100])


class ClaudeMemClients:
    """What the shared routes ask (``http.core.clients``)."""

    shared = SHARED

    def is_one(self, request: web.Request) -> bool:
        """Whether the request may be one of claude-mem's clients, which say nothing of themselves.

        They name a platform, or run under Node or Bun, send no token, and take replies of any type.
        A program of ours under Node names JSON in ``Accept``, or sends its token.
        """
        headers = request.headers
        if any(name in headers for name in PLATFORM_HEADERS):
            return True
        plain = headers.get("Accept", "*/*") == "*/*" and "Authorization" not in headers
        return plain and headers.get("User-Agent", "").startswith(RUNTIMES)

    def read_query(
        self, request: web.Request, model: type[BaseModel]
    ) -> tuple[MultiDict[str], Tolerated]:
        """The parameters that ``model`` has. JSON of a search is written as claude-mem writes it
        where the client names its platform, or asks for more than one of our pages.
        """
        known = {
            word: field
            for name, field in model.model_fields.items()
            for word in spellings(name, field)
        }
        kept, ignored = MultiDict[str](), dict[str, None]()
        for word, value in request.query.items():
            if word in known:
                kept.add(word, str(_bounded(known[word], value)))
            else:
                ignored[quote(word[:100])] = None
        if _PLATFORM in known and (platform := platform_of(request)):
            named = spellings("platform", known[_PLATFORM])
            if not any(word in kept for word in named):
                kept[_PLATFORM] = platform
        asked = request.query.get(_LIMIT, "")
        limit = int(asked) if _is_whole(asked) else 0
        rows = kept.get(_LIMIT, asked) != asked
        rows |= any(name in request.headers for name in PLATFORM_HEADERS)
        return kept, Tolerated(tuple(ignored), partial(_rows, limit) if rows else None)

    def read_body(self, request: web.Request, model: type[BaseModel], body: Any) -> Any:
        """The fields that ``model`` has, with numbers that were sent as text."""
        if not isinstance(body, dict):
            return body
        fields: dict[str, FieldInfo] = {}
        for name, field in model.model_fields.items():
            choices = field.validation_alias
            also = choices.choices if isinstance(choices, AliasChoices) else [field.alias or name]
            fields |= {str(word): field for word in also}
        kept = {
            word: _bounded(fields[word], value) for word, value in body.items() if word in fields
        }
        named = any(fields[word] is fields.get(_PLATFORM) for word in kept)
        if _PLATFORM in fields and not named and (platform := platform_of(request)):
            kept[_PLATFORM] = platform
        return kept


def _routes() -> tuple[Route, ...]:
    from mem_search.features.claude_mem.http import ROUTES  # heavy, and for few callers

    return ROUTES


CLIENTS: Final = ClaudeMemClients()
MOUNT: Final = Mount(_routes, CLIENTS)


async def _rows(limit: int, call: Call, request: SearchRequest) -> web.StreamResponse:
    from mem_search.features.claude_mem import reading  # for few callers

    return await reading.exported_rows(call, request, limit or request.limit)


def _bounded(field: FieldInfo, value: Any) -> Any:
    """A number no larger than the field allows; anything else as it is."""
    most = next((bound.le for bound in field.metadata if isinstance(bound, Le)), None)
    if not isinstance(most, int) or isinstance(value, bool):
        return value
    if isinstance(value, str) and _is_whole(value):
        value = int(value)
    return min(value, most) if isinstance(value, int) else value


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_NUMBER_DIGITS
