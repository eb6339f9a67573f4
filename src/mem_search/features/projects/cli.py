"""``mem-search projects``: the projects, and what makes two of them one or renames one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mem_search.cli.client import open_client
from mem_search.cli.options import Json, clock_time, show
from mem_search.cli.output import say
from mem_search.errors import InputError

_PROJECTS = "/api/projects"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(projects)


def projects(
    merge: Annotated[
        tuple[str, str] | None,
        typer.Option("--merge", metavar="A B", help="Make A a part of B."),
    ] = None,
    rename: Annotated[
        tuple[str, str] | None,
        typer.Option("--rename", metavar="A B", help="Call A B."),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back the last --merge or --rename.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the projects: how many records each has, when the last was made, and its folder."""
    if sum((merge is not None, rename is not None, undo)) > 1:
        raise InputError("give only one of --merge, --rename and --undo")
    client = open_client()
    if merge is not None:
        body = {"project": merge[0], "into": merge[1]}
        _tell(client.json("POST", f"{_PROJECTS}/merge", body=body), as_json=as_json)
    elif rename is not None:
        body = {"project": rename[0], "name": rename[1]}
        _tell(client.json("POST", f"{_PROJECTS}/rename", body=body), as_json=as_json)
    elif undo:
        _tell(client.json("POST", f"{_PROJECTS}/undo"), as_json=as_json)
    else:
        answer = client.json("GET", _PROJECTS)
        rows = answer["projects"]
        names = max((len(each["name"]) for each in rows), default=0)
        lines = (
            f"{each['name']:<{names}}  {each['records']:>7}"
            f"  {clock_time(each['last'], day=True)}  {each['path']}".rstrip()
            for each in rows
        )
        show(answer, lines, as_json=as_json, empty="no projects yet; run: mem-search sync")


def _tell(change: Any, *, as_json: bool) -> None:
    if as_json:
        show(change, (), as_json=True)
        return
    done = {
        ("merge", False): "{before} is a part of {after} now",
        ("rename", False): "{before} is called {after} now",
        ("merge", True): "{before} is a project of its own again, apart from {after}",
        ("rename", True): "{after} is called {before} again",
    }[change["what"], change["undone"]].format(**change)
    undo = "" if change["undone"] else "; to take it back: mem-search projects --undo"
    say(f"{done}: {change['records']} records{undo}\n")
