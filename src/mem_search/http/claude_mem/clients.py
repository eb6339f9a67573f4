"""What requests of claude-mem's clients have in common. They send no token and no name."""

from __future__ import annotations

from typing import Final

from aiohttp import web
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

PLATFORM_HEADERS: Final = ("X-Platform-Source", "X-Claude-Mem-Platform-Source")


class ClientBody(BaseModel):
    """A JSON body of claude-mem's clients: newer ones send more, which is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)

    platform: str = Field(
        default="",
        max_length=100,
        validation_alias=AliasChoices("platformSource", "platform_source", "platform"),
    )


def platform_of(request: web.Request, body: ClientBody | None = None) -> str:
    """The agent that the client works for, in lower case; empty where it does not say."""
    said = body.platform if body is not None else ""
    named = (request.headers.get(name, "") for name in PLATFORM_HEADERS)
    return (said or next(filter(None, named), "")).strip().lower()[:100]
