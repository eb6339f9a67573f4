"""The command line with all commands and the handling of errors.

It is loaded when ``fast_path`` cannot run the command.
"""

from __future__ import annotations

import os
from contextlib import nullcontext

import typer

from mem_search import __version__
from mem_search.cli import (
    agents,
    doctor,
    jobs,
    manual,
    opening,
    quickstart,
    records,
    search,
    worker,
)
from mem_search.cli.client import report
from mem_search.cli.commands import COMPLETION, Commands
from mem_search.cli.completion import whole_words
from mem_search.cli.output import guard, write
from mem_search.cli.remote import VARIABLE
from mem_search.cli.shell import remembering_completion
from mem_search.errors import MemSearchError, StorageError
from mem_search.features.access import cli as access
from mem_search.features.archives import cli as archives
from mem_search.features.backup import cli as backup
from mem_search.features.context import cli as context
from mem_search.features.documents import cli as documents
from mem_search.features.exports import cli as exports
from mem_search.features.forgetting import cli as forget
from mem_search.features.graph import cli as graph
from mem_search.features.imports import cli as imports
from mem_search.features.learning import cli as learning
from mem_search.features.mirror import cli as mirror
from mem_search.features.projects import cli as projects
from mem_search.features.research import cli as research
from mem_search.features.saved_searches import cli as saved_searches
from mem_search.features.scopes import cli as scopes
from mem_search.features.stats import cli as stats
from mem_search.features.suggest import cli as usage
from mem_search.features.viewer import cli as viewer
from mem_search.features.web_search import cli as web_search
from mem_search.features.webhooks import cli as webhooks
from mem_search.features.why import cli as why

_HELP = """Search everything that you and your coding agents have seen.

Try: mem-search quickstart, then mem-search WORDS, short for mem-search search WORDS.
"""

app = typer.Typer(
    name="mem-search",
    cls=Commands,
    help=_HELP,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    # Colours of the framework would lose their escape characters: see ``output.guard``.
    context_settings={"help_option_names": ["-h", "--help"], "color": False},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        write(f"mem-search {__version__}\n")
        raise typer.Exit


@app.callback()
def top(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_show_version, is_eager=True
    ),
    url: str = typer.Option(
        "", "--url", metavar="URL", help="Ask the worker at the other end of a tunnel."
    ),
) -> None:
    """The options that precede a command; ``version`` has acted by its callback."""
    del version
    if url:
        os.environ[VARIABLE] = url


def mcp() -> None:
    """Serve MCP on standard input and output, for agents that start programs."""
    from mem_search.cli.mcp_relay import main as relay

    raise typer.Exit(relay())


for group in (
    search, records, opening, context, forget, documents, why, imports, exports, agents, backup,
    mirror, stats, usage, projects, jobs, web_search, learning,
):  # fmt: skip
    group.add_to(app)
archives.add_to(app)
app.command()(mcp)
app.command()(quickstart.quickstart)
manual.add_to(app)
app.command()(viewer.view)
app.command()(doctor.doctor)
app.command()(backup.migrate)
app.add_typer(stats.index_app, name="index")
app.add_typer(worker.app, name="worker")
app.add_typer(worker.service_app, name="service")
app.add_typer(access.token_app, name="token")
app.add_typer(access.user_app, name="user")
app.add_typer(archives.app, name="archive")
app.add_typer(graph.app, name="graph")
app.add_typer(research.app, name="research")
app.add_typer(saved_searches.app, name="saved")
app.add_typer(scopes.app, name="scope")
app.add_typer(webhooks.app, name="webhook")
app.add_typer(access.share_app, name="share")


def _refused(error: OSError) -> MemSearchError:
    """What the system refused, in one line with the next step."""
    try:
        os.getcwd()  # noqa: PTH109  no more than whether there is one
    except OSError:
        return StorageError("the current folder was deleted; go to another one: cd ~")
    place = f"{error.filename}: " if error.filename else ""
    return StorageError(f"{place}{error.strerror or error}; see: mem-search doctor")


def main(argv: list[str]) -> int:
    """Run one command and return its exit code; docs/guide.md lists them."""
    guard()
    remembering = remembering_completion if COMPLETION[0] in argv else nullcontext
    try:
        with remembering(), whole_words():
            app(args=argv, prog_name="mem-search")
    except MemSearchError as error:
        return report(error)
    except OSError as error:
        return report(_refused(error))
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0
    return 0
