"""``mem-search export``: records as lines of JSON."""

from __future__ import annotations

from typing import Annotated

import typer

from mem_search.cli.client import open_client
from mem_search.cli.options import Kinds
from mem_search.cli.output import note, write_lines_of_json


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(export)


def export(
    kind: Kinds = None,
    project: Annotated[str, typer.Option("--project", help="Only this project.")] = "",
    since: Annotated[str, typer.Option("--since", metavar="WHEN", help="Not before.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="WHEN", help="Not after.")] = "",
) -> None:
    """Write records as JSON lines, which import reads again; `backup` writes everything."""
    single = (("project", project), ("dateStart", since), ("dateEnd", until))
    pairs = [*(("kinds", each) for each in kind or ()), *((n, v) for n, v in single if v)]
    if not write_lines_of_json(open_client().stream("/api/export", pairs)):
        note(f"no record is {'within these filters' if pairs else 'stored'}; nothing was exported")
