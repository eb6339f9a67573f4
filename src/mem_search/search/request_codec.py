"""Wire models and ``SearchRequest``, mapped by name in both directions.

A field of a pydantic model that has the name of a field of ``SearchRequest`` stands for it. A field
of another name has a path: ``content_types: Annotated[…, At("filters.kinds")]``. All other fields
(formats, token budgets, webhooks) belong to the surface and are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from pydantic import BaseModel

from mem_search.model import SearchRequest

_NAMES = frozenset(each.name for each in fields(SearchRequest))
T = TypeVar("T")


@dataclass(frozen=True)
class At:
    """The place of a wire field in a ``SearchRequest``, as a dotted path; "" maps it to nothing.
    ``values`` maps wire values to values of the request.
    """

    path: str
    values: Mapping[str, str] = field(default_factory=dict)


def to_request(wire: BaseModel, base: SearchRequest) -> SearchRequest:
    """``base`` with the values of ``wire``; None leaves the value of ``base``."""
    changes: dict[str, Any] = {}
    for name, place in _places(type(wire)).items():
        value = getattr(wire, name)
        if value is None:
            continue
        if isinstance(value, list | tuple):
            value = tuple(dict.fromkeys(value))
        elif place.values:
            value = place.values.get(value, value)
        *parents, last = place.path.split(".")
        branch = changes
        for parent in parents:
            branch = branch.setdefault(parent, {})
        branch[last] = value
    return _changed(base, changes)


def to_wire(model: type[BaseModel], request: SearchRequest) -> dict[str, Any]:
    """``request`` as a body of ``model``: plain values, null for what is empty."""
    places = _places(model)
    values: dict[str, Any] = {}
    for name, place in places.items():
        value = attrgetter(place.path)(request)
        for word, meaning in place.values.items():
            value = word if value == meaning else value
        value = list(value) if isinstance(value, tuple) else value
        is_empty = value in ("", []) and model.model_fields[name].default is None
        values[name] = None if is_empty else value
    return model.model_construct(**values).model_dump(mode="json", include=set(places))


@cache
def _places(model: type[BaseModel]) -> dict[str, At]:
    """The fields of ``model`` that stand for a part of a request, with where."""
    found: dict[str, At] = {}
    for name, info in model.model_fields.items():
        places = [each for each in info.metadata if isinstance(each, At)]
        if places and places[-1].path:
            found[name] = places[-1]
        elif not places and name in _NAMES:
            found[name] = At(name)
    return found


def _changed(target: T, changes: Mapping[str, Any]) -> T:
    """The frozen value with other fields, also in its parts; a mapping with other values."""
    if isinstance(target, Mapping):
        return {**target, **changes}  # type: ignore[return-value]
    values = {
        name: _changed(getattr(target, name), change) if isinstance(change, dict) else change
        for name, change in changes.items()
    }
    return replace(target, **values)  # type: ignore[type-var]
