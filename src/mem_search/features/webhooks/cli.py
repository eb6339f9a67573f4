"""``mem-search webhook``."""

from __future__ import annotations

import typer

from mem_search.cli.client import open_client
from mem_search.cli.commands import Group
from mem_search.cli.output import write

app = typer.Typer(cls=Group, help="What receivers of webhooks need.", no_args_is_help=True)


@app.command()
def secret() -> None:
    """Print the secret that signs webhooks; do not share it."""
    write(f"{open_client().json('GET', '/api/v1/webhooks/secret')['secret']}\n")
