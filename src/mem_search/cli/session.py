"""What every command shares: the settings, the client, and how an error is told."""

from __future__ import annotations

import sys

from mem_search.cli.client import Client
from mem_search.cli.quick import with_timezone
from mem_search.cli.table import flag_of
from mem_search.errors import InputError, MemSearchError
from mem_search.settings import Settings


def open_client(*, may_start: bool = True) -> Client:
    """The worker of the home that the environment names. Raises Unavailable, InputError."""
    return Client.of(Settings.read(), may_start=may_start)


def local(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """``pairs`` and where this terminal is."""
    return with_timezone(pairs)


def note(text: str) -> None:
    """Tell the person something that is no result."""
    sys.stderr.write(f"{text}\n")


def report(error: MemSearchError) -> int:
    """Say what went wrong on standard error; returns the exit code."""
    message = error.message
    if error.field and isinstance(error, InputError):
        flag = flag_of(error.field)
        named = message.removeprefix(f"{error.field}: ")
        # The worker speaks of parameters; whoever typed an option should read its name.
        message = named if flag in named else f"{flag}: {named}"
    note(f"mem-search: {message}")
    return error.exit_code
