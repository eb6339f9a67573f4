"""Ask the product for every file that agents modified and for every command that failed.

What happened is read from the transcripts here, without the product's own reader. A file is found
when the records of its session that have it contain one that says it was modified. A command is
found when those of the search for it contain one that says it failed. ``words`` asks without fields
of the query language, and looks at the first ten results.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Any, Final

from stores import folder, opened

from mem_search.model import Location, Record, SearchRequest
from mem_search.wiring import Runtime

_EDITS: Final = ("Edit", "MultiEdit", "Write", "NotebookEdit")
_NOT_RUN: Final = ("The user doesn't want to", "<tool_use_error>")
_MAX_FEW: Final = 10
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Happened:
    """A file that was modified, or a command that failed, in a session."""

    session: str
    file: str = ""
    command: str = ""

    @property
    def question(self) -> str:
        """What to ask with a field."""
        if self.file:
            return f'file:"{PurePosixPath(self.file).name}"'
        return f'failed:"{self.words}"'

    @property
    def words(self) -> str:
        """What to ask without one: the name of the file, or how the command begins."""
        said = PurePosixPath(self.file).name if self.file else self.command.partition('"')[0]
        return said[:_SHOWN].strip()

    def is_in(self, record: Record) -> bool:
        """Whether the record says it."""
        if record.session != self.session:
            return False
        if self.file:
            changed = [*_list(record, "files_modified"), *_list(record, "files_edited")]
            return any(f"/{self.file}".endswith(f"/{each.lstrip('/')}") for each in changed)
        return any(self.command[:_SHOWN] in each for each in _list(record, "failed"))


def _list(record: Record, name: str) -> list[str]:
    value = record.metadata.get(name)
    return list(value) if isinstance(value, list) else []


def happened(file: Path) -> Iterator[Happened]:
    """What the transcript says, each thing once."""
    calls: dict[str, Mapping[str, Any]] = {}
    seen = set()
    for raw in file.read_text("utf-8").splitlines():
        line = json.loads(raw)
        message = line.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                calls[block["id"]] = block
            elif block.get("type") == "tool_result":
                call = calls.get(block["tool_use_id"], {})
                each = _of(line["sessionId"], call, block)
                if each and each not in seen:
                    seen.add(each)
                    yield each


def _of(session: str, call: Mapping[str, Any], result: Mapping[str, Any]) -> Happened | None:
    tool, given = call.get("name"), call.get("input", {})
    if tool in _EDITS and not result.get("is_error"):
        return Happened(session, file=given.get("file_path") or given["notebook_path"])
    said = result.get("content")
    if tool == "Bash" and result.get("is_error") and not str(said).startswith(_NOT_RUN):
        return Happened(session, command=" ".join(given["command"].split()))
    return None


async def asked(data: Path) -> tuple[dict[str, float], list[str]]:
    """Shares that were found of ``files``, ``commands``, and of both by ``words``; what was not."""
    found: list[tuple[Happened, bool, bool]] = []
    with folder() as home:
        async with opened(home, "hashing", chroma_url="off") as runtime:
            await runtime.ingest.reader.read(Location("claude-code", str(data)))
            for each in await asyncio.to_thread(_everything, data):
                by_field = await _is_found(runtime, each, each.question, 100)
                by_words = await _is_found(runtime, each, each.words, _MAX_FEW)
                found.append((each, by_field, by_words))
    missing = [each.question for each, by_field, _ in found if not by_field]
    missing += [f"{each.words} (by words)" for each, _, by_words in found if not by_words]
    return {
        "files": fmean(by_field for each, by_field, _ in found if each.file),
        "commands": fmean(by_field for each, by_field, _ in found if each.command),
        "by_words": fmean(by_words for _, _, by_words in found),
    }, missing


def _everything(data: Path) -> list[Happened]:
    return [each for file in sorted(data.rglob("*.jsonl")) for each in happened(file)]


async def _is_found(runtime: Runtime, each: Happened, text: str, most: int) -> bool:
    page = await runtime.search.pipeline.search(SearchRequest(text, limit=most))
    return any(each.is_in(result.record) for result in page.results)
