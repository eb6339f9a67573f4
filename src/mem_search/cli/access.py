"""``mem-search token`` and ``mem-search user``: who else may ask this worker."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from mem_search.cli.client import note, open_client
from mem_search.cli.output import write
from mem_search.cli.status import print_json
from mem_search.errors import InputError

token_app = typer.Typer(help="Give out and take back tokens.", no_args_is_help=True)
user_app = typer.Typer(help="See and remove who has a store here.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@token_app.command()
def create(
    name: Annotated[str, typer.Argument(help="What to call it, to revoke it by.")],
    user: Annotated[str, typer.Option("--user", help="Whose records; yours if not given.")] = "",
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse all changes.")] = False,
    expires: Annotated[
        str, typer.Option("--expires", metavar="90d", help="Hours, days or weeks; else never.")
    ] = "",
) -> None:
    """Make a token and print it, this once: only a hash of it is kept."""
    body = {"name": name, "user": user, "read_only": read_only, "expires": expires}
    token = open_client().json("POST", "/api/v1/tokens", body=body)
    write(f"{token['token']}\n")
    note(f"{token_line(token)}; it is not shown again")


@token_app.command("list")
def list_tokens(as_json: Json = False) -> None:
    """Print the tokens given out, without their secrets."""
    answer = open_client().json("GET", "/api/v1/tokens")
    if as_json:
        print_json(answer)
    else:
        write("".join(f"{token_line(token)}\n" for token in answer["tokens"]) or "no tokens\n")


@token_app.command()
def revoke(name: Annotated[str, typer.Argument(help="As it was called.")]) -> None:
    """Let nobody in with it any more."""
    answer = open_client().json("DELETE", f"/api/v1/tokens/{quote(name, safe='')}")
    write(f"revoked {answer['revoked']}\n")


@user_app.command("list")
def list_users(as_json: Json = False) -> None:
    """Print who has a token or a store here."""
    answer = open_client().json("GET", "/api/v1/users")
    if as_json:
        print_json(answer)
    else:
        write("".join(f"{user_line(user)}\n" for user in answer["users"]) or "no users\n")


@user_app.command()
def remove(
    user: Annotated[str, typer.Argument(help="Who.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Revoke every token of a user and delete all that they stored, for good."""
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("nobody is there to ask; add --yes to remove without asking")
        typer.confirm(f"Delete everything that {user} stored here?", abort=True, err=True)
    answer = open_client().json("DELETE", f"/api/v1/users/{quote(user, safe='')}")
    revoked = f"; revoked {', '.join(answer['revoked'])}" if answer["revoked"] else ""
    write(f"removed {answer['removed']}{revoked}\n")


def token_line(token: Mapping[str, Any]) -> str:
    """``ada-laptop  ada  reads and writes  expires 2027-02-20  last used 2026-11-22``."""
    rights = "reads only" if token["read_only"] else "reads and writes"
    expires = f"expires {token['expires_at'][:10]}" if token["expires_at"] else "does not expire"
    used = f"last used {token['last_used_at'][:10]}" if token["last_used_at"] else "never used"
    return "  ".join((token["name"], token["user"] or "you", rights, expires, used))


def user_line(user: Mapping[str, Any]) -> str:
    """``ada  12.3 MB  last used 2026-11-22  ada-laptop, ada-phone``."""
    used = f"last used {user['last_used_at'][:10]}" if user["last_used_at"] else "never used"
    tokens = ", ".join(user["tokens"]) or "no tokens"
    return "  ".join((user["name"], f"{user['bytes'] / 2**20:.1f} MB", used, tokens))
