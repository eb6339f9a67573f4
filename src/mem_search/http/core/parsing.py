"""Parse query strings and bodies into pydantic models, and report all faults at once.

A parameter has the name of its field's alias, or of the field; further spellings are in the
field's ``spellings``. ``parameters`` says what values mean.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, get_origin

from aiohttp import web
from multidict import MultiMapping
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from mem_search.errors import InputError, MalformedBody
from mem_search.http.core.parameter_types import zone
from mem_search.http.core.problems import Fault, Invalid

M = TypeVar("M", bound=BaseModel)


def spellings(name: str, field: FieldInfo) -> tuple[str, ...]:
    """All names of a parameter, the preferred one first."""
    extra = field.json_schema_extra
    more = extra.get("spellings", []) if isinstance(extra, dict) else []
    assert isinstance(more, list)
    return (field.alias or name, *(str(word) for word in more))


def read_query(model: type[M], sent: MultiMapping[str], default_zone: str = "") -> M:
    """The parameters of a request. Raises Invalid naming every parameter at fault."""
    known = _spelled(model)
    values: dict[str, Any] = {}
    written: dict[str, str] = {}
    faults: list[Fault] = []
    for word in dict.fromkeys(sent):
        if word not in known:
            faults.append(_unknown(word, known))
            continue
        proper, is_list = known[word]
        if proper in written and not is_list:
            faults.append(Fault(f"says the same as {written[proper]}; give one", parameter=word))
            continue
        several = sent.getall(word)
        if len(several) > 1 and not is_list:
            faults.append(Fault("given more than once", parameter=word))
            continue
        written.setdefault(proper, word)
        values[proper] = [*values.get(proper, []), *several] if is_list else several[0]
    now = datetime.now(zone(default_zone))
    try:
        read = model.model_validate(values, context={"now": now})
    except ValidationError as error:
        faults += [_parameter_fault(item, written) for item in _errors(error)]
        raise Invalid(faults) from None
    if faults:
        raise Invalid(faults)
    return read


async def read_body(request: web.Request, model: type[M]) -> M:
    """The JSON body of a request; nothing at all counts as ``{}``.

    Raises MalformedBody, Invalid, or aiohttp's 413 and 415.
    """
    raw = await request.read() if request.can_read_body else b""
    if raw and request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType
    try:
        value = json.loads(raw or b"{}", parse_constant=_no_constant)
    except RecursionError:
        raise MalformedBody("the body is not JSON: nested too deeply") from None
    except ValueError as error:
        raise MalformedBody(f"the body is not JSON: {str(error)[:200]}") from None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise Invalid([_body_fault(item, model) for item in _errors(error)]) from None


def number_in_path(request: web.Request) -> int:
    """The record number in the path. Raises InputError naming it."""
    word = request.match_info["number"]
    if not (word.isascii() and word.isdigit() and len(word) <= 18):
        raise InputError(f"{word[:60]!r} is no record number; write digits", field="number")
    return int(word)


@cache
def _spelled(model: type[BaseModel]) -> dict[str, tuple[str, bool]]:
    """spelling → (proper name, whether it takes several values)."""
    return {
        word: (field.alias or name, get_origin(field.annotation) is tuple)
        for name, field in model.model_fields.items()
        for word in spellings(name, field)
    }


def _unknown(word: str, known: Iterable[str]) -> Fault:
    return Fault(f"unknown parameter; {_meant(word, known)}", parameter=word[:100])


def _meant(word: str, known: Iterable[str]) -> str:
    names = list(known)
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.5)
    if near:
        return f"did you mean {folded[near[0]]}?"
    return f"known are {', '.join(names)}" if names else "there are none here"


def _errors(error: ValidationError) -> list[Any]:
    return error.errors(include_url=False, include_context=False, include_input=False)


def _parameter_fault(item: Any, written: dict[str, str]) -> Fault:
    proper = str(item["loc"][0]) if item["loc"] else ""
    if item["type"].startswith("at:"):  # a rule over several parameters says which it is about
        proper = item["type"][3:]
    missing = item["type"] in ("missing", "too_short")  # an empty list is none
    detail = "is required" if missing else item["msg"]
    return Fault(detail, parameter=written.get(proper, proper) or None, missing=missing)


def _body_fault(item: Any, model: type[BaseModel]) -> Fault:
    steps = [str(step).replace("~", "~0").replace("/", "~1") for step in item["loc"]]
    missing = item["type"] == "missing"
    match item["type"]:
        case "missing":
            message = "is required"
        case "model_type" | "model_attributes_type":
            message = "has to be a JSON object"
        case "extra_forbidden":
            names = [field.alias or name for name, field in model.model_fields.items()]
            hint = f"; {_meant(steps[0], names)}" if len(steps) == 1 else ""
            message = f"unknown field{hint}"
        case _:
            message = item["msg"]
    return Fault(
        message,
        pointer="".join(f"/{step}" for step in steps),
        missing=missing,
    )


def _no_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
