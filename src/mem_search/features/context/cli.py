"""``mem-search context``: what an agent gets from memory without asking."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import typer

from mem_search.cli import completion
from mem_search.cli.client import open_client
from mem_search.cli.options import Json, clock_time, show
from mem_search.cli.output import note, say
from mem_search.git.changes import changed_files
from mem_search.text.counted import counted

_CHANGES_SECONDS: Final = 2.0
"""For the files that were changed here; what was found by then is shown."""


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(context)


def context(
    project: Annotated[
        str,
        typer.Option(
            "--project",
            help="The project; that of this directory by default.",
            autocompletion=completion.facet("project"),
        ),
    ] = "",
    branch: Annotated[str, typer.Option("--branch", help="The branch; this one by default.")] = "",
    files: Annotated[
        list[str] | None,
        typer.Option(
            "--files",
            help="A file at hand; by default what was changed since the last commit.",
        ),
    ] = None,
    prompt: Annotated[str, typer.Option("--prompt", help="What the agent was asked.")] = "",
    budget: Annotated[
        int | None,
        typer.Option("--budget", metavar="N", help="Most tokens, 50 to 100000; 1500 by default."),
    ] = None,
    costs: Annotated[
        bool, typer.Option("--costs", help="Show what hooks cost, for each session.")
    ] = False,
    why: Annotated[bool, typer.Option("--why", help="Say why each record is in it.")] = False,
    as_json: Json = False,
) -> None:
    """Show what an agent gets from memory at the start of a session, exactly as it gets it."""
    if costs:
        measured = open_client().json("GET", "/api/context/costs")
        show(measured, cost_lines(measured), as_json=as_json, empty=_NO_HOOKS)
        return
    from mem_search.projects import identify  # its nouns are loaded by no help

    here = identify(os.getcwd())  # noqa: PTH109 - as the hook names it
    pairs = [("project", project or here.name)]
    if not project and here.place is not None:
        at = here.place
        pairs += [("cwd", at.directory), ("checkout", at.checkout), ("root", at.root)]
        pairs += [("marks", mark) for mark in at.marks if "," not in mark]  # it separates them
    if branch or not project:
        pairs.append(("branch", branch or here.branch))
    if files is None and not project:
        files = list(changed_files(os.getcwd(), _CHANGES_SECONDS))  # noqa: PTH109
    pairs += [("files", each) for each in files or ()]
    given = (("prompt", prompt), ("max_tokens", "" if budget is None else str(budget)))
    pairs = [(name, value) for name, value in (*pairs, *given) if value]
    answer = open_client().json("GET", "/api/context/preview", pairs)
    if as_json:
        show(answer, (), as_json=True)
        return
    if not answer["context"]:
        note("mem-search: nothing that fits is known about this project; see: mem-search stats")
        raise typer.Exit(1)
    say(f"{answer['context']}\n")
    if why:
        for each in answer["records"]:
            say(f"{each['score']:.2f}  {each['ref']}  {', '.join(each['reasons'])}\n")
    shown, left = len(answer["records"]), answer["left_out"]
    note(f"mem-search: {answer['tokens_used']} of {answer['max_tokens']} tokens, "
         f"{counted(shown, 'record')} shown, {left} left out")  # fmt: skip


_NO_HOOKS = "no hook has run; mem-search install AGENT writes them into an agent's settings"


def cost_lines(costs: Mapping[str, Any]) -> Iterator[str]:
    """The costs as people read them: all hooks, then a line for each session."""
    if costs["dropped"]:
        yield f"{costs['dropped']} events could not be used; the last one: {costs['last_dropped']}"
    if not costs["hooks"]:
        return
    yield (
        f"{costs['hooks']} hooks gave {costs['tokens']} tokens; 95 of 100 took at most"
        f" {costs['p95_ms']:.0f} ms and {costs['p95_cpu_ms']:.0f} ms of processor time"
    )
    if costs["searches_a_turn"] is not None:
        yield (
            f"{costs['turns']} prompts, {costs['searches']} searches by agents:"
            f" {costs['searches_a_turn']:.2f} a prompt"
        )
    if costs["unanswered"]:
        yield f"{costs['unanswered']} hooks met no worker in time; their events were read later"
    for each in costs["sessions"]:
        yield (
            f"{clock_time(each['last'])}  {each['agent']} {each['session']}:"
            f" {each['hooks']} hooks, {each['tokens']} tokens, {each['turns']} prompts,"
            f" {each['searches']} searches, {each['ms']:.0f} ms each ({each['cpu_ms']:.0f} ms of"
            f" processor time), the slowest {each['slowest_ms']:.0f} ms"
        )
