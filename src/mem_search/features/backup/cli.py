"""``backup``, ``restore`` and ``migrate``: a home in one file, and its store in another place."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mem_search.cli import neighbours
from mem_search.cli.client import open_client, part_of
from mem_search.cli.options import Yes, clock_time, confirm
from mem_search.cli.output import note, say
from mem_search.errors import Conflict, InputError
from mem_search.platform import expanded
from mem_search.settings import Settings
from mem_search.text.counted import counted


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(backup)
    app.command()(restore)


def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A new file, such as mem.zip.")],
    no_vectors: Annotated[
        bool, typer.Option("--no-vectors", help="Smaller; a restored store embeds again.")
    ] = False,
) -> None:
    """Write everything that is stored, of all users, to one file; the worker goes on meanwhile."""
    # Heavy: no other command needs it.
    from mem_search.storage import archive

    if file == "-":
        raise InputError(
            "name a file: a backup is read again to check that it is whole", field="FILE"
        )
    target = Path(expanded(file)).absolute()
    if target.exists():
        raise Conflict(f"{target} exists; choose another name", field="FILE")
    pairs = [("vectors", "false")] if no_vectors else []
    progress = _Progress()
    with part_of(target) as (part, sink):
        with open_client().download("/api/v1/backup", pairs) as received:
            size, pieces = received
            for piece in pieces:
                sink.write(piece)
                progress("received", sink.tell(), size)
        sink.flush()
        os.fsync(sink.fileno())
        manifest = archive.read(part, partial(progress, "checked"))
    stores = sum(member.name.endswith(archive.DATABASE) for member in manifest.members)
    say(
        f"{target}: {counted(manifest.records, 'record')} of {counted(stores, 'store')}, "
        f"{target.stat().st_size / 2**20:.1f} MB\n"
    )


def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What mem-search backup wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Set the stores aside that are here now.")
    ] = False,
    even_forgotten: Annotated[
        bool,
        typer.Option(
            "--even-forgotten", help="Bring back what was forgotten since the backup, too."
        ),
    ] = False,
    yes: Yes = False,
) -> None:
    """Restore a backup into the home. The worker must not run; the next command starts it.

    What was forgotten here since the backup was made is left out.
    """
    # Heavy: no other command needs it.
    from mem_search.daemon import restore as restoring

    source = Path(expanded(file)).absolute()
    if not source.is_file():
        raise InputError(f"{source} is not a file", field="FILE")
    settings = Settings.read()
    manifest, aside, returning = restoring.restore(
        settings, source, replace=replace, even_forgotten=even_forgotten, progress=_Progress(),
        confirm=lambda count: confirm(
            f"Restore {counted(count, 'record')} forgotten since then, too?", yes=yes
        ),
    )  # fmt: skip
    left_out = 0 if even_forgotten else returning.records
    vectors = "" if manifest.vectors else "; their vectors are computed again"
    say(
        f"restored {counted(manifest.records - left_out, 'record')} of"
        f" {clock_time(manifest.created_at)} into {settings.home}{vectors}\n"
    )
    if left_out:
        say(
            f"left out {counted(left_out, 'record')} forgotten since then; the next start removes"
            " what is left of them. To bring them back: --even-forgotten\n"
        )
    elif returning.records:
        say(f"{returning.records} of them had been forgotten since then\n")
    for each in returning.unread:
        note(f"what was forgotten since then may be back: its tombstones cannot be read in {each}")
    if aside is not None:
        say(f"what was there before is in {aside}; delete it when all is well\n")


class _Progress:
    """A line for each tenth of what is done, on a terminal. Sizes are in bytes."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}

    def __call__(self, doing: str, done: int, size: int) -> None:
        tenth = done * 10 // size if size else 0
        if tenth > self._told.get(doing, 0) and sys.stderr.isatty():
            self._told[doing] = tenth
            note(f"{doing} {done / 2**20:.1f} of {size / 2**20:.1f} MB")


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
    elif (other := neighbours.named(what)) is not None:
        other.move_over(store, redirect=redirect, undo=undo)
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
    for each in move(settings, to, _line_for_each()):
        whose = f"{each.user}: " if each.user else ""
        say(
            f"{whose}moved {counted(each.records, 'record')}, {counted(each.rows, 'row')};"
            f" counts and hashes of every table agree, and {each.searches} searches answer alike\n"
        )
    config = settings.home / "config.toml"
    if to == FILE:
        say(
            f"Next: remove store from {config} and MEM_SEARCH_STORE, then mem-search worker start\n"
        )
    else:
        say(f'Next: write store = "…" (the address) into {config}, then mem-search worker start.\n')
    say("The old store stays as it was; delete it when all is well.\n")


def _line_for_each() -> Callable[[str, int, int], None]:
    """A line for each table, on a terminal."""
    last = ""

    def tell(doing: str, done: int, _of: int) -> None:
        nonlocal last
        if doing != last and sys.stderr.isatty():
            note(f"{doing} ({done} rows)")
        last = doing

    return tell
