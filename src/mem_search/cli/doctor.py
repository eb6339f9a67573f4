"""``mem-search doctor``: what is missing, and the command that mends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from mem_search import __version__
from mem_search.cli import checks, live_checks
from mem_search.cli.checks import Finding
from mem_search.cli.output import wants_colour, write
from mem_search.cli.standing import print_json
from mem_search.daemon.start import running, silent
from mem_search.settings import Settings

_SIGNS = {"ok": ("ok", "32"), "advice": ("hint", "33"), "missing": ("FAIL", "31")}


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(doctor)


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Look at everything that mem-search needs; exit 0 when all is well, 1 when not."""
    findings = list(examine(Settings.read()))
    if as_json:
        print_json({"version": __version__, "findings": [asdict(each) for each in findings]})
    else:
        colour = wants_colour(sys.stdout)
        write("".join(f"{line}\n" for each in findings for line in lines(each, colour=colour)))
    if any(each.state == "missing" for each in findings):
        raise typer.Exit(1)


def examine(settings: Settings) -> Iterator[Finding]:
    """Every check, in the order in which one would mend things."""
    yield checks.python()
    yield checks.home(settings)
    yield checks.disk(settings)
    yield checks.database(settings)
    yield checks.model(settings)
    yield checks.chroma(settings)
    if (beside := checks.claude_mem(settings, os.environ, os.getuid())) is not None:
        yield beside
    state = running(settings)
    if state is None and (detail := silent(settings)):
        yield Finding("worker", "missing", detail, "mem-search worker logs")
    elif state is None:
        yield checks.port(settings)
        yield Finding(
            "worker", "advice", "not running; the next command starts it", "mem-search worker start"
        )
    else:
        yield from live_checks.worker(settings, state)


def lines(finding: Finding, *, colour: bool) -> Iterator[str]:
    """A line for the finding and one for the way out of it."""
    sign, code = _SIGNS[finding.state]
    shown = f"\x1b[{code}m{sign:<4}\x1b[0m" if colour else f"{sign:<4}"
    yield f"{shown}  {finding.name}: {finding.detail}"
    if finding.fix:
        yield f"      run: {finding.fix}"
