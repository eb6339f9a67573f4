"""``mem-search graph``: parts of the graph as files and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from mem_search.cli import completion
from mem_search.cli.client import open_client, part_of
from mem_search.cli.commands import Group
from mem_search.cli.options import Kinds
from mem_search.cli.output import say, write_lines_of_json
from mem_search.errors import Conflict, InputError
from mem_search.platform import expanded

app = typer.Typer(cls=Group, help="Export the graph of records.", no_args_is_help=True)

_SUFFIXES: Final = ("json", "graphml", "gexf", "dot", "svg", "html")


@app.callback()
def group() -> None:
    """Keeps ``export`` a command of its own while it is the only one."""


@app.command()
def export(
    file: Annotated[
        str,
        typer.Argument(metavar="[FILE]", help="graph.html, graph.svg, …; else standard output."),
    ] = "",
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="|".join(_SUFFIXES), help="By default as FILE ends, else json."
        ),
    ] = "",
    around: Annotated[
        str,
        typer.Option(
            "--around",
            metavar="REF",
            help="Only this record and what is related to it.",
            autocompletion=completion.refs,
        ),
    ] = "",
    depth: Annotated[int, typer.Option("--depth", help="Steps from REF, 1 to 5.")] = 2,
    relation: Annotated[
        list[str] | None, typer.Option("--relation", help="Only this relation; may be repeated.")
    ] = None,
    kind: Kinds = None,
    project: Annotated[
        str, typer.Option("--project", help="Only this project, or this archive.")
    ] = "",
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", help="Nodes at most, the most linked; a picture has 500."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over FILE.")] = False,
) -> None:
    """Write the graph, or what is around a record, to a file.

    json, graphml, gexf and dot are for programs such as networkx, Gephi and graphviz; svg and html
    are pictures. An HTML page can be searched and zoomed, and needs nothing else.
    """
    target = Path(expanded(file)).absolute() if file else None
    suffix = target.suffix.removeprefix(".").lower() if target else ""
    chosen = form or (suffix if suffix in _SUFFIXES else "")
    if target is not None and not chosen:
        raise InputError(
            f"cannot tell the format of {target.name}; end it in one of {', '.join(_SUFFIXES)},"
            " or add --format",
            field="FILE",
        )
    if chosen == "html" and target is None:
        raise InputError("an HTML page goes to a file: mem-search graph export graph.html")
    if target is not None and target.exists() and not replace:
        raise Conflict(f"{target} exists; choose another name, or add --replace", field="FILE")
    single = (("format", chosen), ("ref", around), ("project", project))
    pairs = [
        *((name, value) for name, value in single if value),
        ("depth", str(depth)),
        *(("relation", each) for each in relation or ()),
        *(("kinds", each) for each in kind or ()),
        *([("limit", str(limit))] if limit is not None else []),
    ]
    with open_client().download("/api/graph/export", pairs) as (_, pieces):
        if target is None:
            write_lines_of_json(pieces)  # what acts on a terminal is in none of these formats
            return
        with part_of(target) as (_, sink):
            sink.writelines(pieces)
    say(f"{target}: {target.stat().st_size / 1000:.0f} kB\n")
