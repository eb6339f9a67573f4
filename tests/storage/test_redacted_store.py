"""Whatever is given to any method of any part of a store arrives there without its secrets."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any, Literal, Union, get_args, get_origin

import pytest

from mem_search import features
from mem_search.features.saved_searches.model import SavedSearch
from mem_search.model import Draft
from mem_search.model.ingest import PreparedDraft
from mem_search.model.webhooks import Delivery, Message
from mem_search.storage.redacted import PLAIN, SecretBox, redacted
from mem_search.storage.sql.connection import Repository
from mem_search.storage.store import Store
from secret_shapes import SHAPES

SECRET = SHAPES["github pat"].secret
KEY = b"k" * 32

PARTS = {
    name: typing.get_type_hints(part.fget)["return"]
    for name, part in vars(Store).items()
    if isinstance(part, property) and name not in PLAIN
}
STATEMENTS = {
    each.__name__: each
    for found in iter_modules(features.__path__)
    if find_spec(module := f"{features.__name__}.{found.name}.sql")
    for each in vars(import_module(module)).values()
    if isinstance(each, type) and issubclass(each, Repository) and each.__module__ == module
}
"""What features store."""

METHODS = [
    (part, name)
    for part, port in {**PARTS, **STATEMENTS}.items()
    for name, method in vars(port).items()
    if inspect.iscoroutinefunction(method) and not name.startswith("_")
]


def _made(hint: Any) -> Any:
    """A value of the type, with the secret in every string of it."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in (str, Any):
        return f"a {SECRET} b"
    if hint in (int, float, bool):
        return hint(1)
    if hint is bytes:
        return b"bytes"
    if origin is Literal:
        return inner[0]
    if origin in (Union, types.UnionType):
        return _made(next(each for each in inner if each is not type(None)))
    if origin is collections.abc.Callable:
        return lambda *_: _made(inner[-1])
    if origin is collections.abc.Mapping or origin is dict:
        return {_made(inner[0]): _made(inner[1]), "password": "Xk9$mQ2vLp7w"}
    if origin is tuple:
        return tuple(_made(each) for each in inner if each is not Ellipsis)
    if origin in (list, collections.abc.Sequence, collections.abc.Iterable):
        return [_made(inner[0])]
    if origin in (frozenset, set, collections.abc.Collection):
        return frozenset({_made(inner[0])})
    if hint is PreparedDraft:  # redacted when it was prepared
        return None
    if is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return hint(**{field.name: _made(hints[field.name]) for field in fields(hint)})
    raise AssertionError(f"how is a {hint} made?")


class _Recorder:
    """A store that remembers what its parts are called with."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def part(self, of: Callable[[Any], Any]) -> Any:
        return of(self)

    def __getattr__(self, name: str) -> Any:
        if name in PARTS:
            return self

        async def method(*args: Any, **named: Any) -> Any:
            called = [each("x", "y") if callable(each) else each for each in named.values()]
            self.given += [*args, *called]

        return method


def _strings(value: Any) -> typing.Iterator[str]:
    match value:
        case str():
            yield value
        case collections.abc.Mapping():
            for key, item in value.items():
                yield from (*_strings(key), *_strings(item))
        case list() | tuple() | set() | frozenset():
            for item in value:
                yield from _strings(item)
        case Draft():  # its text is redacted when it is prepared
            yield from _strings((value.source, value.source_id, value.project, value.tags))
        case _ if is_dataclass(value) and not isinstance(value, type):
            for field in fields(value):
                yield from _strings(getattr(value, field.name))


@pytest.mark.parametrize(("part", "name"), METHODS)
async def test_no_method_of_a_port_gets_a_secret(part: str, name: str) -> None:
    recorder = _Recorder()
    store = redacted(typing.cast(Store, recorder), KEY)
    of = STATEMENTS.get(part) or PARTS[part]
    hints = typing.get_type_hints(getattr(of, name))
    parameters = [
        each
        for each in inspect.signature(getattr(of, name)).parameters.values()
        if each.name not in ("self", "connection")
    ]
    args = [_made(hints[each.name]) for each in parameters if each.kind is not each.KEYWORD_ONLY]
    named = {
        each.name: _made(hints[each.name]) for each in parameters if each.kind is each.KEYWORD_ONLY
    }
    opened: Any = store.part(lambda own: own) if part in STATEMENTS else getattr(store, part)
    method: Callable[..., Any] = getattr(opened, name)
    await method(*args, **named)
    arrived = [*_strings(recorder.given)]
    assert not [text for text in arrived if SECRET in text or "Xk9$mQ2vLp7w" in text]
    assert len(recorder.given) == len(parameters)


PROPERTIES = {
    *"graph indexing location records redacting replica unwritable statistics writer".split(),
}


def test_parts_that_are_not_redacted_take_no_text_from_outside() -> None:
    methods = {name for name, part in vars(Store).items() if inspect.isfunction(part)}
    own = {name for name in methods if not name.startswith("_")}  # of the store, not of a part
    assert own - {"part"} | PROPERTIES == PLAIN


async def test_the_url_of_a_webhook_is_sealed_and_comes_back() -> None:
    class Part(_Recorder):
        async def due(self, now: int) -> list[tuple[str, str]]:
            (url,) = (each.url for each in self.given if isinstance(each, Message))
            return [("msg", url)]

    url = f"https://hooks.example.org/{SECRET}"
    recorder = Part()
    store = redacted(typing.cast(Store, recorder), KEY)
    part = typing.cast(Any, store.part(lambda each: each))
    await part.queue(Message("msg", "e", url, b"", 1))
    assert SECRET not in recorder.given[0].url
    assert await part.due(1) == [("msg", url)]


@pytest.mark.parametrize("kind", [SavedSearch, Delivery])
def test_what_another_key_sealed_is_empty(kind: type) -> None:
    sealed = SecretBox(KEY).close("https://example.org/x")
    assert sealed.startswith("sealed:")
    assert SecretBox(KEY).open(sealed) == "https://example.org/x"
    assert SecretBox(b"j" * 32).open(sealed) == ""
    assert SecretBox(KEY).open("https://older.example.org") == "https://older.example.org"
