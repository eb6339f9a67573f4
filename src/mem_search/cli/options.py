"""What several commands share: options, and printing as text or JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from threading import Timer
from typing import Annotated, Final, TextIO
from zoneinfo import ZoneInfo

import typer

from mem_search.cli import completion
from mem_search.cli.output import note, write_fitted, write_json
from mem_search.errors import InputError
from mem_search.patterns import pattern
from mem_search.platform import expanded, spelled
from mem_search.platform.wsl import local_path
from mem_search.settings import Settings
from mem_search.text.file_names import as_text, is_text

URL: Final = pattern(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
"""How the URL of a mailbox begins."""

WAIT_SECONDS: Final = 2.0
"""Longer than most programs need to write what they pipe."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 100.")]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind", help="Only this kind; may be repeated.", autocompletion=completion.kinds
    ),
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", metavar="N", help="Longest answer, 50 to 100000.")
]


def show(
    answer: object,
    lines: Iterable[str],
    *,
    as_json: bool,
    empty: str = "",
    paint: Callable[[str], str] | None = None,
    found: object = True,
) -> None:
    """Print ``answer`` as indented JSON, or ``lines`` for people; a stored newline adds none.

    Without lines, standard error says that the list is ``empty``. Exit 1 if nothing is ``found``.
    """
    if as_json:
        write_json(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")
    elif text := "".join(f"{line.replace(chr(10), ' ')}\n" for line in lines):
        write_fitted(text, paint)
    elif empty:
        note(f"mem-search: {empty}")
    if not found:
        raise typer.Exit(1)


def clock_time(time: str, *, day: bool = False) -> str:
    """A time of the worker as the person's clock shows it: ``2026-11-24 16:27``, or the day."""
    moment = datetime.fromisoformat(time)
    with suppress(OverflowError):  # the first or last day of the calendar
        moment = moment.astimezone(_zone())
    return moment.isoformat(" ")[: 10 if day else 16]


@cache
def _zone() -> ZoneInfo | None:
    """The zone that the settings name; None is the machine's."""
    name = Settings.read().timezone
    return ZoneInfo(name) if name else None


def folded(text: str) -> str:
    """``text`` on one line."""
    return " ".join(text.split())


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is deleted, unless ``--yes`` was given.

    Raises InputError when nobody can answer, and ends the command on a no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("cannot ask for confirmation without a terminal; add --yes")
    typer.confirm(question, abort=True, err=True)


@contextmanager
def standard_input(what: str) -> Iterator[TextIO]:
    """Standard input, which is read to its end. Says so after ``WAIT_SECONDS`` without one: a
    program that leaves its pipe open, or a person who forgot the file, sees why nothing happens.
    """
    said = Timer(WAIT_SECONDS, note, (f"mem-search: reads {what} from standard input to its end",))
    said.daemon = True
    said.start()
    try:
        yield sys.stdin
    finally:
        said.cancel()


def absolute(path: str) -> str:
    """``path`` as an absolute one: the worker has another working directory. A URL stays.

    Raises InputError for an empty one, which is a variable without a value and not this folder, for
    one that is no text, and for one of Windows that is not here.
    """
    if not path.strip():
        raise InputError("is empty; write . for this folder", field="path")
    if URL.match(path):
        return path
    try:
        path = local_path(path)
    except ValueError as error:
        raise InputError(f"{path} {error}", field="path") from None
    absolute_path = spelled(expanded(path))
    check_text(absolute_path)
    return absolute_path


def check_text(path: str) -> None:
    """Raises InputError for a path that can be neither sent nor stored."""
    if not is_text(path):
        raise InputError(f"{as_text(path)} is not UTF-8; rename it")
