"""``why``: what became of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mem_search.cli.client import open_client
from mem_search.cli.options import Json, check_text, show
from mem_search.errors import InputError
from mem_search.platform import expanded, spelled


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(why)


def why(
    path: Annotated[str, typer.Argument(help="A file or a folder.")], as_json: Json = False
) -> None:
    """Say in one sentence what became of a file: stored, left out, failed, or never seen."""
    if not path.strip():
        raise InputError("is empty; write . for this folder", field="PATH")
    given = Path(expanded(path)).absolute()  # of a link, and not of what it leads to
    place = Path(spelled(given.parent), given.name) if given.is_symlink() else Path(spelled(given))
    check_text(str(place))
    told = open_client().json("GET", "/api/why", [("path", str(place))])
    show(told, [told["sentence"]], as_json=as_json)
