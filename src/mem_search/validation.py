"""What the validators of requests share, over HTTP and over MCP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic_core import PydanticCustomError

from mem_search.errors import InputError


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


def not_blank(text: str) -> str:
    """``text``; a blank one counts as missing."""
    if not text.strip():
        raise PydanticCustomError("missing", "is required")
    return text
