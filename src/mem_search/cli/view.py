"""``mem-search view``: the viewer in a browser."""

from __future__ import annotations

import sys
import webbrowser
from typing import Annotated
from urllib.parse import quote, urlencode

import typer

from mem_search.cli.client import open_client
from mem_search.cli.options import Json, show
from mem_search.cli.output import note, write
from mem_search.patterns import pattern

_REF = pattern(r"[a-z][a-z0-9_]*:[0-9]+")


def view(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[QUESTION|REF]", help="What to show.")
    ] = None,
    link: Annotated[bool, typer.Option("--link", help="Print the link; open no browser.")] = False,
    as_json: Json = False,
) -> None:
    """Open the viewer in a browser, which the link logs in.

    The link works once, for two minutes; the browser then stays logged in for 30 days.
    """
    answer = open_client().json("POST", "/api/viewer/links")
    url = f"{answer['url']}{_place(' '.join(words or []).strip())}"
    if as_json:
        show({**answer, "url": url}, [], as_json=True)
    elif link or not sys.stdout.isatty() or not webbrowser.open(url):
        write(f"{url}\n")
        note("open this link in a browser; it works once, for two minutes")
    else:
        note("opened in the browser")


def _place(what: str) -> str:
    """The part of the viewer's address that says what to show."""
    if _REF.fullmatch(what):
        return f"#/record/{quote(what, safe='')}"
    return f"#/search?{urlencode({'q': what})}" if what else ""
