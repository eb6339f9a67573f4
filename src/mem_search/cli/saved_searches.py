"""``mem-search saved`` and ``scope``: searches and filters kept under a name, and their inbox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from mem_search.cli.client import open_client
from mem_search.cli.output import write
from mem_search.cli.status import Json, print_json

app = typer.Typer(help="Save searches and see what they find anew.", no_args_is_help=True)
scope_app = typer.Typer(help="Keep filters under a name: scope:NAME.", no_args_is_help=True)
webhook_app = typer.Typer(help="What receivers of messages need.", no_args_is_help=True)

SAVED, INBOX, SCOPES = "/api/v1/saved-searches", "/api/v1/notifications", "/api/v1/scopes"

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name it was given.")]


@app.command()
def add(
    name: Name,
    words: Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for.")],
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="Only this kind; may be repeated.")
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="keyword|semantic|hybrid", help="Words, meaning, both.")
    ] = "keyword",
    scope: Annotated[str, typer.Option("--scope", help="Only in this scope.")] = "",
    folder: Annotated[str, typer.Option("--folder", help="Of notes, only these.")] = "",
    domain: Annotated[str, typer.Option("--domain", help="Of websites, only these.")] = "",
    every: Annotated[
        str, typer.Option("--every", metavar="INTERVAL", help="15m, 1h, 2d, 1w; else by hand.")
    ] = "",
    webhook: Annotated[str, typer.Option("--webhook", metavar="URL", help="Told, too.")] = "",
    inbox: Annotated[bool, typer.Option("--inbox/--no-inbox", help="Keep in the inbox.")] = True,
    as_json: Json = False,
) -> None:
    """Save a search; it tells of what is stored from now on."""
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
        **({"webhook_url": webhook} if webhook else {}),
    }
    saved = open_client().json("POST", SAVED, body=body)
    if as_json:
        print_json(saved)
    else:
        write(f"{saved_line(saved)}\n")


@app.command("list")
def listed(as_json: Json = False) -> None:
    """Saved searches: name, question, when it runs next, whom it tells."""
    answer = open_client().json("GET", SAVED)
    rows = answer["saved_searches"]
    if as_json:
        print_json(answer)
    else:
        write("".join(f"{saved_line(row)}\n" for row in rows))
    if not rows:
        raise typer.Exit(1)


@app.command()
def run(name: Name, as_json: Json = False) -> None:
    """Run it now: all that it finds, with a + before what is new; exit 1 for nothing."""
    answer = open_client().json("POST", f"{SAVED}/{quote(name, safe='')}/run")
    if as_json:
        print_json(answer)
    else:
        write("".join(f"{line}\n" for line in run_lines(answer)))
    if not answer["result"]["items"] and not answer["new"]:
        raise typer.Exit(1)


@app.command()
def remove(name: Name) -> None:
    """Forget a saved search and what it told."""
    open_client().json("DELETE", f"{SAVED}/{quote(name, safe='')}")
    write(f"removed {name}\n")


@app.command()
def inbox(
    everything: Annotated[bool, typer.Option("--all", help="What was read, too.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave it unread.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 100.")] = 20,
    as_json: Json = False,
) -> None:
    """What saved searches found anew, and mark it as read; exit 1 when there is nothing."""
    client = open_client()
    pairs = [("limit", str(limit)), ("unread", str(not everything).lower())]
    answer = client.json("GET", INBOX, pairs)
    told = answer["notifications"]
    if as_json:
        print_json(answer)
    else:
        write("".join(f"{line}\n" for each in told for line in notification_lines(each)))
    for each in told:
        if each["read_at"] is None and not keep:
            client.json("POST", f"{INBOX}/{each['id']}/read")
    if not told:
        raise typer.Exit(1)


@scope_app.command("add")
def add_scope(
    name: Name,
    fields: Annotated[
        list[str], typer.Argument(metavar="FILTER", help="Fields: project:web -tag:draft")
    ],
) -> None:
    """Keep a filter under a name, in place of one of that name."""
    path = f"{SCOPES}/{quote(name, safe='')}"
    scope = open_client().json("PUT", path, body={"filter": " ".join(fields)})
    write(f"scope:{scope['name']}  {scope['filter']}\n")


@scope_app.command("list")
def list_scopes(as_json: Json = False) -> None:
    """Scopes and what they stand for."""
    answer = open_client().json("GET", SCOPES)
    if as_json:
        print_json(answer)
    else:
        lines = (f"scope:{each['name']}  {each['filter']}\n" for each in answer["scopes"])
        write("".join(lines))
    if not answer["scopes"]:
        raise typer.Exit(1)


@scope_app.command("remove")
def remove_scope(name: Name) -> None:
    """Delete a scope."""
    open_client().json("DELETE", f"{SCOPES}/{quote(name, safe='')}")
    write(f"removed scope:{name}\n")


@webhook_app.command()
def secret() -> None:
    """Print the secret that messages are signed with; keep it to yourself."""
    write(f"{open_client().json('GET', '/api/v1/webhooks/secret')['secret']}\n")


def saved_line(saved: Mapping[str, Any]) -> str:
    """``name  question  every 1h, next 2026-…  inbox, https://…``."""
    when = f"every {saved['every']}, next {saved['next_run_at']}" if saved["every"] else "by hand"
    tells = ", ".join(
        part for part in ("inbox" if saved["inbox"] else "", saved["webhook_url"] or "") if part
    )
    failed = f"FAILED: {saved['error']}" if saved["error"] else ""
    parts = (saved["name"], _one(saved["search"]["query"]), when, tells, failed)
    return "  ".join(part for part in parts if part)


def run_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Every result on a line, and how many are new."""
    new = {match["id"]: match for match in answer["new"]}
    items = answer["result"]["items"]
    for item in items:
        yield f"{_sign(new.pop(item['id'], None))} {item['id']}  {_one(item['title'])}"
    for match in new.values():  # new, and further down than the page
        yield f"{_sign(match)} {match['id']}  {_one(match['title'])}"
    shown, total = len(items), answer["result"]["total_count"]
    yield f"{answer['new_count']} new; {shown} of {total} result(s) shown"


def notification_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Which search told when, and of what."""
    webhook = told["webhook"]
    failed = f", webhook failed: {webhook['error']}" if webhook and webhook["error"] else ""
    yield f"{told['at']}  {told['saved_search']}  {told['count']} new{failed}"
    for match in told["matches"]:
        yield f"  {_sign(match)} {match['id']}  {_one(match['title'])}"


def _sign(match: Mapping[str, Any] | None) -> str:
    if match is None:
        return " "
    return "~" if match["changed"] else "+"


def _one(text: str) -> str:
    return " ".join(text.split())
