"""The sources of records: one file or package each, and one line each in ``BUILT_IN``.

A package of a third party adds a source with an entry point of the group ``mem_search.sources``,
which names an object or class that implements ``contracts.Source`` (docs/extending.md).
"""

from __future__ import annotations

import logging
import os
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat, Source
from mem_search.errors import InputError

log = logging.getLogger(__name__)

ENTRY_POINTS: Final = "mem_search.sources"

BUILT_IN: Final = (
    "mem_search.sources.jsonl:Jsonl",
    "mem_search.sources.claude_mem:ClaudeMem",
    "mem_search.sources.claude_code:ClaudeCode",
    "mem_search.sources.git:Git",
    "mem_search.sources.mail:MailFiles",
    "mem_search.sources.files:Files",
    "mem_search.sources.bookmarks:Bookmarks",
    "mem_search.sources.chatgpt:ChatGpt",
    "mem_search.sources.claude_ai:ClaudeAi",
    "mem_search.sources.slack:Slack",
    "mem_search.sources.contacts:Contacts",
    "mem_search.sources.calendar:Calendar",
    "mem_search.sources.evernote:Evernote",
    "mem_search.sources.keep:Keep",
    "mem_search.sources.joplin:Joplin",
    "mem_search.sources.notion:NotionPages",
    "mem_search.sources.whatsapp:WhatsApp",
    "mem_search.sources.telegram:Telegram",
    "mem_search.sources.messenger:Messenger",
    "mem_search.sources.facebook_posts:FacebookPosts",
    "mem_search.sources.google_chat:GoogleChat",
    "mem_search.sources.discord:Discord",
    "mem_search.sources.signal_chats:Signal",
    "mem_search.sources.clippings:Clippings",
    "mem_search.sources.browser_history:BrowserHistory",
    "mem_search.sources.library:Library",
    "mem_search.sources.codex:Codex",
    "mem_search.sources.gemini:Gemini",
    "mem_search.sources.cursor:Cursor",
    "mem_search.sources.opencode:OpenCode",
    "mem_search.sources.copilot:Copilot",
    "mem_search.sources.qwen:Qwen",
    "mem_search.sources.pi:Pi",
    "mem_search.sources.pi:OpenClaw",
    "mem_search.sources.aider:Aider",
    "mem_search.sources.cline:Cline",
    "mem_search.sources.cline:RooCode",
    "mem_search.sources.copilot_chat:CopilotChat",
    "mem_search.sources.continue_dev:Continue",
    "mem_search.sources.amp:Amp",
    "mem_search.sources.droid:Droid",
    "mem_search.sources.crush:Crush",
    "mem_search.sources.goose:Goose",
    "mem_search.sources.zed:Zed",
    "mem_search.sources.cursor_editor:CursorEditor",
    "mem_search.sources.kiro:Kiro",
    "mem_search.sources.kiro_ide:KiroIde",
    "mem_search.sources.antigravity:Antigravity",
    "mem_search.sources.agent_memory:AgentMemory",
    "mem_search.sources.files.archives:ResearchArchive",
    "mem_search.sources.files.archives:UrlArchive",
    "mem_search.sources.packed:Packed",
)
"""Where the class of each source is. When several read the same files, the first is the default."""

_MEMBERS: Final = ("name", "follows", "discover", "locate", "read")


@cache
def built_in() -> tuple[Source, ...]:
    """The sources of mem-search itself."""
    return tuple(_load(EntryPoint("", value, ENTRY_POINTS)) for value in BUILT_IN)


def installed() -> tuple[Source, ...]:
    """The built-in sources, then those of third parties that can be used."""
    return (*built_in(), *(each for each in third_party() if not isinstance(each, str)))


def broken() -> list[str]:
    """Which entry points are left out, why, and what mends them."""
    return [each for each in third_party() if isinstance(each, str)]


def by_name(name: str) -> Source:
    """The source called ``claude-mem``, ...; raises InputError listing the names."""
    for source in installed():
        if source.name == name:
            return source
    known = ", ".join(source.name for source in installed())
    raise InputError(f"{name!r} is not a source; choose one of {known}{_without()}", field="source")


