"""The source `agent-memory`: instructions, memories, plans, tasks and specs that agents keep.

A location is a folder of a project, or one of an agent in the person's home. Agents load these
files by themselves, and a repository brings them along, so they are searched and never given
unasked. Each version of a file that is seen is a record and supersedes the one before.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Batch, Draft, LedgerEntry, Link, Location
from mem_search.patterns import pattern
from mem_search.platform import expanded, spelled
from mem_search.projects import Project, identify
from mem_search.regular_file import FileTooLarge, NotARegularFile, open_regular_file
from mem_search.sources.base import BaseSource, BatchBuilder
from mem_search.text.file_names import as_text, is_text

NAME: Final = "agent-memory"

MAX_BYTES: Final = 256 * 1024
"""Of one file. Agents load all of it, so what people write has a few thousand words."""

MAX_FILES: Final = 1_000
"""In one location; an agent's home has one to-do list for each of its sessions."""

_MAX_HEAD: Final = 256 * 1024
"""Bytes of a transcript in which the directory of its session is looked for."""

Holds = Literal["instructions", "memory", "plan", "tasks", "spec"]


@dataclass(frozen=True, slots=True)
class _Kept:
    """Files that ``glob`` finds in a location, whose agent is ``agent``; empty for several."""

    glob: str
    agent: str
    holds: Holds


PROJECT: Final = (
    *(_Kept(f"{each}CLAUDE.md", "claude-code", "instructions") for each in ("", ".claude/")),
    _Kept("CLAUDE.local.md", "claude-code", "instructions"),
    _Kept(".claude/rules/*.md", "claude-code", "instructions"),
    _Kept("AGENTS.md", "", "instructions"),
    _Kept("AGENTS.override.md", "codex", "instructions"),
    _Kept("GEMINI.md", "gemini", "instructions"),
    _Kept("QWEN.md", "qwen", "instructions"),
    _Kept(".cursorrules", "cursor", "instructions"),
    *(_Kept(f".cursor/rules/{each}.md*", "cursor", "instructions") for each in ("*", "*/*")),
    _Kept(".github/copilot-instructions.md", "copilot", "instructions"),
    _Kept(".github/instructions/*.instructions.md", "copilot", "instructions"),
    _Kept(".windsurfrules", "windsurf", "instructions"),
    _Kept(".clinerules", "cline", "instructions"),
    _Kept(".clinerules/*.md", "cline", "instructions"),
    _Kept("memory-bank/*.md", "cline", "memory"),
    _Kept(".clinerules/memory-bank/*.md", "cline", "memory"),
    _Kept(".roorules", "roo", "instructions"),
    _Kept(".roo/rules*/*.md", "roo", "instructions"),
    _Kept(".kiro/steering/*.md", "kiro", "instructions"),
    _Kept(".kiro/specs/*/*.md", "kiro", "spec"),
)  # fmt: skip
"""In the folder of a project."""

HOMES: Final[Mapping[str, tuple[tuple[str, ...], str, tuple[_Kept, ...]]]] = {
    "claude-code": (
        ("CLAUDE_CONFIG_DIR",),
        ".claude",
        (
            _Kept("CLAUDE.md", "claude-code", "instructions"),
            _Kept("projects/*/memory/*.md", "claude-code", "memory"),
            _Kept("projects/*/memory/*/*.md", "claude-code", "memory"),
            _Kept("plans/*.md", "claude-code", "plan"),
            _Kept("todos/*.json", "claude-code", "tasks"),
            *(_Kept(f"tasks/*/*.{each}", "claude-code", "tasks") for each in ("json", "md")),
        ),
    ),
    "codex": (
        ("CODEX_HOME",),
        ".codex",
        (
            _Kept("AGENTS.md", "codex", "instructions"),
            *(_Kept(f"memories/{each}.md", "codex", "memory") for each in ("*", "*/*")),
        ),
    ),
    "gemini": ((), ".gemini", (_Kept("GEMINI.md", "gemini", "instructions"),)),
}  # fmt: skip
"""Agent → the variables and the usual name of its folder in the home, and what is there."""

_REFUSED: Final = (NotARegularFile, FileTooLarge)
_CWD: Final = pattern(r'"cwd"\s*:\s*("(?:[^"\\]|\\.){1,4096}")')
_HEADING: Final = pattern(r"#{1,6}[ \t]+(\S[^\n]{0,200})", re.MULTILINE)
_SESSION: Final = pattern(r"[0-9a-f]{8}-[0-9a-f-]{27}")


class AgentMemory(BaseSource):
    """The cursor has for each file its stamp, the hash of its text, and the id of its record."""

    name = NAME
    follows = True
    looks_in = (
        ", ".join(f"~/{usual}" for _, usual, _ in HOMES.values())
        + " and the folders of the projects of the store"
    )

    def discover(self, machine: Machine) -> Iterable[Location]:
        for agent, (variables, usual, kept) in HOMES.items():
            given = next(filter(None, map(machine.environ.get, variables)), "")
            root = Path(expanded(given)) if given else machine.home / usual
            if any(_kept_files(root, kept)):
                yield Location(NAME, str(root), f"memory of {agent}", {"agent": agent})
        roots = dict.fromkeys((identify(machine.cwd).root, *machine.projects))
        for root in map(Path, filter(None, roots)):
            if root != machine.home and any(_kept_files(root, PROJECT)):
                yield Location(NAME, str(root), root.name)

    def again(self, cursor: Mapping[str, Any]) -> Mapping[str, Any]:
        """The versions so far stay known: they are nowhere but in the store."""
        known = {item: ["", *rest] for item, (_, *rest) in cursor.get("files", {}).items()}
        return {"files": known} if known else {}

    def to_watch(self, location: Location) -> Iterable[Path]:
        root = Path(location.path)
        if not root.is_dir():
            return []
        return list(
            dict.fromkeys([root, *(path.parent for path, _ in _kept_files(root, _kept(location)))])
        )

    def files_of(self, location: Location) -> list[Path]:
        """The files that are read of ``location``, which has many others."""
        return [path for path, _ in _kept_files(Path(location.path), _kept(location))]

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        root = Path(expanded(location.path))
        if not root.is_dir():
            raise SourceError(f"{root} is not the folder of a project, or it is gone", field="path")
        reading = _Reading(location, root, dict(cursor.get("files", {})))
        yield from reading.batches()


