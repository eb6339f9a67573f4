"""Writing what an agent needs, remembering it, and taking back exactly that.

What was written is remembered in ``HOME/agents/NAME.json``, and a file that was there before is
kept beside it as ``FILE.before-mem-search``. ``uninstall`` restores that copy byte by byte when
nobody else has changed the file since. Else only what we wrote is taken out of the text, as it
stands there today. Nothing is written before every change has been worked out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from mem_search.agents import settings_text
from mem_search.agents.base import Agent, Entry, OwnFile, Setup
from mem_search.errors import Conflict, InputError, StorageError
from mem_search.regular_file import MAX_SETTINGS, read_regular_file, replace_file

BACKUP: Final = ".before-mem-search"
_EDITED: Final = ".edited"


@dataclass(slots=True)
class Written:
    """What is remembered of a file.

    ``sha256`` is what we left in it, ``before`` what was in the copy that we made. ``shared``:
    the copy is not what the file would be without us, because somebody else changed it before we
    wrote again, or because entries of ours stood there already. ``made`` are the objects and lists
    that we made on the way to an entry, ``folders`` the folders that we made for the file.
    """

    file: str
    sha256: str
    existed: bool
    whole: bool = False
    shared: bool = False
    before: str = ""
    entries: list[dict[str, Any]] = field(default_factory=list)
    made: list[list[str]] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to a file, or what would happen: a line for the person."""

    file: Path
    what: str


