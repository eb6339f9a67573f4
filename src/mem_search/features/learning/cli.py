"""``mem-search learn``: a ranking re-weighted by what you open, where that wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from mem_search.cli.client import open_client
from mem_search.cli.options import Json, clock_time, show
from mem_search.text.counted import counted


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(learn)


def learn(
    status: Annotated[
        bool, typer.Option("--show", help="Show what was learned; change nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what was learned last.")] = False,
    as_json: Json = False,
) -> None:
    """Learn a ranking from what you opened after searches; keep it only where it wins."""
    method = "GET" if status else "DELETE" if undo else "POST"
    learned = open_client().json(method, "/api/learned")
    show(learned, _lines(learned), as_json=as_json)


def _lines(learned: Mapping[str, Any]) -> Iterator[str]:
    noted = "" if learned["on"] else "; none are noted now: clicks or search_log is off"
    yield f"{counted(learned['clicks'], 'opening')} after searches{noted}"
    if last := learned["last"]:
        state = "kept" if last["kept"] else "not kept"
        yield f"{state}: {last['reason']} ({last['training']} to learn from, {last['held_out']} held out)"  # noqa: E501
        if last["after"] is not None:
            yield (
                f"    mean reciprocal rank {last['before']:.3f} → {last['after']:.3f};"
                f" {last['better']} better, {last['worse']} worse"
            )
    if learned["weights"]:
        said = ", ".join(f"{name} {weight:+.2f}" for name, weight in learned["weights"].items())
        yield f"in force since {clock_time(learned['learned_at'])}: {said}"
    else:
        yield "in force: the ranking as it is measured"
