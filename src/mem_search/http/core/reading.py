"""What a request says, read into pydantic models: query strings, forms and JSON bodies.

All faults are reported at once. A parameter has the name of its field's alias, or of the field;
further spellings are in the field's ``spellings``. Clients are read as they mean it: what is empty
or null is absent where it may be, ``5.0`` and ``1e2`` are whole numbers, ``types[]=`` and a JSON
list are lists, and ``dateRange={"start": …}`` is ``dateRange[start]``. Bodies do their part of it
themselves (``validation.as_meant``).
"""

from __future__ import annotations

import json
import types
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

from aiohttp import hdrs, web
from multidict import MultiMapping
from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic.fields import FieldInfo

from mem_search.errors import InputError, MalformedBody, UnknownType
from mem_search.http.access.browsers import is_browser
from mem_search.http.core.clients import Clients
from mem_search.http.core.parameters import spellings
from mem_search.http.core.problems import Fault, Invalid
from mem_search.patterns import pattern
from mem_search.text.json_reading import UnusableJson, read_json
from mem_search.validation import ReadAs, nearest, reading, whole_text

M = TypeVar("M", bound=BaseModel)

_INDEX: Final = pattern(r"\[[0-9]{0,4}\]\Z")
"""``types[]=``, ``types[0]=``: how PHP, Rails and the library qs write a list."""

_UNSAID: Final = ("application/octet-stream", "application/x-www-form-urlencoded")
"""What aiohttp calls a body without a type, and what curl calls every body by itself."""


def read_query(
    model: type[M],
    sent: MultiMapping[str],
    now: datetime,
    read_as: ReadAs | None = None,
    noun: str = "parameter",
) -> M:
    """The parameters of a request, or the fields of a form (``noun``). ``now`` is in the zone of
    the caller; what was read in that zone is added to ``read_as``.

    Raises Invalid naming every parameter at fault.
    """
    known = _spelled(model)
    values: dict[str, Any] = {}
    written: dict[str, str] = {}
    faults: list[Fault] = []
    for word, several in _pairs(sent, known):
        if word not in known:
            faults.append(_unknown(word, known, noun))
            continue
        proper, field = known[word]
        may_be_several = is_list(field.annotation)
        if may_be_several:
            several = [each for value in several for each in _listed(value)]
            if not field.is_required() and not any(several):
                continue
        elif len(several) > 1:
            faults.append(Fault("given more than once", parameter=word))
            continue
        elif not field.is_required() and _is_absent(several[0], field):
            continue
        if proper in written and not may_be_several:
            faults.append(Fault(f"says the same as {written[proper]}; give one", parameter=word))
            continue
        written.setdefault(proper, word)
        if may_be_several:
            values[proper] = [*values.get(proper, []), *several]
        else:
            values[proper] = whole_text(several[0]) if _is_whole(field) else several[0]
    try:
        read = model.model_validate(values, context=reading(now, read_as))
    except ValidationError as error:
        faults += [_parameter_fault(item, written) for item in _errors(error)]
        raise Invalid(faults) from None
    if faults:
        raise Invalid(faults)
    return read


async def read_body(
    request: web.Request,
    model: type[M],
    now: datetime,
    read_as: ReadAs | None = None,
    clients: Clients | None = None,
) -> M:
    """The JSON body of a request; nothing at all counts as ``{}``.

    A program may leave out that it is JSON, as curl does by itself. A browser may not: its pages
    can send such a body to another site without being asked, which they cannot do with JSON. With
    ``clients`` the body is read as their program reads it.
    Raises MalformedBody, Invalid, UnknownType, or aiohttp's 413.
    """
    raw = await request.read() if request.can_read_body else b""
    is_named = request.content_type == "application/json"
    unsaid = request.content_type in _UNSAID and not is_browser(request)
    if raw and not (is_named or unsaid):
        raise UnknownType("send the body with the Content-Type application/json")
    try:
        value = read_json(raw or b"{}")
    except UnusableJson as error:
        if not error.path or not error.is_json:
            raise _not_json(str(error), is_named) from None
        raise Invalid([Fault(error.message, pointer=_pointer(error.path))]) from None
    except UnicodeDecodeError as error:
        why = f"byte {error.start + 1} is not UTF-8; encode the body in UTF-8"
        raise _not_json(why, is_named) from None
    except ValueError as error:
        raise _not_json(str(error)[:200], is_named) from None
    if clients is not None:
        value = clients.read_body(request, model, value)
    try:
        return model.model_validate(value, context=reading(now, read_as))
    except ValidationError as error:
        raise Invalid([_body_fault(item, model) for item in _errors(error)]) from None


async def pieces(request: web.Request, size: int) -> AsyncIterator[bytes]:
    """The body as it comes, in pieces of at most ``size`` bytes.

    Raises UnknownType for a compressed body: aiohttp tells a gzip or Brotli stream that was cut off
    from a whole one as little as the sender does.
    """
    if request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
        raise UnknownType(
            "send the body without Content-Encoding, which hides a missing end; a file that ends"
            " with .gz is read as it is",
            field="body",
        )
    async for piece in request.content.iter_chunked(size):
        yield piece


def _not_json(why: str, is_named: bool) -> MalformedBody | UnknownType:
    if is_named:
        return MalformedBody(f"the body is not JSON: {why}")
    return UnknownType("send a body of JSON, with the Content-Type application/json")


