"""``get``, ``preview``, ``timeline`` and ``related``: commands for single records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

import typer

from mem_search.cli import completion
from mem_search.cli.client import Client, Pairs, open_client
from mem_search.cli.fast_path import RULE, is_empty
from mem_search.cli.options import Json, Kinds, MaxTokens
from mem_search.cli.output import note, screen, show_listing, write, write_json
from mem_search.errors import InputError, MemSearchError, NotFound

_REF = typer.Argument(
    help="kind:number, a number, or cm:NUMBER for claude-mem's.", autocompletion=completion.refs
)
Ref = Annotated[str, _REF]
Refs = Annotated[list[str], _REF]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(get)
    app.command()(preview)
    app.command()(timeline)
    app.command()(related)


def get(
    refs: Refs,
    format: Annotated[str, typer.Option("--format", metavar="full|json")] = "full",  # noqa: A002
    max_tokens: MaxTokens = None,
    meta: Annotated[bool, typer.Option("--meta", help="On a terminal all details, too.")] = False,
    as_json: Json = False,
) -> None:
    """Print whole records: as text, or as JSON with one object a line."""
    if format not in ("full", "json"):
        raise InputError(f"cannot be {format!r}; write full or json", field="format")
    _show(refs, screen(details=meta), as_json or format == "json", _max_tokens(max_tokens))


def preview(ref: Ref) -> None:
    """Show a record as a terminal does, in colours: for fzf, which shows what this prints."""
    _show([ref], screen(preview=True), False)


def _show(refs: Sequence[str], shown: str, as_json: bool, pairs: Pairs = ()) -> None:
    client = open_client()
    missing: list[MemSearchError] = []
    printed = False
    for text in refs:
        try:
            path = f"/api/records/{id_in_url(text)}"
            if as_json:
                body = client.raw(path, pairs)
            else:
                body = client.text(path, [("format", "full"), *pairs], shown)
        except NotFound as error:
            missing.append(error)
            continue
        if printed and not as_json:
            write(RULE)
        show_listing(body, as_json=as_json)
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
    wanted = "json" if as_json else format
    pairs = [
        ("around", " ".join(words)),
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
        listing = client.text("/api/timeline", pairs, screen())
        show_listing(listing)
        empty = is_empty(listing, as_json=False)
    if empty:
        raise typer.Exit(1)


def related(
    ref: Ref,
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
        body = client.text(path, pairs, screen())
        empty = is_empty(body, as_json=False)
    show_listing(body, as_json=as_json)
    if empty:
        raise typer.Exit(1)


def _max_tokens(max_tokens: int | None) -> list[tuple[str, str]]:
    return [] if max_tokens is None else [("max_tokens", str(max_tokens))]


def id_in_url(text: str) -> str:
    """The id of a record as a part of a path. Raises InputError for what is no id."""
    from mem_search.text.record_ids import RecordId

    return quote(str(RecordId.parse(text)), safe=":")


def ref_of(client: Client, text: str) -> str:
    """The ref of the record that ``text`` names. Raises InputError, NotFound."""
    return str(client.json("GET", f"/api/records/{id_in_url(text)}")["ref"])