class Installation:
    """What is installed into one agent. ``memory`` is the home of mem-search."""

    def __init__(self, agent: Agent, setup: Setup, memory: Path) -> None:
        self.agent = agent
        self.setup = setup
        self._file = memory / "agents" / f"{agent.name}.json"
        self._known = {each.file: each for each in self._remembered()}

    @property
    def is_installed(self) -> bool:
        """Whether something is written for the agent."""
        return bool(self._known)

    @property
    def is_found(self) -> bool:
        """Whether the agent has been used on this machine."""
        return self.agent.settings(self.setup).is_dir()

    def outdated(self) -> list[Path]:
        """The files that ``install`` would write again; none when all is as it should be."""
        return [each.file for each in self.install(dry=True) if each.what in ("changed", "written")]

    def install(self, *, dry: bool = False) -> list[Change]:
        """Write what is missing; with ``dry`` only say what would be written.

        Raises Conflict for a file that cannot be changed, before anything is written.
        """
        if reason := self.agent.refuses(self.setup):
            raise Conflict(reason)
        wanted: dict[Path, list[Entry | OwnFile]] = {}
        for part in self.agent.wanted(self.setup):
            wanted.setdefault(_target(part.file), []).append(part)
        changes: list[Change] = []
        contents: dict[Path, bytes] = {}
        known = deepcopy(self._known)
        for file, parts in wanted.items():
            before = _content(file)
            written = known.get(str(file)) or Written(str(file), "", existed=before is not None)
            new, kept = _merged(file, before, parts, written)
            known[str(file)] = written
            changes += [Change(file, f"left as it is: {reason}") for reason in kept]
            if new == before:
                if not kept:
                    changes.append(Change(file, "unchanged"))
                written.sha256 = written.sha256 or _digest(new)
                continue
            if written.sha256 and before is not None and _digest(before) != written.sha256:
                written.shared = True
            written.sha256 = _digest(new)
            contents[file] = new
            changes.append(Change(file, "changed" if before is not None else "written"))
        if not dry:
            self._write(contents, known)
        return changes

    def uninstall(self) -> list[Change]:
        """Take back what was written. Raises Conflict, StorageError."""
        changes: list[Change] = []
        for name, written in reversed(list(self._known.items())):
            file, now = Path(name), _content(Path(name))
            backup = file.with_name(file.name + BACKUP)
            before = _content(backup)
            if before is not None and _digest(before) != written.before:
                changes.append(Change(backup, "left as it is: another installation made it"))
                before = None
            unchanged = now is not None and _digest(now) == written.sha256
            if now is None:
                what = "is already gone"
            elif unchanged and not written.existed:
                file.unlink()
                what = "removed"
            elif unchanged and not written.shared and before is not None:
                _replace(file, before)
                what = "as it was before"
            elif written.whole:
                file.replace(file.with_name(file.name + _EDITED))
                what = f"changed by hand since; renamed to {file.name}{_EDITED}"
            else:
                left, kept = _without(file, now, written)
                if written.existed or left.strip() not in (b"", b"{}"):
                    _replace(file, left)
                else:
                    file.unlink()
                what = "our entries are taken out; later changes stay"
                changes += [Change(file, f"left as it is: {reason}") for reason in kept]
            if before is not None:
                backup.unlink(missing_ok=True)
            for folder in written.folders:
                with suppress(OSError):  # something else is in it
                    Path(folder).rmdir()
            changes.append(Change(file, what))
        self._file.unlink(missing_ok=True)
        self._known = {}
        return changes

    def _write(self, contents: dict[Path, bytes], known: dict[str, Written]) -> None:
        """Remember all files, then write them; all or none. Raises StorageError.

        What a program that is killed in between leaves is taken back like everything else.
        """
        undo: list[tuple[Path, bytes | None]] = []
        try:
            for file in contents:
                before, written = _content(file), known[str(file)]
                for folder in [each for each in file.parents if not each.exists()]:
                    written.folders.append(str(folder))
                file.parent.mkdir(parents=True, exist_ok=True)
                backup = file.with_name(file.name + BACKUP)
                if before is not None and written.existed and not written.before:
                    written.before = _digest(before)
                    if not backup.exists():  # else of another home, or of one that is gone
                        _replace(backup, before, like=file)
            rows = [asdict(each) for each in known.values() if each.entries or each.whole]
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            undo.append((self._file, _content(self._file)))
            _replace(self._file, json.dumps({"files": rows}, indent=1).encode(), mode=0o600)
            for file, new in contents.items():
                undo.append((file, _content(file)))
                _replace(file, new)
        except OSError as error:
            for file, before in undo:
                with suppress(OSError):
                    file.unlink() if before is None else _replace(file, before)
            place = error.filename or self._file
            raise StorageError(
                f"cannot write {place}: {error.strerror}; nothing was changed"
            ) from error
        self._known = {row["file"]: known[row["file"]] for row in rows}

    def _remembered(self) -> list[Written]:
        content = _content(self._file)
        try:
            return [Written(**row) for row in json.loads(content or b'{"files": []}')["files"]]
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"{self._file} is damaged ({error}); remove it, then delete the entries of"
                f" mem-search from the settings of {self.agent.title} by hand"
            ) from error


def _target(file: Path) -> Path:
    """The file itself where a link points to it, as people who keep their settings in git do."""
    return file.resolve() if file.is_symlink() else file


def _merged(
    file: Path, before: bytes | None, parts: Sequence[Entry | OwnFile], written: Written
) -> tuple[bytes, list[str]]:
    """The content with our parts, and why parts were left out. Updates ``written``."""
    own = parts[0]
    if isinstance(own, OwnFile):
        written.whole = True
        new = own.text.encode()
        if before is not None and before != new and _digest(before) != written.sha256:
            if not written.sha256:
                raise Conflict(
                    f"{file} was not written by mem-search; move it away, then install again"
                )
            return before, ["you have changed it; remove it to have it written again"]
        written.existed &= before != new or bool(written.sha256)
        return new, []
    text, entries = _text(file, before), [part for part in parts if isinstance(part, Entry)]
    try:
        return _merged_text(file, text, entries, written)
    except settings_text.NotJson as error:
        raise Conflict(
            f"{file}: {error}; nothing was changed. Repair it, then try again"
        ) from error