def number_in_path(request: web.Request) -> int:
    """The record number in the path. Raises InputError naming it."""
    word = request.match_info["number"]
    if not (word.isascii() and word.isdigit() and len(word) <= 18):
        raise InputError(f"{word[:60]!r} is not a record number; write digits", field="number")
    return int(word)


def pairs_of(sent: Mapping[str, Any], model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """A JSON object as the pairs of a query string for ``model``; null counts as missing.

    Raises Invalid.
    """
    return _pairs_of(sent, _spelled(model))


def _pairs_of(sent: Mapping[str, Any], known: Collection[str]) -> Iterator[tuple[str, str]]:
    for name, value in sent.items():
        for each in value if isinstance(value, list) else [value]:
            match each:
                case None:
                    continue
                case bool():
                    yield name, str(each).lower()
                case str() | int() | float():
                    yield name, str(each)
                case dict() if each and all(f"{name}[{key}]" in known for key in each):
                    inner = {f"{name}[{key}]": part for key, part in each.items()}
                    yield from _pairs_of(inner, known)
                case _:
                    message = "has to be a text, a number, true or false, or a list of these"
                    raise Invalid([Fault(message, parameter=name[:100])])


def _pairs(sent: MultiMapping[str], known: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Each parameter with its values, by a name of ``known`` where it is another way to write it.

    The name of a list in its two ways is one parameter.
    """
    by_name: dict[str, list[str]] = {}
    for word, value in sent.items():
        plain = word if word in known else _INDEX.sub("", word)
        if plain not in known and value.lstrip().startswith("{"):
            inner = _object(value)
            if inner and all(f"{word}[{key}]" in known for key in inner):
                for name, each in _pairs_of({word: inner}, known):
                    by_name.setdefault(name, []).append(each)
                continue
        by_name.setdefault(plain if plain in known else word, []).append(value)
    yield from by_name.items()


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _listed(value: str) -> list[str]:
    """The values of a list that is written as JSON; else the text as it is."""
    if value.startswith("[") and value.endswith("]"):
        try:
            several = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        if all(isinstance(each, str | int | float) for each in several):
            return list(map(str, several))
    return [value]


def _is_absent(value: str, field: FieldInfo) -> bool:
    """Whether it is what clients send for nothing. ``null`` may be a text."""
    return not value or (value in ("null", "undefined") and not takes_text(field))


@cache
def _spelled(model: type[BaseModel]) -> dict[str, tuple[str, FieldInfo]]:
    """spelling → (proper name, field)."""
    return {
        word: (field.alias or name, field)
        for name, field in model.model_fields.items()
        for word in spellings(name, field)
    }


def is_list(annotation: Any) -> bool:
    """Whether a parameter of this type takes several values."""
    return any(get_origin(each) is tuple for each in (annotation, *get_args(annotation)))


def _kinds_of(field: FieldInfo) -> tuple[Any, ...]:
    """The types that a field may have, without what is said of them."""
    is_union = get_origin(field.annotation) in (Union, types.UnionType)
    return get_args(field.annotation) if is_union else (field.annotation,)


def _is_whole(field: FieldInfo) -> bool:
    """Whether it is a whole number; a date, which becomes one, has a reader of its own."""
    own = any(isinstance(each, BeforeValidator) for each in field.metadata)
    return not own and int in _kinds_of(field)


def takes_text(field: FieldInfo) -> bool:
    """Whether a value of the field may be a text, or a list of texts."""
    return not all(
        kind in (int, float, bool, types.NoneType) or get_origin(kind) is Literal
        for kind in _kinds_of(field)
    )


def _unknown(word: str, known: Iterable[str], noun: str) -> Fault:
    return Fault(f"unknown {noun}; {nearest(word, known)}", parameter=word[:100])


def _errors(error: ValidationError) -> list[Any]:
    return error.errors(include_url=False, include_context=False, include_input=False)


def _message(item: Any) -> str:
    """What is wrong in words; a person reads no regular expression."""
    if item["type"] == "string_pattern_mismatch":
        return "is not written as it has to be: see its description in /openapi.json"
    return str(item["msg"])


def _parameter_fault(item: Any, written: dict[str, str]) -> Fault:
    proper = str(item["loc"][0]) if item["loc"] else ""
    if item["type"].startswith("at:"):  # a rule over several parameters says which it is about
        proper = item["type"][3:]
    missing = item["type"] in ("missing", "too_short")  # an empty list is none
    detail = "is required" if missing else _message(item)
    return Fault(detail, parameter=written.get(proper, proper) or None, missing=missing)


def _body_fault(item: Any, model: type[BaseModel]) -> Fault:
    missing = item["type"] == "missing"
    match item["type"]:
        case "missing":
            message = "is required"
        case "model_type" | "model_attributes_type":
            message = "has to be a JSON object"
        case "extra_forbidden":
            names = [field.alias or name for name, field in model.model_fields.items()]
            hint = f"; {nearest(str(item['loc'][0]), names)}" if len(item["loc"]) == 1 else ""
            message = f"unknown field{hint}"
        case _:
            message = _message(item)
    return Fault(
        message,
        pointer=_pointer(item["loc"]),
        missing=missing,
    )


def _pointer(path: Iterable[object]) -> str:
    """The JSON pointer (RFC 6901) of a place in the body."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
