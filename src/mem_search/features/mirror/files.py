"""The files of a mirror: named after their content, written once, and never changed.

A name is ``MACHINE.NUMBER.HASH.jsonl.gz`` with the first 16 hex digits of the SHA-256 of its bytes.
So a file that is synced by half is recognised, two machines never write the same file, and what a
sync program adds (temporary files, copies of conflicts) has another name and is passed over. Each
line is one ``Change``; the first one names the format and its version.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any, Final

from mem_search.errors import MemSearchError, SourceError
from mem_search.features.mirror.model import Change, Version, hash_of
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.jsonl.exchange import ExchangeRecord, parse_line

FORMAT: Final = "mem-search mirror"
VERSION: Final = 1

MAX_LINES: Final = 4000
"""Of one file; a sync program that carries them one by one gets on."""

MAX_BYTES: Final = 2**25
"""Of the lines of one file, from which the next one begins; one line may have as many again."""

_MAX_PACKED: Final = 2**27
_NAME: Final = pattern(r"([a-z0-9-]{1,40})\.([0-9]{6})\.([0-9a-f]{16})\.jsonl\.gz")


class IncompleteFile(MemSearchError):
    """The file is not whole yet; nothing is wrong."""


@dataclass(slots=True)
class Content:
    """The changes of a file: what is ``stored``, with its record, what is ``removed``, and why
    each line that cannot be used cannot.
    """

    stored: list[tuple[Change, ExchangeRecord]] = field(default_factory=list)
    removed: list[Change] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def names_in(folder: Path) -> list[str]:
    """The files of the mirror in ``folder``, by machine and number. Raises SourceError."""
    try:
        return sorted(each.name for each in folder.iterdir() if _NAME.fullmatch(each.name))
    except OSError as error:
        raise SourceError(
            f"{folder} cannot be read ({error.strerror}); connect the disk or begin the sync"
            f" program, or end this: mem-search mirror {quote(str(folder))} --stop",
            field="folder",
        ) from error


def written(folder: Path, machine: str, lines: Iterable[str]) -> Iterator[str]:
    """Write ``lines`` as new files of ``machine``; yields the name of each. Raises SourceError."""
    matches = (_NAME.fullmatch(name) for name in names_in(folder))
    number = max((int(match[2]) for match in matches if match and match[1] == machine), default=0)
    header = json.dumps({"format": FORMAT, "version": VERSION, "machine": machine})
    for part in _parts(lines):
        number += 1
        text = "\n".join((header, *part, ""))
        content = gzip.compress(text.encode("utf-8", "backslashreplace"), 6, mtime=0)
        name = f"{machine}.{number:06}.{hashlib.sha256(content).hexdigest()[:16]}.jsonl.gz"
        try:
            _write(folder, name, content)
        except OSError as error:
            raise SourceError(f"cannot write to {folder}: {error.strerror}") from error
        yield name


def _parts(lines: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for line in lines:
        part.append(line)
        size += len(line)
        if len(part) == MAX_LINES or size >= MAX_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _write(folder: Path, name: str, content: bytes) -> None:
    """Write the file whole or not at all, readable by its owner only."""
    part = folder / f".{name}.part"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(folder / name)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def damaged(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Those of ``names`` that do not have what was written, or cannot be read."""
    for name in names:
        try:
            _whole(folder, name)
        except (IncompleteFile, SourceError):
            yield name


def _whole(folder: Path, name: str) -> bytes:
    """Raises IncompleteFile until the file is whole, and SourceError where it cannot be read."""
    match = _NAME.fullmatch(name)
    assert match is not None
    try:
        content = read_regular_file(folder / name, _MAX_PACKED, follow=False)
    except FileNotFoundError:
        raise IncompleteFile(f"{name} is not there any more") from None
    except OSError as error:
        raise SourceError(f"cannot read {name}: {error.strerror or error}") from error
    if not hashlib.sha256(content).hexdigest().startswith(match[3]):
        raise IncompleteFile(f"{name} is not here as a whole yet")
    return content


def read(folder: Path, name: str) -> Content:
    """Raises IncompleteFile until the file is whole, and SourceError for another version of the
    format or for what this program did not write.
    """
    lines = _unpacked(name, _whole(folder, name))
    _check_header(name, next(lines, b""))
    result = Content()
    for number, line in enumerate(lines, 2):
        try:
            change, record = _change(line)
            if record is None:
                result.removed.append(change)
            else:
                result.stored.append((change, record))
        except (ValueError, KeyError, TypeError) as error:
            result.failed[f"line {number}"] = str(error)
    return result


def _unpacked(name: str, content: bytes) -> Iterator[bytes]:
    left = 3 * MAX_BYTES
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while line := file.readline(left + 1):
                left -= len(line)
                if left < 0:
                    raise SourceError(f"{name} unpacks to more than {3 * MAX_BYTES >> 20} MiB")
                yield line
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{name} is damaged: {error}") from error


def _check_header(name: str, line: bytes) -> None:
    try:
        header = json.loads(line)
        is_ours = header["format"] == FORMAT
        version = int(header["version"])
    except (ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise SourceError(f"{name} is not a file of mem-search mirror")
    if version != VERSION:
        raise SourceError(
            f"{name} has version {version} of the format, and this mem-search knows {VERSION}:"
            " install the same version of mem-search on all machines"
        )


def line_of(change: Change, record: str = "") -> str:
    """The line of a change; ``record`` is its line of the exchange format."""
    version = change.version
    said: dict[str, Any] = {
        "life": version.life, "fate": version.fate, "revision": version.revision,
        "at": version.at, "machine": version.machine, "seen": dict(version.seen),
    }  # fmt: skip
    if not record:
        said |= {"digest": change.digest, "key": change.key}
    whole = json.dumps(said, ensure_ascii=False)
    return f'{whole[:-1]}, "record": {record}}}' if record else whole


def _change(line: bytes) -> tuple[Change, ExchangeRecord | None]:
    """Raises ValueError, KeyError or TypeError for what is no change."""
    values = json.loads(line)
    fate = values["fate"]
    if fate not in ("stored", "gone", "forgotten"):
        raise ValueError(f"fate: {fate!r} is not known")
    seen = {str(machine): int(revision) for machine, revision in values["seen"].items()}
    record, said = None, ""
    if fate == "stored":
        text = json.dumps(values["record"], ensure_ascii=False)
        record, said = parse_line(text.encode()), hash_of(text)
        if not record.source_id:
            raise ValueError("record.source_id: it has none")
    else:
        bytes.fromhex(values["digest"]), bytes.fromhex(values["key"])
    version = Version(
        int(values["life"]), fate, int(values["revision"]), int(values["at"]), said,
        str(values["machine"]), seen,
    )  # fmt: skip
    return Change(version, values.get("digest", ""), values.get("key", "")), record
