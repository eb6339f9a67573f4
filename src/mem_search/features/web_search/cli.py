"""``mem-search websearch``: what is stored here, then what the web has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from mem_search.cli.client import open_client
from mem_search.cli.options import Json, Limit, folded, show
from mem_search.cli.output import note

SEARCH = "/api/v1/search"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(websearch)


def websearch(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="The question.")],
    limit: Limit = 10,
    as_json: Json = False,
) -> None:
    """Search what is stored, then the web, by the web search that a setting names."""
    body = {
        "query": " ".join(words), "search_type": "hybrid", "limit": limit,
        "sources": ["local", "web"],
    }  # fmt: skip
    page = open_client().json("POST", SEARCH, body=body)
    results = page["items"] or page["web"]["items"]
    show(page, _lines(page), as_json=as_json, empty="nothing is found", found=results)
    for notice in () if as_json else page["search"]["notices"]:
        note(f"note: {notice}")


def _lines(page: Mapping[str, Any]) -> Iterator[str]:
    for item in page["items"]:
        yield from _item(item["id"].removeprefix("local:"), item)
    if page["web"]["items"]:
        yield f"on the web, by {page['web']['provider']}"
    for item in page["web"]["items"]:
        yield from _item(item["url"], item)


def _item(place: str, item: Mapping[str, Any]) -> Iterator[str]:
    """The title and the snippet. Agents read them, too: of a text that gives orders the title."""
    if "caution" in item:
        # Late, because each command would wait for the renderers.
        from mem_search.renderers.safe_text import fenced_title

        yield f"{place}  {fenced_title(folded(item['title']))}"
        return
    yield f"{place}  {folded(item['title'])}"
    if item["snippet"]:
        yield f"    {folded(item['snippet'])}"
