"""``mem-search saved``: saved searches and their inbox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from mem_search.cli import completion
from mem_search.cli.client import open_client
from mem_search.cli.commands import Group
from mem_search.cli.options import Json, Kinds, Limit, clock_time, folded, show
from mem_search.cli.output import say
from mem_search.text.counted import counted

app = typer.Typer(cls=Group, help="Save searches, and see their new results.", no_args_is_help=True)
SAVED, INBOX = "/api/v1/saved-searches", "/api/v1/notifications"

Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name.")]
Saved = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Its name.", autocompletion=completion.saved_searches),
]


@app.command()
def add(
    name: Name,
    words: Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for.")],
    kind: Kinds = None,
    by: Annotated[
        str, typer.Option("--by", metavar="keyword|semantic|hybrid", help="Words, meaning, both.")
    ] = "keyword",
    scope: Annotated[str, typer.Option("--scope", help="Only in this scope.")] = "",
    folder: Annotated[str, typer.Option("--folder", help="Of notes, only this folder.")] = "",
    domain: Annotated[str, typer.Option("--domain", help="Of websites, only this domain.")] = "",
    every: Annotated[
        str,
        typer.Option("--every", metavar="INTERVAL", help="15m, 1h, 2d or 1w; else only by hand."),
    ] = "",
    schedule: Annotated[
        str, typer.Option("--schedule", metavar="CRON", help="Instead of --every: '0 4 * * *'.")
    ] = "",
    webhook: Annotated[
        str, typer.Option("--webhook", metavar="URL", help="Post new results there.")
    ] = "",
    email: Annotated[
        str, typer.Option("--email", metavar="ADDRESS", help="Write about new results to it.")
    ] = "",
    inbox: Annotated[
        bool, typer.Option("--inbox/--no-inbox", help="Put new results in the inbox.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Save a search. It reports matching records that are stored from now on."""
    search = {
        "query": " ".join(words),
        "content_types": kind or None,
        "search_type": by,
        "scope": scope or None,
        "folder": folder or None,
        "domain": domain or None,
    }
    body = {
        "name": name,
        "search": {key: value for key, value in search.items() if value is not None},
        "inbox": inbox,
        **({"every": every} if every else {}),
        **({"schedule": schedule} if schedule else {}),
        **({"webhook_url": webhook} if webhook else {}),
        **({"email": email} if email else {}),
    }
    saved = open_client().json("POST", SAVED, body=body)
    show(saved, [saved_line(saved)], as_json=as_json)


@app.command("list")
def list_saved(as_json: Json = False) -> None:
    """List saved searches: name, query, when each runs next, where it reports."""
    answer = open_client().json("GET", SAVED)
    rows = answer["saved_searches"]
    empty = "no saved searches; to save one: mem-search saved add NAME WORDS"
    show(answer, map(saved_line, rows), as_json=as_json, empty=empty, found=rows)


@app.command()
def run(name: Saved, as_json: Json = False) -> None:
    """Run a saved search and print every result, new ones with a +; exit 1 without results."""
    answer = open_client().json("POST", f"{SAVED}/{quote(name, safe='')}/run")
    show(answer, run_lines(answer), as_json=as_json)
    if not answer["result"]["items"] and not answer["new"]:
        raise typer.Exit(1)


@app.command()
def remove(name: Saved) -> None:
    """Delete a saved search and its notifications."""
    open_client().json("DELETE", f"{SAVED}/{quote(name, safe='')}")
    say(f"removed {name}\n")


@app.command()
def inbox(
    everything: Annotated[bool, typer.Option("--all", help="Read ones, too.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Do not mark as read.")] = False,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """Show new results of saved searches and mark them as read; exit 1 when there are none."""
    client = open_client()
    pairs = [("limit", str(limit)), ("unread", str(not everything).lower())]
    answer = client.json("GET", INBOX, pairs)
    notifications = answer["notifications"]
    lines = (line for each in notifications for line in notification_lines(each))
    show(answer, lines, as_json=as_json, empty="nothing new; --all shows what was read")
    for each in notifications:
        if each["read_at"] is None and not keep:
            client.json("POST", f"{INBOX}/{each['id']}/read")
    if not notifications:
        raise typer.Exit(1)


def saved_line(saved: Mapping[str, Any]) -> str:
    """``name  query  every 1h, next 2026-…  inbox, https://…``."""
    timed = f"every {saved['every']}" if saved["every"] else saved["schedule"]
    following = saved["next_run_at"]
    when = f"{timed}, next {clock_time(following)}" if timed and following else "by hand"
    receivers = (
        "inbox" if saved["inbox"] else "",
        saved["webhook_url"] or "",
        saved["email"] or "",
    )
    reports = ", ".join(filter(None, receivers))
    failed = f"FAILED: {saved['error']}" if saved["error"] else ""
    parts = (saved["name"], folded(saved["search"]["query"]), when, reports, failed)
    return "  ".join(part for part in parts if part)


def run_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """A line for each result, and how many are new."""
    new = {match["id"]: match for match in answer["new"]}
    items = answer["result"]["items"]
    for item in items:
        yield f"{_sign(new.pop(item['id'], None))} {item['id']}  {folded(item['title'])}"
    for match in new.values():  # new ones beyond the page
        yield f"{_sign(match)} {match['id']}  {folded(match['title'])}"
    shown, total = len(items), answer["result"]["total_count"]
    yield f"{answer['new_count']} new; {shown} of {counted(total, 'result')} shown"


def notification_lines(entry: Mapping[str, Any]) -> Iterator[str]:
    """A line for each notification: the time, the saved search and its matches."""
    failed = "".join(
        f", {way} failed: {entry[way]['error']}"
        for way in ("webhook", "email")
        if entry[way] and entry[way]["error"]
    )
    yield f"{clock_time(entry['at'])}  {entry['saved_search']}  {entry['count']} new{failed}"
    for match in entry["matches"]:
        yield f"  {_sign(match)} {match['id']}  {folded(match['title'])}"


def _sign(match: Mapping[str, Any] | None) -> str:
    if match is None:
        return " "
    return "~" if match["changed"] else "+"
