"""``migrate``: moving over from another program, and the store on another engine, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from mem_search.cli.output import note, say
from mem_search.errors import InputError
from mem_search.features.claude_mem import cli as claude_mem
from mem_search.settings import Settings


def migrate(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="claude-mem, or store.")],
    store: Annotated[
        str, typer.Option("--store", metavar="PATH", help="Its store, or the folder of it.")
    ] = "",
    redirect: Annotated[
        bool,
        typer.Option(
            "--redirect", help="Then let claude-mem's hooks and MCP server use this worker."
        ),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take --redirect back; the records stay.")
    ] = False,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="PLACE", help="Of the store: postgresql://USER@HOST/DATABASE, or file."
        ),
    ] = "",
) -> None:
    """Move over from claude-mem, or move the store to a PostgreSQL server or back."""
    if what == "store":
        _move_store(to)
    elif what == claude_mem.SOURCE:
        claude_mem.move_over(store, redirect=redirect, undo=undo)
    else:
        raise InputError(f"{what!r} cannot be moved; known: claude-mem, store", field="WHAT")


def _move_store(to: str) -> None:
    """Move the store to ``to``; the old one stays. The worker must not run."""
    if not to:
        raise InputError(
            "say where to, with --to: postgresql://USER@HOST:5432/DATABASE, or file for a file in"
            " the home",
            field="to",
        )
    # Heavy: no other command needs it.
    from mem_search.daemon.moving import FILE, move

    settings = Settings.read()
    for each in move(settings, to, _progress()):
        whose = f"{each.user}: " if each.user else ""
        say(
            f"{whose}moved {each.records} record(s), {each.rows} row(s); counts and hashes of every"
            f" table agree, and {each.searches} searches answer alike\n"
        )
    config = settings.home / "config.toml"
    if to == FILE:
        say(
            f"Next: remove store from {config} and MEM_SEARCH_STORE, then mem-search worker start\n"
        )
    else:
        say(f'Next: write store = "…" (the address) into {config}, then mem-search worker start.\n')
    say("The old store stays as it was; delete it when all is well.\n")


def _progress() -> Callable[[str, int, int], None]:
    """A line for each table, on a terminal."""
    last = ""

    def tell(doing: str, done: int, _of: int) -> None:
        nonlocal last
        if doing != last and sys.stderr.isatty():
            note(f"{doing} ({done} rows)")
        last = doing

    return tell