class _Reading:
    """One reading of a location."""

    def __init__(self, location: Location, root: Path, known: dict[str, list[str]]) -> None:
        self._location, self._root, self._known = location, root, known
        self._inside = spelled(root)
        self._is_home = "agent" in location.options
        self._project = Project("", "") if self._is_home else identify(root)
        self._batch = BatchBuilder()

    def batches(self) -> Iterator[Batch]:
        all_files = list(_kept_files(self._root, _kept(self._location)))
        files, batch = all_files[:MAX_FILES], self._batch
        batch.total = len(files)
        if len(all_files) > MAX_FILES and "" not in self._known:
            batch.leave(".", f"it has more than {MAX_FILES} such files; the first are read")
            self._known[""] = ["", "", ""]
        for done, (path, kept) in enumerate(files, 1):
            if not is_text(str(path)):
                continue
            self._file(path, kept)
            if batch.is_full:
                yield batch.build({"files": dict(self._known)}, done)
        if batch:
            yield batch.build({"files": dict(self._known)}, len(files))

    def _file(self, path: Path, kept: _Kept) -> None:
        item = path.relative_to(self._root).as_posix()
        was = self._known.get(item, ["", "", ""])
        try:
            now = path.lstat()
            stamp = f"{now.st_mtime_ns}-{now.st_size}"
            if stamp == was[0]:
                return
            with open_regular_file(
                path, max_bytes=MAX_BYTES, follow=False, inside=self._inside
            ) as file:
                text = file.read().decode("utf-8-sig", "replace").strip()
        except OSError as error:
            why = (
                f"it {error.strerror}"
                if isinstance(error, _REFUSED)
                else f"it cannot be read: {error}"
            )
            if was[0] != why:
                self._batch.leave(as_text(item), why)
                self._known[item] = [why, *was[1:]]
            return
        if path.suffix == ".json":
            text = _tasks(text)
        digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        if digest == was[1] or not text:
            self._known[item] = [stamp, *was[1:]]
            if not text and was[0] != stamp:
                self._batch.leave(item, "there is nothing in it")
            return
        draft = self._draft(path, item, kept, text, now.st_mtime_ns // 1_000_000, was[2])
        self._known[item] = [stamp, digest, draft.source_id]
        self._batch.take(draft, item)
        self._batch.note(LedgerEntry(item, "taken", records=1))

    def _draft(self, path: Path, item: str, kept: _Kept, text: str, at: int, before: str) -> Draft:
        project, session = self._project, ""
        if item.startswith("projects/"):
            project = _project_of_transcripts(
                self._root / Path(item).parts[0] / Path(item).parts[1]
            )
        elif kept.holds == "tasks" and (named := _SESSION.search(item)):
            session = named[0]
        heading = _HEADING.search(text)
        said = {
            "type": kept.holds,
            "platform": kept.agent,
            "scope": "project" if project.name else "user",
            "path": str(path),
            "session_id": session,
        }
        return Draft(
            kind="memory",
            source=NAME,
            source_id=f"{path}@{at}",
            text=text,
            title=f"{item}: {heading[1].strip()}" if heading else item,
            created_at=at,
            updated_at=at,
            project=project.name,
            metadata={name: value for name, value in said.items() if value},
            links=(Link(before, "supersedes"),) if before and before != f"{path}@{at}" else (),
            place=project.place,
        )


def _kept(location: Location) -> tuple[_Kept, ...]:
    agent = location.options.get("agent", "")
    return HOMES[agent][2] if agent in HOMES else PROJECT


def _kept_files(root: Path, kept: Iterable[_Kept]) -> Iterator[tuple[Path, _Kept]]:
    """The files below ``root`` that are kept, each once; whatever is no file is refused later."""
    seen: set[Path] = set()
    for rule in kept:
        try:
            paths = sorted(root.glob(rule.glob))[: MAX_FILES + 1]
        except (OSError, ValueError):  # forbidden, or gone meanwhile
            continue
        for path in paths:
            if path not in seen and not path.is_dir():
                seen.add(path)
                yield path, rule


def _project_of_transcripts(folder: Path) -> Project:
    """The project of a folder of Claude Code's, whose transcripts name its directory."""
    for file in sorted(folder.glob("*.jsonl"))[:MAX_FILES]:
        try:
            with open_regular_file(file, follow=False) as opened:
                head = opened.read(_MAX_HEAD).decode("utf-8", "replace")
            if cwd := _CWD.search(head):
                return identify(json.loads(cwd[1]))
        except (OSError, ValueError):
            continue  # another one may name it
    return Project("", "")


def _tasks(text: str) -> str:
    """A list of tasks as lines: ``- [x] Write the tests``; the text itself for another form."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    tasks = parsed if isinstance(parsed, list) else [parsed]
    lines = []
    for task in tasks:
        if not isinstance(task, dict):
            return text
        says = next((task[key] for key in ("content", "subject", "title") if task.get(key)), "")
        more = task.get("description")
        if says:
            done = "x" if task.get("status") == "completed" else " "
            lines.append(f"- [{done}] {says}" + (f": {more}" if isinstance(more, str) else ""))
    return "\n".join(lines) if lines or parsed == [] else text
