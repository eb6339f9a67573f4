"""``suggest``: how a word or a name goes on, from what the store has."""

from __future__ import annotations

from typing import Annotated

import typer

from mem_search.cli.output import write
from mem_search.cli.session import open_client
from mem_search.cli.standing import Json, print_json


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(suggest)


def suggest(
    prefix: Annotated[list[str], typer.Argument(help="The beginning of a word or a name.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 50.")] = 10,
    as_json: Json = False,
) -> None:
    """Complete what is being typed: words, titles, projects, tags, files; one a line."""
    pairs = [("prefix", " ".join(prefix)), ("limit", str(limit))]
    answer = open_client().json("GET", "/api/suggest", pairs)
    if as_json:
        print_json(answer)
    else:
        write("".join(f"{_line(each)}\n" for each in answer["completions"]))
    if not answer["completions"]:
        raise typer.Exit(1)


def _line(completion: dict[str, object]) -> str:
    """The text alone stands first, so that a script can cut it off at the tab."""
    text = " ".join(str(completion["text"]).split())
    return f"{text}\t{completion['what']}, {completion['records']} record(s)"
