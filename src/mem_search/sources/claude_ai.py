"""The source `claude-ai`: Claude.ai's data export: conversations, artifacts, projects.

Files that were given to Claude are in the export as text; each becomes a record of its own, to
which the conversation links. So does each artifact, as its last version, and each document of a
project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mem_search.model import Draft, LedgerEntry, Link
from mem_search.patterns import pattern
from mem_search.sources.conversations import (
    ConversationsExport,
    Said,
    conversation,
    fields,
    items,
    moment,
    text,
)
from mem_search.sources.whole_files import ZIP, Export, WholeFile, head, opened, whole
from mem_search.zip_files import Member

NAME: Final = "claude-ai"

_WRITING: Final = ("artifacts", "create_file", "str_replace", "str_replace_based_edit_tool")
"""Tools whose input is what Claude wrote: a file, or a change to one."""


_PROJECTS: Final = pattern(r"(?:.*/)?projects(?:-\d+)?\.json|(?:.*/)?projects/[^/]+\.json")
_MEMORIES: Final = pattern(r"(?:.*/)?memories(?:-\d+)?\.json")
_MARK_WITHIN: Final = 65_536


class ClaudeAi(ConversationsExport):
    """A conversation is one record; its source id is its uuid."""

    name = NAME
    mark = "chat_messages"

    def recognises(self, path: Path) -> bool:
        if _PROJECTS.fullmatch(path.as_posix()):
            start = head(path, _MARK_WITHIN)
            return b'"prompt_template"' in start or (b'"docs"' in start and b'"uuid"' in start)
        return super().recognises(path)

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        if head(file.path, len(ZIP)) != ZIP and self._is_of_projects(file):
            with opened(file.path) as export:
                yield from _projects(export, None, file.name)
            return
        yield from super().drafts(file)
        with opened(file.path) as export:
            for member in export.members():
                if _PROJECTS.fullmatch(member.name):
                    yield from _projects(export, member, f"{file.name}:{member.name}")
                elif _MEMORIES.fullmatch(member.name):
                    yield from _memories(export, member)

    def _is_of_projects(self, file: WholeFile) -> bool:
        start = head(file.path, _MARK_WITHIN)
        return b'"chat_messages"' not in start and b'"uuid"' in start and b'"docs"' in start

    def conversation(self, exported: Mapping[str, Any]) -> Iterator[Draft]:
        return _drafts(exported)


def _projects(export: Export, member: Member | None, item: str) -> Iterator[Draft | LedgerEntry]:
    """The documents of the projects, of which a newer export has a file for each."""
    with export.text(member) as content:
        projects = whole(content)
    for project in map(fields, projects if isinstance(projects, list) else [projects]):
        named = text(project.get("name")) or "project"
        identity = text(project.get("uuid")) or named
        parts = [(f"{identity}#{key}", named, text(project.get(key)))
                 for key in ("description", "prompt_template")]  # fmt: skip
        for document in map(fields, items(project.get("docs"))):
            title = text(document.get("filename")) or "document"
            parts.append((text(document.get("uuid")) or f"{identity}#{title}", title,
                          text(document.get("content"))))  # fmt: skip
        about = {text(each.get("uuid")): each for each in map(fields, items(project.get("docs")))}
        for source_id, title, words in parts:
            if words.strip():
                at = fields(about.get(source_id)).get("created_at") or project.get("created_at")
                yield Draft(
                    kind="file",
                    source=NAME,
                    source_id=source_id,
                    text=words,
                    title=title,
                    created_at=moment(at),
                    session=identity,
                    metadata={"path": f"{named}/{title}", "folder": named},
                )
            elif source_id in about:
                why = f"the document {title} of the project {named} has no text in the export"
                yield LedgerEntry(f"{item}:{source_id}", "left", why)


def _memories(export: Export, member: Member) -> Iterator[Draft | LedgerEntry]:
    """What Claude keeps of a person, and of each project."""
    with export.text(member) as content:
        memories = whole(content)
    for number, memory in enumerate(map(fields, items(memories)), 1):
        said = {"": text(memory.get("conversations_memory"))}
        said |= {key: text(value) for key, value in fields(memory.get("project_memories")).items()}
        for key, words in said.items():
            if words.strip():
                identity = f"memory-{text(memory.get('account_uuid')) or number}{key and f'-{key}'}"
                yield Draft("note", NAME, identity, words, title="What Claude remembers")


def _drafts(exported: Mapping[str, Any]) -> Iterator[Draft]:
    identity = text(exported.get("uuid"))
    messages = [fields(message) for message in items(exported.get("chat_messages"))]
    draft = conversation(
        NAME,
        identity,
        (
            Said(
                "You" if message.get("sender") == "human" else "Claude",
                _words(message),
                moment(message.get("created_at")),
            )
            for message in messages
        ),
        title=text(exported.get("name")),
        url=f"https://claude.ai/chat/{identity}",
        created_at=moment(exported.get("created_at")),
    )
    if draft is None or not identity:
        return
    files = [
        Draft(
            kind="file",
            source=NAME,
            source_id=f"{identity}#file-{number}",
            text=text(file.get("extracted_content")),
            title=text(file.get("file_name")) or f"file {number}",
            created_at=at,
            session=identity,
            metadata={"path": text(file.get("file_name")), "attached_to": identity},
        )
        for number, (file, at) in enumerate(_files(messages), 1)
    ]
    made = list(_artifacts(messages, identity))
    links = tuple(Link(file.source_id, "attachment") for file in (*files, *made))
    yield replace(draft, links=links)
    yield from files
    yield from made


def _artifacts(messages: list[Mapping[str, Any]], identity: str) -> Iterator[Draft]:
    """What Claude wrote beside the conversation, each as its last version."""
    artifacts: dict[str, tuple[dict[str, str], int | None]] = {}
    for message in messages:
        at = moment(message.get("created_at"))
        for block in map(fields, items(message.get("content"))):
            if block.get("type") != "tool_use" or block.get("name") not in _WRITING:
                continue
            given = fields(block.get("input"))
            key = text(given.get("id")) or text(given.get("path")) or text(given.get("title"))
            key = key or text(block.get("id")) or str(len(artifacts) + 1)
            now, before = artifacts.get(key, ({"text": ""}, at))
            old, new = text(given.get("old_str")), text(given.get("new_str"))
            words = text(given.get("content")) or text(given.get("file_text"))
            if not words and old:
                words = now["text"].replace(old, new, 1) if old in now["text"] else (
                    f"{now['text']}\n{new}")  # fmt: skip
            named = text(given.get("title")) or text(given.get("path")).rpartition("/")[2]
            kept = {"text": words or now["text"], "title": named or now.get("title", ""),
                    "type": text(given.get("language")) or text(given.get("type"))
                    or now.get("type", "")}  # fmt: skip
            artifacts[key] = kept, before
    for key, (artifact, at) in artifacts.items():
        if artifact["text"].strip():
            title = artifact["title"] or key
            metadata = {"path": title, "attached_to": identity, "artifact": artifact["type"]}
            yield Draft(
                kind="file",
                source=NAME,
                source_id=f"{identity}#artifact-{key}",
                text=artifact["text"],
                title=title,
                created_at=at,
                session=identity,
                metadata={name: value for name, value in metadata.items() if value},
            )


def _words(message: Mapping[str, Any]) -> str:
    """Its text blocks: ``text`` beside them also has marks for the tools that were used."""
    blocks = [fields(block) for block in items(message.get("content"))]
    words = [text(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n\n".join(filter(None, words)) or text(message.get("text"))


def _files(messages: list[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], int | None]]:
    for message in messages:
        for file in map(fields, items(message.get("attachments"))):
            if text(file.get("extracted_content")).strip():
                yield file, moment(message.get("created_at"))
