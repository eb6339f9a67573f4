"""``mem-search token``, ``user`` and ``share``: tokens and users of this worker, and what one user
shows another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from mem_search.cli.client import open_client
from mem_search.cli.commands import Group
from mem_search.cli.options import Json, Yes, clock_time, confirm, show
from mem_search.cli.output import note, say, write

token_app = typer.Typer(cls=Group, help="Create, list and revoke tokens.", no_args_is_help=True)
user_app = typer.Typer(
    cls=Group, help="List and remove users who have a store here.", no_args_is_help=True
)


@token_app.command()
def create(
    name: Annotated[str, typer.Argument(help="A name for the token; revoke takes it.")],
    user: Annotated[str, typer.Option("--user", help="Whose records; your own by default.")] = "",
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse all changes.")] = False,
    scope: Annotated[
        str, typer.Option("--scope", help="Show only records in this scope; it only reads.")
    ] = "",
    expires: Annotated[
        str, typer.Option("--expires", metavar="90d", help="Hours, days or weeks; else never.")
    ] = "",
) -> None:
    """Create a token and print it. It cannot be shown again: only its hash is stored."""
    body = {"name": name, "user": user, "read_only": read_only, "expires": expires, "scope": scope}
    token = open_client().json("POST", "/api/v1/tokens", body=body)
    write(f"{token['token']}\n")
    note(f"{token_line(token)}; it is not shown again")


@token_app.command("list")
def list_tokens(as_json: Json = False) -> None:
    """List the tokens, without their secrets."""
    answer = open_client().json("GET", "/api/v1/tokens")
    empty = "no tokens; to create one: mem-search token create NAME"
    show(answer, map(token_line, answer["tokens"]), as_json=as_json, empty=empty)


@token_app.command()
def revoke(name: Annotated[str, typer.Argument(help="The name of the token.")]) -> None:
    """Revoke a token: from now on it is refused."""
    answer = open_client().json("DELETE", f"/api/v1/tokens/{quote(name, safe='')}")
    say(f"revoked {answer['revoked']}\n")


@user_app.command("list")
def list_users(as_json: Json = False) -> None:
    """List the users who have a token or a store here."""
    answer = open_client().json("GET", "/api/v1/users")
    show(answer, map(user_line, answer["users"]), as_json=as_json, empty="no users")


@user_app.command()
def remove(
    user: Annotated[str, typer.Argument(help="The name of the user.")], yes: Yes = False
) -> None:
    """Revoke every token of a user and delete everything that they stored."""
    confirm(f"Delete everything that {user} stored here?", yes=yes)
    answer = open_client().json("DELETE", f"/api/v1/users/{quote(user, safe='')}")
    revoked = f"; revoked {', '.join(answer['revoked'])}" if answer["revoked"] else ""
    say(f"removed {answer['removed']}{revoked}\n")


def token_line(token: Mapping[str, Any]) -> str:
    """``ada-laptop  ada  reads and writes  expires 2027-02-20  last used 2026-11-22``."""
    rights = "reads only" if token["read_only"] else "reads and writes"
    if token["scope"]:
        rights = f"reads scope:{token['scope']}"
    expires = (
        f"expires {clock_time(token['expires_at'], day=True)}"
        if token["expires_at"]
        else "does not expire"
    )
    return "  ".join((token["name"], token["user"] or "you", rights, expires, _last_used(token)))


def user_line(user: Mapping[str, Any]) -> str:
    """``ada  12.3 MB  last used 2026-11-22  ada-laptop, ada-phone``."""
    tokens = ", ".join(user["tokens"]) or "no tokens"
    return "  ".join((user["name"], f"{user['bytes'] / 2**20:.1f} MB", _last_used(user), tokens))


def _last_used(used: Mapping[str, Any]) -> str:
    if not used["last_used_at"]:
        return "never used"
    return f"last used {clock_time(used['last_used_at'], day=True)}"


share_app = typer.Typer(
    cls=Group, help="Let another user read a scope or a saved search.", no_args_is_help=True
)
_SHARES = "/api/v1/shares"


@share_app.command("add")
def add_share(
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
    share = open_client().json("POST", _SHARES, body=body)
    write(f"{share['name']}\n")
    note(f"{user} reads it with MEM_SEARCH_SHARE={share['name']} before a command")


@share_app.command("list")
def list_shares(as_json: Json = False) -> None:
    """List what you share, and what is shared with you."""
    answer = open_client().json("GET", _SHARES)
    shares = [*answer["given"], *answer["received"]]
    show(answer, _share_lines(answer), as_json=as_json, empty="nothing is shared", found=shares)


@share_app.command("remove")
def end_share(name: Annotated[str, typer.Argument(help="The name of the share.")]) -> None:
    """End a share, at once."""
    open_client().json("DELETE", f"{_SHARES}/{quote(name, safe='')}")
    say(f"removed {name}\n")


def _share_lines(answer: Mapping[str, Any]) -> Iterator[str]:
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
