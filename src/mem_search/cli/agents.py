"""``install`` and ``uninstall``: mem-search and the coding agents of this machine.

``uninstall`` takes back everything that was written outside the home; ``--data`` deletes the home.
Each part goes by itself: one that fails is named, the others go on.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from mem_search.agents.base import NAME, Setup, plugin_folder
from mem_search.agents.installing import Installation
from mem_search.agents.known import AGENTS, by_name
from mem_search.cli import neighbours, shell
from mem_search.cli.options import Yes, confirm
from mem_search.cli.output import note, say, write
from mem_search.daemon import service
from mem_search.daemon.connection import is_locked
from mem_search.daemon.control import stop
from mem_search.errors import Conflict, InputError, MemSearchError, StorageError
from mem_search.settings import Settings, is_shared


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(install)
    app.command()(uninstall)


def install(
    agents: Names = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")
    ] = False,
) -> None:
    """Write what an agent needs to search this memory; without a name, list the agents.

    That is the MCP server, the hooks and the skill, as far as the agent has them. A file that was
    there before is kept beside it. Doing it twice changes nothing.
    """
    settings = Settings.read()
    setup = Setup.here(settings.home)
    if not agents:
        for agent in AGENTS:
            state = Installation(agent, setup, settings.home)
            shown = "installed" if state.is_installed else "found" if state.is_found else "-"
            write(f"{agent.name:12} {shown:10} {agent.title}\n")
        say("\nTry: mem-search install NAME\n")
        return
    for agent in map(by_name, agents):
        for change in Installation(agent, setup, settings.home).install(dry=dry_run):
            what = f"would be {change.what}" if dry_run else change.what
            say(f"{agent.name}: {change.file}: {what}\n")
        if not dry_run:
            say(f"{agent.name}: start {agent.title} again to use it\n")
            if agent.afterwards:
                say(f"{agent.name}: {agent.afterwards}\n")


Names = Annotated[
    list[str] | None,
    typer.Argument(help=", ".join(agent.name for agent in AGENTS), metavar="AGENT"),
]


@dataclass(frozen=True, slots=True)
class Part:
    """Something that was written. ``remove`` returns lines that say what happened."""

    name: str
    remove: Callable[[], Iterable[str]]


def uninstall(
    agents: Names = None,
    data: Annotated[
        bool, typer.Option("--data", help="Delete everything that is stored, too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Take back everything that mem-search wrote outside its home; with names, from these agents.

    That is the settings of agents, the service, completion and the command in ~/.local/bin. What
    others changed since stays. The records stay, too, unless --data is given.
    """
    if agents and data:
        raise InputError("--data deletes the whole home; give no agent with it", field="data")
    settings = Settings.read()
    setup = Setup.here(settings.home)
    if agents:
        for state in [Installation(by_name(name), setup, settings.home) for name in agents]:
            if not state.is_installed:
                note(f"{state.agent.name}: nothing is installed")
        parts = list(_agents(settings, setup, agents))
    else:
        parts = list(_everything(settings, setup, data=data))
    if dry_run:
        say("".join(f"{part.name}: would be removed\n" for part in parts) or "nothing is left\n")
        return
    if data:
        say("".join(f"{part.name}\n" for part in parts))
        confirm("End your agents first. Remove all this? It cannot be undone.", yes=yes)
    failed = _remove(parts)
    if failed is not None:
        raise typer.Exit(failed.exit_code)
    if not agents:
        if not data and settings.home.exists():
            say(f"your records stay in {settings.home}; to delete them: mem-search uninstall"
                  " --data\n")  # fmt: skip
        say(f"the program itself: {_program()}\n")


def _everything(settings: Settings, setup: Setup, *, data: bool) -> Iterator[Part]:
    yield from _agents(settings, setup, [agent.name for agent in AGENTS])
    for what, take_back in neighbours.to_take_back():
        yield Part(what, take_back)
    if (unit := service.service_of(settings)) is not None and unit.is_installed:
        yield Part(f"service: {unit.file}", lambda: [f"{service.uninstall(settings)}: removed"])
    rows = shell.remembered(settings.home)
    for row in reversed(rows):
        what = row.file if row.made or row.link else f"our lines in {row.file}"
        yield Part(what, partial(_taken_back, row))
    if rows:
        yield Part(str(settings.home / shell.FILE), partial(_forgotten, settings.home))
    yield Part("worker", lambda: ["worker: stopped" if stop(settings) else "worker: not running"])
    if data and settings.home.exists():
        yield Part(f"{settings.home}: all records and settings", partial(_deleted, settings.home))


def _agents(settings: Settings, setup: Setup, names: Iterable[str]) -> Iterator[Part]:
    for state in (Installation(by_name(name), setup, settings.home) for name in names):
        if state.is_installed:
            yield Part(f"{state.agent.name}: settings of {state.agent.title}",
                       partial(_changes, state))  # fmt: skip


def _changes(state: Installation) -> Iterator[str]:
    for change in state.uninstall():
        yield f"{state.agent.name}: {change.file}: {change.what}"


def _taken_back(row: shell.Written) -> Iterator[str]:
    yield f"{row.file}: {shell.take_back(row)}"


def _forgotten(home: Path) -> Iterator[str]:
    (home / shell.FILE).unlink(missing_ok=True)
    yield from ()


def _deleted(home: Path) -> Iterator[str]:
    if is_shared(home):
        raise Conflict(f"{home} also holds files of others, so it is not deleted;"
                       " docs/operations.md lists which files in it are ours")  # fmt: skip
    if is_locked(str(home)):
        raise Conflict(f"a worker of {home} still runs; run: mem-search worker stop")
    try:
        shutil.rmtree(home)
    except OSError as error:
        raise StorageError(f"cannot delete {home}: {error}") from error
    yield f"{home}: deleted"


def _remove(parts: Iterable[Part]) -> MemSearchError | None:
    """Remove each part and say so; the last error."""
    failed = None
    for part in parts:
        try:
            for line in part.remove():
                say(f"{line}\n")
        except MemSearchError as error:
            failed = error
            note(f"mem-search: {part.name}: {error.message}")
    return failed


def _program() -> str:
    """How the program itself is removed, by how it was installed."""
    checkout, place = plugin_folder().parent, Path(sys.prefix).parts
    if (checkout / "pyproject.toml").is_file():
        return f"delete {checkout}"
    if "pipx" in place:
        return f"pipx uninstall {NAME}"
    if "uv" in place:
        return f"uv tool uninstall {NAME}"
    return f"{quote(sys.executable)} -m pip uninstall {NAME}"
