"""Secrets known by the rules of Kingfisher, which its maintainers keep up to date (ADR 0022).

Its matcher is linear in the text, releases the interpreter's lock and never uses the network. The
rules are compiled at the first call; Kingfisher keeps the compiled form in the user's cache. A
worker begins with that after its first searches, and what runs in its event loop awaits ``ready``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from functools import cache
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner


SHORTEST: Final = 16
"""Characters of words in a row: a text without so many is not looked at, and waits for no rules."""

_loading = Lock()


def load() -> Scanner:
    """The scanner. The first call compiles the rules, which others wait for: .4 s of a processor,
    and some seconds where Kingfisher has no compiled form yet.
    """
    # Kingfisher keeps the interpreter's lock while one thread waits for another that compiles.
    with _loading:
        return _loaded()


def are_loaded() -> bool:
    """Whether nobody has to wait for the rules any more."""
    return _loaded.cache_info().currsize > 0


async def ready() -> None:
    """Wait until the rules are compiled, in one thread for all that wait.

    It has no lower priority: on a busy machine imports would wait for it twice as long (ADR 0022).
    """
    if not are_loaded():
        await asyncio.shield(asyncio.wrap_future(_compiling()))


@cache
def _compiling() -> Future[None]:
    compiled: Future[None] = Future()

    def compile_rules() -> None:
        try:
            load()
        except Exception as error:  # noqa: BLE001  whoever waits raises it
            compiled.set_exception(error)
        else:
            compiled.set_result(None)

    # No thread of a pool: a worker that is stopped meanwhile need not wait for it.
    Thread(target=compile_rules, name="secret-rules", daemon=True).start()
    return compiled


@cache
def _loaded() -> Scanner:
    from kingfisher_sdk import Rules, Scanner  # compiles hundreds of rules: only when needed

    return Scanner(Rules())


def spans(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, name of the rule) of each secret, in order of their starts; may overlap."""
    data = text.encode("utf-8", "replace")  # half a character becomes one byte
    found = [finding for finding in load().scan(data) if finding.visible]
    at = character = 0
    for finding in sorted(found, key=lambda each: each.location["start_offset"]):
        start, end = finding.location["start_offset"], finding.location["end_offset"]
        # A rule may match the name of a value as well; only the value is the secret.
        within = data.find(finding.secret.encode(), start, end)
        if within >= 0:
            start, end = within, within + len(finding.secret.encode())
        if start < at:  # the secret of an earlier finding began later
            at = character = 0
        character += len(data[at:start].decode("utf-8", "ignore"))
        at = start
        length = len(data[start:end].decode("utf-8", "ignore"))
        yield character, character + length, finding.rule_id.replace("/", ".").split(".")[-1]