def _merged_text(
    file: Path, text: str, entries: Sequence[Entry], written: Written
) -> tuple[bytes, list[str]]:
    if file.suffix == ".toml":
        return _merged_toml(text, entries, written)
    kept: list[str] = []
    wanted = [{"path": [*e.path], "value": e.value, "in_list": e.in_list} for e in entries]
    for old in written.entries:
        if old not in wanted:
            text = _taken_out(text, old, kept)
    made, ours = [tuple(each) for each in written.made], []
    for entry, row in zip(entries, wanted, strict=True):
        content = settings_text.read(text)
        current = settings_text.at(content, entry.path)
        if entry.in_list and isinstance(current, list) and entry.value in current:
            written.shared |= row not in written.entries  # from an installation before this one
            ours.append(row)
        elif entry.in_list or current is None:
            for depth in range(1, len(entry.path) + entry.in_list):
                path = entry.path[:depth]
                if settings_text.at(content, path) is None and path not in made:
                    made.append(path)
            change = settings_text.with_item if entry.in_list else settings_text.with_member
            text = change(text, entry.path, entry.value)
            ours.append(row)
        elif current == entry.value or row in written.entries:
            # Equal and not ours: it was there before us, and stays.
            ours += [row] if row in written.entries else []
        elif not isinstance(entry.value, dict):
            continue  # a version number of the agent's own
        else:
            kept.append(f"{'.'.join(entry.path)} is not from here; remove it to have ours")
    written.entries, written.made = ours, [list(each) for each in made]
    return text.encode(), kept


def _merged_toml(text: str, entries: Sequence[Entry], written: Written) -> tuple[bytes, list[str]]:
    rest = settings_text.without_block(text)
    written.shared |= rest != text and not written.entries  # from an installation before this one
    content = settings_text.read_toml(rest)
    taken = [each for each in entries if settings_text.at(content, each.path) is not None]
    kept = [f"{'.'.join(each.path)} is not from here; remove it to have ours" for each in taken]
    ours = [each for each in entries if each not in taken]
    written.entries = [{"path": [*each.path]} for each in ours]
    return settings_text.with_block(rest, [(each.path, each.value) for each in ours]).encode(), kept


def _without(file: Path, now: bytes, written: Written) -> tuple[bytes, list[str]]:
    """The content without our entries and the empty containers that we made."""
    text, kept = _text(file, now), list[str]()
    try:
        if file.suffix == ".toml":
            return settings_text.without_block(text).encode(), []
        for row in written.entries:
            text = _taken_out(text, row, kept)
        for path in sorted(written.made, key=len, reverse=True):
            if settings_text.at(settings_text.read(text), tuple(path)) in ({}, []):
                text = settings_text.without_member(text, tuple(path))
    except settings_text.NotJson as error:
        raise Conflict(f"{file}: {error}; repair it, then try again") from error
    return text.encode(), kept


def _taken_out(text: str, row: dict[str, Any], kept: list[str]) -> str:
    path, value = tuple(row["path"]), row["value"]
    current = settings_text.at(settings_text.read(text), path)
    if row["in_list"]:
        return settings_text.without_items(text, path, value) if isinstance(current, list) else text
    if current is None:
        return text
    # An agent may have added a switch of its own to our entry; another command is not ours.
    if isinstance(current, dict) and isinstance(value, dict):
        ours = all(current.get(key) == each for key, each in value.items())
    else:
        ours = current == value
    if ours:
        return settings_text.without_member(text, path)
    kept.append(f"{'.'.join(path)} was changed by hand")
    return text


def _text(file: Path, content: bytes | None) -> str:
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise Conflict(f"{file} is not UTF-8 text; nothing was changed") from error


def _content(file: Path) -> bytes | None:
    """The content of a file; None without one. Raises InputError for what is no file."""
    try:
        return read_regular_file(file, MAX_SETTINGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", field="agent") from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _replace(file: Path, content: bytes, mode: int | None = None, like: Path | None = None) -> None:
    """Write a file whole or not at all, with the mode that it, or ``like``, has."""
    pattern = like or file
    if mode is None:
        mode = pattern.stat().st_mode & 0o777 if pattern.exists() else 0o644
    replace_file(file, content, mode)