def _without() -> str:
    """``; …`` for each entry point that is left out: what somebody misses may be its source."""
    return "".join(f"; {reason}" for reason in broken())


@cache
def third_party() -> tuple[Source | str, ...]:
    """The source of each entry point; of one that cannot be used, which is logged, why not."""
    entries = entry_points(group=ENTRY_POINTS)
    names = {source.name for source in built_in()} if entries else set()  # their modules are many
    outcomes: list[Source | str] = []
    for entry in entries:
        try:
            source = _load(entry)
            if missing := [member for member in _MEMBERS if not hasattr(source, member)]:
                raise ValueError(f"it has no {', '.join(missing)}; derive it from BaseSource")
            if source.name in names:
                raise ValueError(f"there is a source {source.name} already")
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything
            outcomes.append(
                f"{ENTRY_POINTS} entry point {entry.name!r} cannot be loaded"
                f" ({str(error) or type(error).__name__}); correct its package and install it"
                " again, or uninstall it"
            )
            log.error("%s", outcomes[-1])
        else:
            names.add(source.name)
            outcomes.append(source)
    return tuple(outcomes)


def _load(entry: EntryPoint) -> Source:
    """The source that an entry point names: an object, or the class of one."""
    loaded: Any = entry.load()
    source: Source = loaded() if isinstance(loaded, type) else loaded
    return source


def by_url(text: str) -> Source | None:
    """The source whose locations have URLs of this scheme; None for a path."""
    scheme, colon, _ = text.partition("://")
    # A third party's source may be older than this attribute.
    matching = (each for each in installed() if scheme.lower() in getattr(each, "schemes", ()))
    return next(matching, None) if colon else None


def for_path(path: Path) -> str:
    """The name of the source whose format the file has, or "" for none."""
    if not os.path.isfile(path):  # noqa: PTH113  Path.is_file raises where it may not look
        return ""
    return next((each.name for each in installed() if recognises(each, path)), "")


def names_at(path: Path) -> list[str]:
    """The names of the sources that read something at ``path``, ``files`` among them.

    A file has one source; a folder has one for each format that lies below it. Neither links nor
    pipes are opened.
    """
    if path.is_file():
        return [for_path(path) or "files"]
    from mem_search.sources.exclusions import (  # a slow library
        Exclusions,
        is_folder_of_maildir,
        is_regular,
        walk,
    )

    waiting = [each for each in installed() if each.name != "files"]
    source_names, excluded = ["files"], Exclusions(path)

    def is_read(folder: str, name: str, *, is_folder: bool) -> bool:
        place = Path(folder, name)
        try:
            return (is_folder or is_regular(place)) and not excluded.has(place, is_folder=is_folder)
        except OSError:  # it is gone, or an ignore file cannot be read: reading it says so
            return False

    for folder, folders, names in walk(path):
        folders[:] = [
            name
            for name in folders
            if (name[0] != "." or is_folder_of_maildir(Path(folder, name)))
            and is_read(folder, name, is_folder=True)
        ]
        for name in [name for name in names if waiting and is_read(folder, name, is_folder=False)]:
            for each in [each for each in waiting if recognises(each, Path(folder, name))]:
                source_names.append(each.name)
                waiting.remove(each)
    return source_names


def recognises(source: Source, path: Path) -> bool:
    """Whether ``path`` is in the source's format; False where that cannot be seen."""
    # A third party's source may be older than this method.
    asked = getattr(source, "recognises", None)
    try:
        return asked is not None and bool(asked(path))
    except (OSError, ValueError):  # it is gone, or it may not be read: its reading will say so
        return False


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
        reason = (
            f"{source} does not read single files" if is_source else f"{source!r} is not a source"
        )
        told = f"{reason}; those that do are {', '.join(known)}{'' if is_source else _without()}"
        raise InputError(told, field="source")
    for entry in known.values():
        if content_type in entry[1].content_types:
            return entry
    for entry in known.values():
        if name.lower().endswith(entry[1].suffixes):
            return entry
    raise InputError(
        f"neither name nor type of {name or 'the file'} tells which source reads it;"
        f" give one of {', '.join(known)}{_without()}",
        field="source",
    )
