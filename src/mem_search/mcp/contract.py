"""What a tool is: a name, words for a model, the shape of what goes in and out, and a handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from mem_search.renderers import View
from mem_search.wiring import Runtime

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: what it may see, the URL it knows the worker by, and how it sees times."""

    runtime: Runtime
    base: str
    view: View


class Arguments(BaseModel):
    """Base of all arguments: what is not declared is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


A = TypeVar("A", bound=Arguments)
Handler = Callable[[Asker, A], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool; every one only reads. ``answers`` is the JSON Schema of what it returns."""

    name: str
    title: str
    description: str
    takes: type[Arguments]
    answers: Mapping[str, Any]
    handler: Handler[Any]

    async def __call__(self, asker: Asker, arguments: Arguments) -> Json:
        return await cast(Handler[Arguments], self.handler)(asker, arguments)
