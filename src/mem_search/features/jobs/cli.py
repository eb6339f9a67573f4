"""``mem-search jobs``: what runs, what has ended and how."""

from __future__ import annotations

from typing import Annotated

import typer

from mem_search.cli import completion
from mem_search.cli.client import open_client
from mem_search.cli.jobs import embedding_line, job_line
from mem_search.cli.options import Json, show


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(jobs)


def jobs(
    job: Annotated[
        str, typer.Argument(help="The id of one job.", autocompletion=completion.jobs)
    ] = "",
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop it at its next step.")] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Run it again when it failed or was set aside.")
    ] = False,
    without_item: Annotated[
        bool, typer.Option("--without-item", help="Retry, and leave out what it was set aside for.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List long-running work: what runs, what has ended and how."""
    retry = retry or without_item
    if (cancel or retry) and not job:
        raise typer.BadParameter(
            f"name the job: mem-search jobs ID {'--cancel' if cancel else '--retry'}"
        )
    if cancel and retry:
        raise typer.BadParameter("a job is cancelled or retried, not both")
    client = open_client()
    if cancel:
        answer = client.json("POST", f"/api/jobs/{job}/cancel", body={})
    elif retry:
        answer = client.json("POST", f"/api/jobs/{job}/retry", body={"without_item": without_item})
    elif job:
        answer = client.json("GET", f"/api/jobs/{job}")
    else:
        answer = client.json("GET", "/api/jobs")
    lines = [*map(job_line, [answer] if job else answer["jobs"])]
    if embedding := answer.get("embedding"):
        lines.insert(0, embedding_line(embedding))
    show(answer, lines, as_json=as_json, empty="no jobs in the last week")
