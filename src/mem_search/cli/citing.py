"""``cite``, and results of a search as a file: what the worker writes is printed as it is."""

from __future__ import annotations

from typing import Annotated

import typer

from mem_search.cli.output import write
from mem_search.cli.records import Refs, ref_of
from mem_search.cli.session import local, note, open_client
from mem_search.cli.table import Command, exported


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(cite)


def cite(
    refs: Refs,
    style: Annotated[
        str, typer.Option("--style", metavar="apa|mla|chicago|bibtex|ris|csl-json")
    ] = "apa",
    html: Annotated[bool, typer.Option("--html", help="HTML of apa, mla or chicago.")] = False,
) -> None:
    """Cite records in a style, or for a program that keeps references."""
    client = open_client()
    named = ",".join(str(ref_of(client, text)) for text in refs)
    pairs = [("refs", named), ("style", style), *([("format", "html")] if html else [])]
    body, _ = client.file("/api/citations", local(pairs))
    write(body.decode())


def save(command: Command, pairs: list[tuple[str, str]], *, may_start: bool) -> None:
    """Print the results of a search as a file; say on standard error when there are more."""
    asked = [("as", exported(pairs)), *(pair for pair in pairs if pair[0] != "format")]
    if not command.mixed:
        asked.append(("types", command.name))
    if command.name == "unified" and not any(name == "orderBy" for name, _ in pairs):
        asked.append(("orderBy", "date_desc"))
    body, headers = open_client(may_start=may_start).file("/api/search/export", local(asked))
    write(body.decode())
    if not int(headers["X-Total-Count"]):
        raise typer.Exit(1)
    if following := headers.get("X-Next-Offset"):
        note(f"mem-search: {headers['X-Total-Count']} in all; next: --offset {following}")
