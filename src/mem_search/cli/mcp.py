"""``mem-search mcp`` as the framework lists it; the quick path has run it before."""

from __future__ import annotations

import typer


def mcp() -> None:
    """Be an MCP server on standard input and output, for agents that start programs."""
    from mem_search.cli.mcp_relay import main

    raise typer.Exit(main())


def add_to(app: typer.Typer) -> None:
    app.command()(mcp)
