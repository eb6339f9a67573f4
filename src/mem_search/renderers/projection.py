"""Replies that say where their fields come from, as ``At`` says it for requests.

A field of a reply is the attribute of the noun that is called as it is. ``From`` names another one,
or what is made of its value:

    @schema
    class Found(Projection[Record]):
        title: str
        created: Annotated[Time, From("created_at")]
        id: Annotated[str, From("ref", str)]

    Found.of(record)

A field with a default keeps it, unless it says ``From``. Nouns inside become what the type of the
field says: ``Page``, ``Page | None`` or ``list[Page]``, where ``Page`` has an ``of``, too. Only
what has to be computed is an argument.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

N = TypeVar("N")
T = TypeVar("T")

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class From:
    """``Annotated[X, From("path.to.it")]``: where a field comes from, "" for its own name and "."
    for the noun itself, and what is made of the value there.
    """

    path: str = ""
    then: Convert | None = None


def or_none(value: Any) -> Any:
    """None for an empty text, an empty list, 0."""
    return value or None


def text_or_none(value: Any) -> str | None:
    """The text of a ref or another value, None of none."""
    return None if value is None else str(value)


def texts(values: Iterable[Any]) -> list[str]:
    """The text of each."""
    return [str(value) for value in values]


class Projection(Generic[N]):
    """Base of a reply that shows a noun of the class ``N``."""

    __slots__ = ()

    @classmethod
    def of(cls, noun: N, /, **computed: Any) -> Self:
        """The reply for ``noun``; ``computed`` are the fields that it does not have."""
        build = _BUILDERS.get(cls) or _builder(cls, computed)
        made: Self = build(noun, **computed)
        return made


def projected(kind: type[T], noun: object, /, **computed: Any) -> T:
    """The reply ``kind`` for ``noun``: for a builder that computes some of its fields, always the
    same ones.
    """
    build = _BUILDERS.get(kind) or _builder(kind, computed)
    made: T = build(noun, **computed)
    return made


def places(kind: Any) -> dict[str, From]:
    """Field → where it comes from; without those that keep their default."""
    found = {
        each.name: _from(_hints(kind)[each.name])
        or (From(each.name) if each.default is MISSING else None)
        for each in fields(kind)
    }
    return {name: place for name, place in found.items() if place is not None}


_BUILDERS: Final[dict[type, Callable[..., Any]]] = {}


def _builder(kind: type, computed: Iterable[str]) -> Callable[..., Any]:
    """A call of ``kind`` as one would write it by hand, so that it is as quick: a search of 100
    results makes a thousand of them.
    """
    hints = _hints(kind)
    names: dict[str, Any] = {"kind": kind}
    given = [f"{name}={name}" for name in computed]
    for name, place in places(kind).items():
        if name not in computed:
            value = "_noun" if place.path == "." else f"_noun.{place.path or name}"
            if convert := place.then or _conversion(hints[name]):
                names[f"_{name}"] = convert
                value = f"_{name}({value})"
            given.append(f"{name}={value}")
    source = f"lambda {', '.join(['_noun', *computed])}: kind({', '.join(given)})"
    built: Callable[..., Any] = eval(source, names)  # noqa: S307 - names of our own classes
    _BUILDERS[kind] = built
    return built


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        # Each in the names of its own module, where functions of ``From`` look for theirs later.
        own = SimpleNamespace(__annotations__=vars(base).get("__annotations__", {}))
        names = vars(sys.modules[base.__module__])
        hints |= get_type_hints(own, names, names, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind)}


def _from(hint: Any) -> From | None:
    said = getattr(hint, "__metadata__", ())
    return next((each for each in said if isinstance(each, From)), None)


def _conversion(hint: Any) -> Convert | None:
    """How a value becomes one of the type, None where it stays as it is."""
    inner, origin = get_args(hint), get_origin(hint)
    if origin is Annotated:
        return _conversion(inner[0])
    if origin in (Union, UnionType):
        return _unless_none(next(filter(None, map(_conversion, inner)), None))
    if origin is list:
        return _each(_conversion(inner[0]))
    if origin is dict:
        return dict
    made: Convert | None = getattr(hint, "of", None) if is_dataclass(hint) else None
    return made


def _unless_none(of: Convert | None) -> Convert | None:
    return None if of is None else lambda value: None if value is None else of(value)


def _each(of: Convert | None) -> Convert:
    return list if of is None else lambda values: [of(value) for value in values]
