"""``get``, ``timeline`` and ``related``: commands for single records."""

from __future__ import annotations

import json
import re
from typing import Annotated
from urllib.parse import quote

import typer

from mem_search.cli import completion
from mem_search.cli.client import Client, open_client
from mem_search.cli.options import Json, Kinds, MaxTokens
from mem_search.cli.output import coloured, note, show_listing, write, write_fitted, write_json
from mem_search.cli.search_options import NOTHING_FOUND
from mem_search.errors import InputError, MemSearchError, NotFound

RULE = "\n---\n\n"

Refs = Annotated[
    list[str],
    typer.Argument(
        help="kind:number, a number, or cm:NUMBER for claude-mem's.", autocompletion=completion.refs
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(get)
    app.command()(timeline)
    app.command()(related)


def get(
    refs: Refs,
    format: Annotated[str, typer.Option("--format", metavar="full|json")] = "full",  # noqa: A002
    max_tokens: MaxTokens = None,
    as_json: Json = False,
) -> None:
    """Print whole records: as text, or as JSON with one object a line."""
    if format not in ("full", "json"):
        raise InputError(f"cannot be {format!r}; write full or json", field="format")
    client = open_client()
    limit = _max_tokens(max_tokens)
    missing: list[MemSearchError] = []
    printed = False
    for text in refs:
        try:
            path = f"/api/records/{id_in_url(text)}"
            if as_json or format == "json":
                body = client.raw(path, limit)
            else:
                body = client.text(path, [("format", "full"), *limit])
        except NotFound as error:
            missing.append(error)
            continue
        if printed and not (as_json or format == "json"):
            write(RULE)
        show_listing(body, as_json=as_json or format == "json")
        printed = True
    for each in missing[:-1]:
        note(f"mem-search: {each.message}")
    if missing:
        raise missing[-1]


def timeline(
    words: Annotated[list[str], typer.Argument(help="A ref, a number, a date, or a query.")],
    before: Annotated[int, typer.Option("--before", help="Records before, 0 to 50.")] = 10,
    after: Annotated[int, typer.Option("--after", help="Records after, 0 to 50.")] = 10,
    project: Annotated[str, typer.Option("--project", help="Only this project.")] = "",
    kind: Kinds = None,
    format: Annotated[str, typer.Option("--format", metavar="index|full|json")] = "index",  # noqa: A002
    max_tokens: MaxTokens = None,
    as_json: Json = False,
) -> None:
    """Show what happened before and after a record, a date, or the best result of a query."""
    text = " ".join(words)
    wanted = "json" if as_json else format
    pairs = [
        ("anchor" if is_anchor(text) else "query", text),
        ("depth_before", str(before)),
        ("depth_after", str(after)),
        ("format", wanted),
        *([("project", project)] if project else []),
        *(("types", each) for each in kind or ()),
        *_max_tokens(max_tokens),
    ]
    client = open_client()
    if wanted == "json":
        body = client.raw("/api/timeline", pairs)
        write_json(body.decode() + "\n")
        empty = not json.loads(body).get("records")
    else:
        listing = client.text("/api/timeline", pairs).decode()
        write_fitted(listing, coloured)
        empty = listing.startswith(NOTHING_FOUND)
    if empty:
        raise typer.Exit(1)


def related(
    ref: Annotated[
        str,
        typer.Argument(
            help="kind:number, a number, or cm:NUMBER for claude-mem's.",
            autocompletion=completion.refs,
        ),
    ],
    depth: Annotated[int, typer.Option("--depth", help="Steps in the graph, 1 to 5.")] = 2,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many records.")] = 20,
    relation: Annotated[
        list[str] | None, typer.Option("--relation", help="Only this relation; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a record links to, mentions or follows, and what shares its files and issues."""
    client = open_client()
    path = f"/api/graph/{id_in_url(ref)}"
    pairs = [
        ("depth", str(depth)),
        ("limit", str(limit)),
        *(("relation", each) for each in relation or ()),
    ]
    if as_json:
        body = client.raw(path, pairs)
        empty = len(json.loads(body)["nodes"]) < 2
    else:
        body = client.text(path, pairs)
        empty = body.startswith(NOTHING_FOUND.encode())
    show_listing(body, as_json=as_json)
    if empty:
        raise typer.Exit(1)


def _max_tokens(max_tokens: int | None) -> list[tuple[str, str]]:
    return [] if max_tokens is None else [("max_tokens", str(max_tokens))]


def is_anchor(text: str) -> bool:
    """Whether ``text`` names a record or a date, not a query."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}([T ].*)?", text):
        return True
    from datetime import UTC, datetime

    from mem_search.text import dates, record_ids

    if re.fullmatch(record_ids.PATTERN, text):
        return True
    try:
        dates.parse_bound(text, end=False, now=datetime.now(UTC), tz=UTC, field="anchor")
    except InputError:
        return False
    return True


def id_in_url(text: str) -> str:
    """The id of a record as a part of a path. Raises InputError for what is no id."""
    from mem_search.text.record_ids import RecordId

    return quote(str(RecordId.parse(text)), safe=":")


def ref_of(client: Client, text: str) -> str:
    """The ref of the record that ``text`` names. Raises InputError, NotFound."""
    return str(client.json("GET", f"/api/records/{id_in_url(text)}")["ref"])
