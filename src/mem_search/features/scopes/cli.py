"""``mem-search scope``: filters with a name."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from mem_search.cli import completion
from mem_search.cli.client import open_client
from mem_search.cli.commands import Group
from mem_search.cli.options import Json, show
from mem_search.cli.output import say, write

app = typer.Typer(
    cls=Group, help="Save filters by name, to search with scope:NAME.", no_args_is_help=True
)

SCOPES = "/api/v1/scopes"

Saved = Annotated[
    str, typer.Argument(metavar="NAME", help="Its name.", autocompletion=completion.scopes)
]


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    fields: Annotated[
        list[str], typer.Argument(metavar="FILTER", help="Fields: project:web -tag:draft")
    ],
) -> None:
    """Save a filter under a name; replaces one of that name."""
    path = f"{SCOPES}/{quote(name, safe='')}"
    scope = open_client().json("PUT", path, body={"filter": " ".join(fields)})
    write(f"scope:{scope['name']}  {scope['filter']}\n")


@app.command("list")
def list_all(as_json: Json = False) -> None:
    """List scopes with their filters."""
    answer = open_client().json("GET", SCOPES)
    lines = (f"scope:{each['name']}  {each['filter']}" for each in answer["scopes"])
    empty = "no scopes; to save one: mem-search scope add NAME FILTER"
    show(answer, lines, as_json=as_json, empty=empty, found=answer["scopes"])


@app.command("remove")
def remove(name: Saved) -> None:
    """Delete a scope."""
    open_client().json("DELETE", f"{SCOPES}/{quote(name, safe='')}")
    say(f"removed scope:{name}\n")
