"""``install`` and ``resume``: mem-search and the coding agents of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Annotated, Any, Final

import typer

from mem_search.agents import AGENTS, by_name, of_session
from mem_search.agents.base import Setup
from mem_search.agents.installing import Installation
from mem_search.cli import completion
from mem_search.cli.client import Client, open_client
from mem_search.cli.output import say, write
from mem_search.cli.records import id_in_url
from mem_search.cli.uninstall import Names, uninstall
from mem_search.errors import NotFound
from mem_search.patterns import pattern
from mem_search.settings import Settings

_SESSION: Final = pattern(r"[A-Za-z0-9][\w.:-]*")
"""What can be an option of the agent is no session."""


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(install)
    app.command()(uninstall)
    app.command()(resume)


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


def resume(
    ref: Annotated[
        str, typer.Argument(help="A record of the session.", autocompletion=completion.refs)
    ],
) -> None:
    """Print the command that opens the session of a record again in its agent."""
    client = open_client()
    record = client.json("GET", f"/api/records/{id_in_url(ref)}")
    agent = of_session(record["source"], str(record["metadata"].get("platform", "")))
    session = record["session"]
    if agent is None or not _SESSION.fullmatch(session):
        what = f"it is from {record['source']}" if agent is None else "it names none"
        raise NotFound(f"{record['ref']} belongs to no session of an agent: {what}", field="ref")
    command = agent.resume.format(session=quote(session))
    folder = _folder(client, record)
    write(f"cd {quote(folder)} && {command}\n" if folder else f"{command}\n")


def _folder(client: Client, record: Mapping[str, Any]) -> str:
    """The folder in which the session of a record began; "" if no prompt of it says so."""
    if folder := record["metadata"].get("cwd"):
        return str(folder)
    pairs = [("session", record["session"]), ("limit", "1"), ("orderBy", "date_asc")]
    found = client.json("GET", "/api/search/prompts", [*pairs, ("format", "json")])
    return next((str(each["metadata"].get("cwd", "")) for each in found["results"]), "")
