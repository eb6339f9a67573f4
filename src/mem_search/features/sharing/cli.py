"""``mem-search share``: what other users of this worker may read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from mem_search.cli.client import open_client
from mem_search.cli.commands import Group
from mem_search.cli.options import Json, clock_time, show
from mem_search.cli.output import note, say, write

app = typer.Typer(
    cls=Group, help="Let another user read a scope or a saved search.", no_args_is_help=True
)
SHARES = "/api/v1/shares"


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A scope, or a saved search.")],
    user: Annotated[str, typer.Option("--with", metavar="USER", help="Who may read it.")],
    saved: Annotated[bool, typer.Option("--saved", help="NAME is a saved search.")] = False,
    expires: Annotated[
        str, typer.Option("--expires", metavar="90d", help="Hours, days or weeks; else never.")
    ] = "",
) -> None:
    """Show a user the records of a scope or of a saved search, until you remove the share."""
    what = "saved_search" if saved else "scope"
    body = {what: name, "with_user": user, "expires": expires}
    share = open_client().json("POST", SHARES, body=body)
    write(f"{share['name']}\n")
    note(f"{user} reads it with MEM_SEARCH_SHARE={share['name']} before a command")


@app.command("list")
def list_shares(as_json: Json = False) -> None:
    """List what you share, and what is shared with you."""
    answer = open_client().json("GET", SHARES)
    shares = [*answer["given"], *answer["received"]]
    show(answer, _lines(answer), as_json=as_json, empty="nothing is shared", found=shares)


@app.command()
def remove(name: Annotated[str, typer.Argument(help="The name of the share.")]) -> None:
    """End a share, at once."""
    open_client().json("DELETE", f"{SHARES}/{quote(name, safe='')}")
    say(f"removed {name}\n")


def _lines(answer: Mapping[str, Any]) -> Iterator[str]:
    for side in ("given", "received"):
        for each in answer[side]:
            what = f"scope:{each['scope']}" if each["scope"] else f"saved {each['saved_search']}"
            whom = (
                f"with {each['with_user']}"
                if side == "given"
                else f"by {each['giver'] or 'the owner'}"
            )
            ends = (
                f"  expires {clock_time(each['expires_at'], day=True)}"
                if each["expires_at"]
                else ""
            )
            yield f"{each['name']}  {what}  {whom}{ends}"
