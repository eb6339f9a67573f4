"""The places records come from, one member each, and how to find one by its name.

To add a source: a module or package here, a line in ``SOURCES``. Packages of third parties add
theirs through the entry-point group ``mem_search.sources``, whose entries name an object that
implements ``contracts.Source``; a built-in source cannot be replaced.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from mem_search.contracts import FileFormat, Source
from mem_search.errors import InputError, MemSearchError
from mem_search.sources.claude_code import ClaudeCode
from mem_search.sources.claude_mem import ClaudeMem
from mem_search.sources.git import Git
from mem_search.sources.jsonl import Jsonl

ENTRY_POINTS = "mem_search.sources"

SOURCES: tuple[Source, ...] = (Jsonl(), ClaudeMem(), ClaudeCode(), Git())
"""Of several that read the same kind of file, the first is the default."""


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


def for_file(name: str, source: str = "", content_type: str = "") -> tuple[Source, FileFormat]:
    """The source that reads a single file, and the format of its files.

    It is the one called ``source``, else the first that knows the ``content_type``, else the first
    that knows the end of the file's ``name``. Raises InputError listing the sources that read
    files when there is none.
    """
    known: dict[str, tuple[Source, FileFormat]] = {}
    for each in installed():
        # A third party's source may be older than this attribute.
        if (file_format := getattr(each, "file_format", None)) is not None:
            known[each.name] = (each, file_format)
    if source in known:
        return known[source]
    if source:
        is_source = source in {each.name for each in installed()}
        reason = f"{source} does not read single files" if is_source else f"{source!r} is no source"
        raise InputError(f"{reason}; those that do are {', '.join(known)}", field="source")
    for found in known.values():
        if content_type in found[1].content_types:
            return found
    for found in known.values():
        if name.lower().endswith(found[1].suffixes):
            return found
    raise InputError(
        f"neither name nor type of {name or 'the file'} tells which source reads it;"
        f" give one of {', '.join(known)}",
        field="source",
    )
