"""What the validators of requests share, over HTTP and over MCP."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticCustomError

from mem_search.errors import InputError
from mem_search.text import dates


def invalid_value(message: str) -> PydanticCustomError:
    """The error that a validator raises to report ``message`` for its value."""
    # The message goes in as a value: pydantic would interpret braces in a template.
    return PydanticCustomError("value", "{message}", {"message": message})


@contextmanager
def input_errors_as_invalid() -> Iterator[None]:
    """Report an InputError of the block as an invalid value, with its message."""
    try:
        yield
    except InputError as error:
        raise invalid_value(error.message) from None


def rfc3339(value: object) -> int:
    """A JSON value as milliseconds since 1970; only a string can be a date and time."""
    if not isinstance(value, str):
        raise invalid_value("is no RFC 3339 date and time in quotes; write 2026-01-31T12:00:00Z")
    with input_errors_as_invalid():
        return dates.read_rfc3339(value)


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean NAME?``, or the ``known`` names where none is near."""
    names = list(known)
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.5)
    if near:
        return f"did you mean {folded[near[0]]}?"
    return f"known are {', '.join(names)}" if names else "there are none here"


def as_meant(model: type[BaseModel], sent: Any, absent: Collection[object] = (None,)) -> Any:
    """The fields of ``sent`` as clients mean them, for a validator of ``model`` that runs first.

    A value that is ``absent`` leaves out a field that has a default. A whole number may be written
    as 5.0, as JSON has one kind of numbers.
    """
    if not isinstance(sent, Mapping):
        return sent
    fields = model.model_fields
    optional = {name for name, field in fields.items() if not field.is_required()}
    return {
        name: whole(value)
        for name, value in sent.items()
        if name not in optional or not any(value is each or value == each for each in absent)
    }


def whole(value: Any) -> Any:
    """An integer for a number without a fraction, anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def not_blank(text: str) -> str:
    """``text``; a blank one counts as missing."""
    if not text.strip():
        raise PydanticCustomError("missing", "is required")
    return text
