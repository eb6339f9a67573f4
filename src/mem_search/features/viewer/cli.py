"""``mem-search view``: the viewer in a browser."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from mem_search.cli.client import open_client
from mem_search.cli.options import Json, clock_time, show
from mem_search.cli.output import note, say, write
from mem_search.patterns import pattern

_REF = pattern(r"[a-z][a-z0-9_]*:[0-9]+")


def view(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[QUESTION|REF]", help="What to show.")
    ] = None,
    link: Annotated[bool, typer.Option("--link", help="Print the link; open no browser.")] = False,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="List the browsers that are logged in.")
    ] = False,
    end: Annotated[
        str, typer.Option("--end", metavar="ID", help="Log the browser of this session out.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Open the viewer in a browser, which the link logs in.

    The link works once, for two minutes; the browser then stays logged in for 12 hours after its
    last use, or until the worker ends.
    """
    if end:
        ended = open_client().json("DELETE", f"/api/viewer/sessions/{quote(end, safe='')}")
        say(f"logged out {ended['deleted']}\n")
        return
    if sessions:
        browsers = open_client().json("GET", "/api/viewer/sessions")
        lines = map(_session_line, browsers["sessions"])
        show(browsers, lines, as_json=as_json, empty="no browser is logged in")
        return
    answer = open_client().json("POST", "/api/viewer/links")
    url = f"{answer['url']}{_place(' '.join(words or []).strip())}"
    if as_json:
        show({**answer, "url": url}, [], as_json=True)
    elif link or not sys.stdout.isatty() or not webbrowser.open(url):
        write(f"{url}\n")
        note("open this link in a browser; it works once, for two minutes")
    else:
        note("opened in your browser")


def _place(what: str) -> str:
    """What the address of a link says after its code: what to show."""
    if _REF.fullmatch(what):
        return f"/record/{quote(what, safe='')}"
    return f"/search?{urlencode({'q': what})}" if what else ""


def _session_line(session: Mapping[str, Any]) -> str:
    """``1f2e3d4c  Firefox on Linux  since 2026-11-24 16:27  last used 2026-11-24 18:02``."""
    began, used = (clock_time(session[name]) for name in ("began_at", "last_used_at"))
    return f"{session['id']}  {session['browser']}  since {began}  last used {used}"
