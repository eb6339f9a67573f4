"""``mem-search analytics``: how this store is searched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from mem_search.cli.client import open_client
from mem_search.cli.options import Json, Yes, clock_time, confirm, folded, show
from mem_search.cli.output import say
from mem_search.text.counted import counted

_OFF = "searches are not noted: search_log is off"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(analytics)


def analytics(
    since: Annotated[str, typer.Option("--since", help="Not before: a date, or 'last week'.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="Items of each list, 1 to 100.")] = 10,
    forget: Annotated[bool, typer.Option("--forget", help="Empty the log of searches.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Show frequent, empty and slow questions from the log on this machine; exit 1 without any."""
    client = open_client()
    if forget:
        confirm("Forget every search that was noted?", yes=yes)
        deleted = client.json("DELETE", "/api/search/log")["deleted"]
        say(f"forgot {counted(deleted, 'search', 'searches')}\n")
        return
    pairs = [("limit", str(limit)), *([("since", since)] if since else [])]
    usage = client.json("GET", "/api/search/usage", pairs)
    empty = "no searches are noted yet" if usage["on"] else _OFF
    lines = _lines(usage) if usage["searches"] else ()
    show(usage, lines, as_json=as_json, empty=empty, found=usage["searches"])


def _lines(usage: Mapping[str, Any]) -> Iterator[str]:
    since = clock_time(usage["first_at"], day=True)
    yield f"{counted(usage['searches'], 'search', 'searches')} since {since}"
    if not usage["on"]:
        yield _OFF
    for title, name in (("asked most", "popular"), ("found nothing", "empty")):
        if usage[name]:
            yield title
        for each in usage[name]:
            last = clock_time(each["last_at"], day=True)
            yield f"    {each['times']}  {folded(each['query'])}  ({each['total']} found, {last})"
    if usage["slow"]:
        yield "slowest"
    for each in usage["slow"]:
        yield f"    {each['took_ms']:.0f} ms  {folded(each['query'])}  {each['mode']}"
