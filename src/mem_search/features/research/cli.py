"""``mem-search research``: list, show, replay, export and forget research sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from mem_search.cli.client import Client, open_client
from mem_search.cli.commands import Group
from mem_search.cli.options import Json, Limit, Yes, clock_time, confirm, folded, show
from mem_search.cli.output import say, write
from mem_search.errors import NotFound
from mem_search.text.counted import counted

app = typer.Typer(
    cls=Group, help="List, replay and export research sessions.", no_args_is_help=True
)

SESSIONS, OPERATIONS = "/api/v1/search/sessions", "/api/v1/search/operations"

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a session or operation.")]
Session = Annotated[str, typer.Argument(metavar="SESSION", help="The id of a session.")]


@app.command("list")
def list_sessions(
    session: Annotated[str, typer.Option("--session", help="List its operations.")] = "",
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """List research sessions, the most recently active first."""
    pairs = [("limit", str(limit)), *([("session_id", session)] if session else [])]
    answer = open_client().json("GET", OPERATIONS if session else SESSIONS, pairs)
    rows = answer["operations" if session else "sessions"]
    line = operation_line if session else session_line
    show(answer, map(line, rows), as_json=as_json, empty="no research yet", found=rows)


@app.command("show")
def show_session(wanted: Id, as_json: Json = False) -> None:
    """Show the operations of a session as a tree, or one operation with its results."""
    client = open_client()
    session = _session(client, wanted)
    answer = session or client.json("GET", f"{OPERATIONS}/{_quoted(wanted)}")
    lines = tree_lines(answer["tree"]) if session else operation_lines(answer)
    show(answer, lines, as_json=as_json)


@app.command()
def replay(wanted: Id, as_json: Json = False) -> None:
    """Run a session or an operation again; exit 1 when the results differ."""
    client = open_client()
    if _session(client, wanted):
        answer = client.json("POST", f"{SESSIONS}/{_quoted(wanted)}/replay")
        steps = answer["operations"]
    else:
        answer = client.json("POST", f"{OPERATIONS}/{_quoted(wanted)}/replay")
        steps = [answer]
    lines = [line for step in steps for line in replay_lines(step)]
    reason = "not replayed: its query held a secret, which was not stored"
    lines += [f"{skipped}  {reason}" for skipped in answer.get("not_replayed", ())]
    show(answer, lines, as_json=as_json, found=answer["identical"])


@app.command()
def export(
    session: Session,
    format: Annotated[str, typer.Option("--format", metavar="markdown|json")] = "markdown",  # noqa: A002
    style: Annotated[str, typer.Option("--style", metavar="apa|mla|chicago")] = "apa",
) -> None:
    """Print a session with all results and their citations."""
    path = f"{SESSIONS}/{_quoted(session)}/export"
    body = open_client().raw(path, [("format", format), ("style", style)])
    write(body.decode("utf-8", "replace").rstrip("\n") + "\n")


@app.command()
def forget(
    session: Session,
    yes: Yes = False,
) -> None:
    """Delete what was asked in a session. The records that it found are kept."""
    confirm(f"Forget session {session}?", yes=yes)
    answer = open_client().json("DELETE", f"{SESSIONS}/{_quoted(session)}")
    say(f"forgot {counted(answer['deleted'], 'operation')} of {session}\n")


def session_line(session: Mapping[str, Any]) -> str:
    """``<id>  3 operations  2026-11-22 10:00  first question``."""
    count = f"{counted(session['operations'], 'operation')}"
    parts = (
        session["session_id"],
        count,
        clock_time(session["last_at"]),
        folded(session["first_query"]),
    )
    return "  ".join(parts)


def operation_line(operation: Mapping[str, Any]) -> str:
    """``<id>  refine  5 of 12  30 ms  question``."""
    shown = f"{operation['result_count']} of {operation['total_count']}"
    took = f"{operation['execution_time_ms']:.0f} ms"
    parts = (operation["id"], operation["operation_type"], shown, took, folded(operation["query"]))
    return "  ".join(parts)


def tree_lines(nodes: Iterable[Mapping[str, Any]], depth: int = 0) -> Iterator[str]:
    """Every operation; follow-ups are indented below the one that they follow."""
    for node in nodes:
        yield f"{'  ' * depth}{operation_line(node)}"
        yield from tree_lines(node["children"], depth + 1)


def operation_lines(operation: Mapping[str, Any]) -> Iterator[str]:
    """One operation and the ids of its results."""
    yield operation_line(operation)
    yield f"session {operation['session_id']}, {clock_time(operation['created_at'])}"
    for result in operation["results"]:
        yield f"{result['rank']:>4}  {result['id']}  {result['relevance_score']:.3f}"


def replay_lines(step: Mapping[str, Any]) -> Iterator[str]:
    """Whether the results are identical, and how they differ."""
    operation, drift = step["operation"], step["drift"]
    index = "same index" if step["index_unchanged"] else "the index has changed"
    same = "identical" if step["identical"] else "different"
    yield f"{operation['id']}  {same}, {index}  {folded(operation['query'])}"
    if drift is None:
        return
    for word in ("appeared", "gone", "changed", "moved"):
        for change in drift[word]:
            before, now = change["rank_before"] or "-", change["rank_now"] or "-"
            deleted = ", deleted" if change.get("deleted") else ""
            yield f"  {word:<8}  {change['id']}  {before} -> {now}{deleted}"
    if drift["rescored"]:
        yield f"  rescored  {counted(len(drift['rescored']), 'result')}"
    if drift["total_before"] != drift["total_now"]:
        yield f"  total     {drift['total_before']} -> {drift['total_now']}"


def _session(client: Client, wanted: str) -> Any:
    """The session with that id; None when there is none, so that it is tried as an operation."""
    try:
        return client.json("GET", f"{SESSIONS}/{_quoted(wanted)}")
    except NotFound:
        return None


def _quoted(text: str) -> str:
    return quote(text, safe="")
