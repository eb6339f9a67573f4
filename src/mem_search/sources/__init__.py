"""The places records come from, one member each, and how to find one by its name.

To add a source: a module or package here, a line in ``SOURCES``. Packages of third parties add
theirs through the entry-point group ``mem_search.sources``, whose entries name an object that
implements ``contracts.Source``; a built-in source cannot be replaced.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from mem_search.contracts import Source
from mem_search.errors import InputError, MemSearchError
from mem_search.sources.claude_code import ClaudeCode
from mem_search.sources.claude_mem import ClaudeMem
from mem_search.sources.git import Git
from mem_search.sources.jsonl import Jsonl

ENTRY_POINTS = "mem_search.sources"

SOURCES: tuple[Source, ...] = (ClaudeMem(), ClaudeCode(), Git(), Jsonl())


def by_name(name: str) -> Source:
    """The source called ``claude-mem``, ...; raises InputError listing the names."""
    for source in installed():
        if source.name == name:
            return source
    known = ", ".join(source.name for source in installed())
    raise InputError(f"{name!r} is no source; known are {known}", field="source")


@cache
def installed() -> tuple[Source, ...]:
    """The built-in sources, then those of third parties; raises MemSearchError naming a bad one."""
    names = {source.name for source in SOURCES}
    others = []
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            source: Source = entry.load()
        except Exception as error:  # foreign code may raise anything when imported
            raise MemSearchError(
                f"{ENTRY_POINTS} entry point {entry.name!r} cannot be loaded ({error}); "
                "repair or uninstall its package"
            ) from error
        others.append(source)
    return (*SOURCES, *(source for source in others if source.name not in names))
