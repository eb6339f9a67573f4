"""``mem-search research``: what was researched, done again, taken away."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from mem_search.cli.client import Client, local, open_client
from mem_search.cli.output import write
from mem_search.cli.status import Json, print_json
from mem_search.errors import InputError, NotFound

app = typer.Typer(help="Look at, replay and export research sessions.", no_args_is_help=True)

SESSIONS, OPERATIONS = "/api/v1/search/sessions", "/api/v1/search/operations"

Id = Annotated[str, typer.Argument(metavar="ID", help="Of a session or of one operation.")]
Session = Annotated[str, typer.Argument(metavar="SESSION", help="The id of a session.")]


@app.command("list")
def listed(
    session: Annotated[str, typer.Option("--session", help="Its operations instead.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 100.")] = 20,
    as_json: Json = False,
) -> None:
    """Research sessions, the last active first."""
    pairs = [("limit", str(limit)), *([("session_id", session)] if session else [])]
    answer = open_client().json("GET", OPERATIONS if session else SESSIONS, pairs)
    rows = answer["operations" if session else "sessions"]
    if as_json:
        print_json(answer)
    else:
        line = operation_line if session else session_line
        write("".join(f"{line(row)}\n" for row in rows))
    if not rows:
        raise typer.Exit(1)


@app.command()
def show(
    wanted: Id,
    as_json: Json = False,
) -> None:
    """The chains of a session, or one operation with what it found."""
    client = open_client()
    session = _session(client, wanted)
    answer = session or client.json("GET", f"{OPERATIONS}/{_quoted(wanted)}")
    if as_json:
        print_json(answer)
    else:
        lines = tree_lines(answer["tree"]) if session else operation_lines(answer)
        write("".join(f"{line}\n" for line in lines))


@app.command()
def replay(
    wanted: Id,
    as_json: Json = False,
) -> None:
    """Ask again as it was asked; exit 1 when something else comes out."""
    client = open_client()
    if _session(client, wanted):
        answer = client.json("POST", f"{SESSIONS}/{_quoted(wanted)}/replay")
        steps = answer["operations"]
    else:
        answer = client.json("POST", f"{OPERATIONS}/{_quoted(wanted)}/replay")
        steps = [answer]
    if as_json:
        print_json(answer)
    else:
        write("".join(f"{line}\n" for step in steps for line in replay_lines(step)))
        for left in answer.get("not_replayed", ()):
            write(f"{left}  not replayed: its question held a secret, which was not kept\n")
    if not answer["identical"]:
        raise typer.Exit(1)


@app.command()
def export(
    session: Session,
    format: Annotated[str, typer.Option("--format", metavar="markdown|json")] = "markdown",  # noqa: A002
    style: Annotated[str, typer.Option("--style", metavar="apa|mla|chicago")] = "apa",
) -> None:
    """Print a session with everything it found, cited."""
    path = f"{SESSIONS}/{_quoted(session)}/export"
    body = open_client().raw(path, local([("format", format), ("style", style)]))
    write(body.decode("utf-8", "replace").rstrip("\n") + "\n")


@app.command()
def forget(
    session: Session,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Forget what was asked in a session; records stay."""
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("nobody is there to ask; add --yes to forget without asking")
        typer.confirm(f"Forget session {session}?", abort=True, err=True)
    answer = open_client().json("DELETE", f"{SESSIONS}/{_quoted(session)}")
    write(f"forgot {answer['deleted']} operation(s) of {session}\n")


def session_line(session: Mapping[str, Any]) -> str:
    """``<id>  3 operation(s)  2026-11-22T10:00:00.000Z  first question``."""
    count = f"{session['operations']} operation(s)"
    parts = (session["session_id"], count, session["last_at"], _one(session["first_query"]))
    return "  ".join(parts)


def operation_line(operation: Mapping[str, Any]) -> str:
    """``<id>  refine  5 of 12  30 ms  question``."""
    found = f"{operation['result_count']} of {operation['total_count']}"
    took = f"{operation['execution_time_ms']:.0f} ms"
    parts = (operation["id"], operation["operation_type"], found, took, _one(operation["query"]))
    return "  ".join(parts)


def tree_lines(nodes: Iterable[Mapping[str, Any]], depth: int = 0) -> Iterator[str]:
    """Every operation, those that follow another one indented below it."""
    for node in nodes:
        yield f"{'  ' * depth}{operation_line(node)}"
        yield from tree_lines(node["children"], depth + 1)


def operation_lines(operation: Mapping[str, Any]) -> Iterator[str]:
    """One operation and the ids of what it found."""
    yield operation_line(operation)
    yield f"session {operation['session_id']}, {operation['created_at']}"
    for result in operation["results"]:
        yield f"{result['rank']:>4}  {result['id']}  {result['relevance_score']:.3f}"


def replay_lines(step: Mapping[str, Any]) -> Iterator[str]:
    """Whether it is the same, and what is not."""
    operation, drift = step["operation"], step["drift"]
    index = "same index" if step["index_unchanged"] else "the index has changed"
    same = "identical" if step["identical"] else "different"
    yield f"{operation['id']}  {same}, {index}  {_one(operation['query'])}"
    if drift is None:
        return
    for word in ("appeared", "gone", "changed", "moved"):
        for change in drift[word]:
            before, now = change["rank_before"] or "-", change["rank_now"] or "-"
            deleted = ", deleted" if change.get("deleted") else ""
            yield f"  {word:<8}  {change['id']}  {before} -> {now}{deleted}"
    if drift["rescored"]:
        yield f"  rescored  {len(drift['rescored'])} result(s)"
    if drift["total_before"] != drift["total_now"]:
        yield f"  total     {drift['total_before']} -> {drift['total_now']}"


def _session(client: Client, wanted: str) -> Any:
    """The session of that id, or None when it must be an operation's."""
    try:
        return client.json("GET", f"{SESSIONS}/{_quoted(wanted)}")
    except NotFound:
        return None


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _one(text: str) -> str:
    return " ".join(text.split())
