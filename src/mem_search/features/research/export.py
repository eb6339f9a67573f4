"""Exporting a session: its operations, and citations of their results as of now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Literal

from mem_search.features.citations import formats, reference_files
from mem_search.model import Citation, Ref
from mem_search.model.results import Operation
from mem_search.patterns import pattern
from mem_search.renderers.safe_text import cut
from mem_search.renderers.universal import url_of
from mem_search.search.citations import citation
from mem_search.storage.sql.records import Records
from mem_search.text import dates
from mem_search.text.dates import now_ms

_MAX_TEXT_CHARS = 1_000
_MARKUP = pattern(r"([\\`*_\[\]<>#|~])")


@dataclass(frozen=True, slots=True)
class Source:
    """A cited record; ``citation`` is None when it was deleted, ``reference`` is in a style."""

    ref: str
    digest: str
    citation: Citation | None
    url: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Export:
    """A session with everything that its operations found."""

    session_id: str
    exported_at: int
    operations: Sequence[Operation]
    sources: Mapping[str, Source]

    @property
    def numbers(self) -> dict[str, int]:
        """ref → its number in the list of sources, in the order of first appearance."""
        refs = (seen.ref for operation in self.operations for seen in operation.results)
        return {ref: number for number, ref in enumerate(dict.fromkeys(refs), start=1)}

    def state(self, ref: str) -> Literal["same", "changed", "gone"]:
        """Whether the record is the same as when it was last found."""
        source = self.sources[ref]
        if source.citation is None:
            return "gone"
        digests = [s.digest for o in self.operations for s in o.results if s.ref == ref]
        return "same" if digests[-1] == source.digest else "changed"


def export_markdown(export: Export) -> str:
    """The session as Markdown: an outline of queries with their results, then the sources."""
    first, last = export.operations[0], export.operations[-1]
    count = len(export.operations)
    lines = [
        f"# Research session {_plain(export.session_id)}",
        "",
        f"{count} operation{'s' if count != 1 else ''}, {dates.iso(first.created_at)} to"
        f" {dates.iso(last.created_at)}; exported {dates.iso(export.exported_at)}.",
        "",
        "## Operations",
        "",
        *_outline(export),
        "",
        "## Sources",
        "",
        *(_cited(export, ref, number) for ref, number in export.numbers.items()),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _outline(export: Export) -> Iterator[str]:
    numbers = export.numbers
    depths: dict[str, int] = {}
    for operation in _by_chain(export.operations):
        depth = depths.get(operation.parent_id or "", -1) + 1
        depths[operation.id] = depth
        indent = "  " * depth
        how = "" if operation.type == "fetch" else f", {_mode(operation)}"
        shown = f"{len(operation.results)} of {operation.total_count}"
        yield (
            f"{indent}- {operation.type}{how}: **{_plain(operation.query)}**"
            f" ({shown}, {operation.took_ms:.0f} ms, {dates.iso(operation.created_at)})"
        )
        if operation.results:
            cited = " ".join(f"[{numbers[seen.ref]}]" for seen in operation.results)
            yield f"{indent}  {cited}"


def _mode(operation: Operation) -> str:
    """The mode as the API names it."""
    mode = str(operation.request["search"]["mode"])
    return "semantic" if mode == "vector" else mode


def _by_chain(operations: Sequence[Operation]) -> Iterator[Operation]:
    """Each operation, then those that follow it: the order of an outline."""
    ids = {operation.id for operation in operations}
    followers: dict[str, list[Operation]] = {}
    for operation in operations:
        parent = operation.parent_id if operation.parent_id in ids else None
        followers.setdefault(parent or "", []).append(operation)
    waiting = list(reversed(followers.get("", [])))
    while waiting:
        operation = waiting.pop()
        yield operation
        waiting += reversed(followers.get(operation.id, []))


def _cited(export: Export, ref: str, number: int) -> str:
    source, state = export.sources[ref], export.state(ref)
    if source.citation is None:
        return f"{number}. `local:{ref}` (forgotten or deleted since)"
    since = " (changed since)" if state == "changed" else ""
    return f"{number}. {_plain(cut(source.reference, _MAX_TEXT_CHARS))} `local:{ref}`{since}"


def _plain(text: str) -> str:
    """``text`` on one line, with Markdown escaped."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


async def export(
    records: Records,
    session: str,
    steps: Sequence[Operation],
    *,
    style: str,
    tz: tzinfo,
    base: str = "",
) -> Export:
    """The session with the sources of ``steps``, all of its operations in their order.

    References are written in ``style`` (``formats.STYLES``), their days those of ``tz``;
    ``base`` is where the worker is reached, for links.
    """
    refs = {seen.ref: Ref.parse(seen.ref) for step in steps for seen in step.results}
    numbers = [ref.number for ref in refs.values()]
    by_number = await records.fetch(numbers)
    digests = await records.content_hashes(numbers)
    items = [reference_files.item(citation(record), record, tz) for record in by_number.values()]
    written = await asyncio.to_thread(formats.references, items, style)
    references = dict(zip(by_number, written, strict=True))
    sources = {}
    for text, ref in refs.items():
        record = by_number.get(ref.number)
        sources[text] = Source(
            ref=text,
            digest=digests.get(ref.number, ""),
            citation=citation(record) if record is not None else None,
            url=url_of(record, base) if record is not None else "",
            reference=references.get(ref.number, ""),
        )
    return Export(session, now_ms(), steps, sources)
