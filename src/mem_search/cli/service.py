"""``mem-search service``: let the system start the worker at login, or no longer."""

from __future__ import annotations

import os
import sys

import typer

from mem_search.cli.commands import Group
from mem_search.cli.output import note, say
from mem_search.daemon import service
from mem_search.daemon.control import start, stop
from mem_search.errors import MemSearchError
from mem_search.settings import Settings

app = typer.Typer(
    cls=Group, help="Let the system start the worker when you log in.", no_args_is_help=True
)


@app.command()
def install() -> None:
    """Start the worker now and at each login: by systemd, on macOS by launchd.

    Settings of this shell (MEM_SEARCH_…) are written into the service; run it again after you
    changed them. Without a service, the first command starts the worker.
    """
    from mem_search.daemon.run import check

    settings = Settings.read()
    check(settings)
    stopped = stop(settings)
    try:
        written = service.install(settings)
    except MemSearchError:
        if stopped:
            start(settings, note)  # without a service, as before
        raise
    state, _ = start(settings, note)
    say(f"{written.file}: written\nstarted (pid {state.pid}, {state.url})\n")
    for name in service.left_out(settings, os.environ):
        setting = name.removeprefix("MEM_SEARCH_").lower()
        note(f"mem-search: {name} is a secret and is not written there: put {setting} into"
             f" {settings.home / 'config.toml'}, then: mem-search worker restart")  # fmt: skip
    if sys.platform != "darwin":
        say("It ends when you log out; to keep it running: loginctl enable-linger\n")


@app.command()
def uninstall() -> None:
    """End the service and remove its file; then the next command starts the worker, as before."""
    removed = service.uninstall(Settings.read())
    say("no service is installed\n" if removed is None else f"{removed}: removed\n")
