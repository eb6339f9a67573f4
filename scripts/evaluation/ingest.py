"""Add every file of a folder as ``mem-search add`` does, and ask for each by its own words.

The first figure is silent loss: files of which the second count of their reader, which is no part
of reading, finds words that no record of it has, and of which no sentence says so.

A file is right when one of its records, or another record that has all of the words, is among the
first five, or when the ledger says why it has no record. Files are read one after the other, each
for its time and the memory of the processes that read it: none may take over a minute of processor
time, which other programs do not change, or over 500 MB.

With ``--home`` the store and what was measured are kept there: a run that was interrupted, or that
read one ``--part`` of the files, goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from stores import SHARED, folder, opened, options, write_json

from mem_search import extractors, sources
from mem_search.extractors import checking
from mem_search.extractors.refusal import Unreadable
from mem_search.model import Location, Record, SearchRequest
from mem_search.text.words import runs_of
from mem_search.wiring import Runtime

WORDS = Path(__file__).parent / "ingest.toml"
DATA = SHARED / "ingest"
LOG = "ingest-files.jsonl"
"""In the home: a line for each file that was read."""

FIRST, RAREST, MAX_WORD_CHARS = 5, 6, 25
MAX_SECONDS, MAX_MEGABYTES = 60.0, 500.0
_SHOWN, _MAX_ENTRIES = 5, 500

_READERS = (b"mem_search.extractors.extraction_process", b"mem_search.ingest.prepare:outcome")
_SAMPLED = 0.02
"""Seconds between two looks at the readers; the kernel keeps the peak of each."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A file that was read: its records, what the ledger says against it, and what it took.

    ``unread`` is what the ledger says that its records have not.

    ``seconds`` are by the clock until its records are stored, ``cpu`` those of the processors,
    ``embedding`` the seconds until they are also found by meaning; ``megabytes`` is the peak of
    the processes that read it.
    """

    file: str
    ids: Sequence[Sequence[str]]
    reasons: Sequence[str]
    seconds: float
    cpu: float
    embedding: float
    megabytes: float
    unread: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file: ``found``, ``named`` in the ledger, or ``lost``."""

    file: str
    status: str
    detail: str
    silent: Sequence[str] = ()
    """Sentences about what its records have not, which nothing says."""


class Peak:
    """The largest resident memory of the processes that read, in ``megabytes``, while it is open.

    Not by ``getrusage``: its peak of a child begins with the size of the process that started it.
    """

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(_SAMPLED):
            for children in Path("/proc/self/task").glob("*/children"):
                with suppress(OSError):  # a thread or process that has just ended
                    for pid in children.read_text("ascii").split():
                        self.megabytes = max(self.megabytes, _peak(Path("/proc", pid)))


def _peak(process: Path) -> float:
    if not any(name in (process / "cmdline").read_bytes() for name in _READERS):
        return 0.0
    status = (process / "status").read_text("ascii", "replace")
    _, _, peak = status.partition("VmHWM:")  # a process that has ended has no memory any more
    return int(peak.split()[0]) / 1024 if peak else 0.0


async def take(runtime: Runtime, root: Path, path: Path) -> Taken:
    """Read one file into the store, as a job does, and wait until it is embedded."""
    (name,) = sources.names_at(path)
    location, started, used = Location(name, str(path)), time.monotonic(), _processor_seconds()
    ids: list[tuple[str, str]] = []
    with Peak() as peak:
        batches = iter(sources.by_name(name).read(location, {}))
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            await runtime.ingest.writer.take(location, batch)
            ids += [(draft.source, draft.source_id) for draft in batch.drafts]
    rows = await runtime.store.ingest.ledger(name, str(path), _MAX_ENTRIES, 0)
    reasons = [
        f"{row.outcome}: {row.reason}"
        for row in rows
        if row.location == str(path) and row.outcome != "taken"
    ]
    unread = [
        row.reason
        for row in rows
        if row.location == str(path) and row.outcome == "taken" and row.reason
    ]
    stored = time.monotonic()
    cpu = _processor_seconds() - used
    while sum((await runtime.store.indexing.outbox_counts()).values()):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    measured = (stored - started, cpu, time.monotonic() - stored, peak.megabytes)
    seconds, cpu, embedding, megabytes = (round(each, 2) for each in measured)
    file = path.relative_to(root).as_posix()
    return Taken(file, ids, reasons, seconds, cpu, embedding, megabytes, unread)


def _processor_seconds() -> float:
    """Of this process and of the processes that it has ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


async def read_files(
    runtime: Runtime, root: Path, files: Iterable[Path], log: Path
) -> dict[str, Taken]:
    """Those of ``files`` that the ``log`` does not have yet are read; everything that it has."""
    known = {each.file: each for each in _logged(log)}
    for path in files:
        if path.relative_to(root).as_posix() not in known:
            taken = await take(runtime, root, path)
            known[taken.file] = taken
            _note(log, taken)
    return known


def _logged(log: Path) -> list[Taken]:
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    return [Taken(**json.loads(line)) for line in lines]


def _note(log: Path, taken: Taken) -> None:
    with log.open("a", encoding="utf-8") as written:
        written.write(json.dumps(asdict(taken)) + "\n")


async def outcomes(
    runtime: Runtime, read: Iterable[Taken], words: Mapping[str, str], root: Path
) -> list[Outcome]:
    """Ask for each file by ``words``, or else by the rarest words of its first record."""
    records: dict[str, list[Record]] = {}
    for taken in read:
        found = [await runtime.store.records.named(source, id_) for source, id_ in taken.ids]
        records[taken.file] = [record for record in found if record is not None]
    seen = Counter(
        word for held in records.values() for record in held for word in set(runs_of(record.text))
    )
    told = []
    for taken in read:
        if held := records[taken.file]:
            question = words.get(taken.file) or rarest(held[0], seen) or Path(taken.file).stem
            status = "found" if await _is_found(runtime, question, held) else "lost"
            told.append(Outcome(taken.file, status, question, silent_loss(root, taken, held)))
        else:
            status = "named" if taken.reasons else "lost"
            told.append(Outcome(taken.file, status, "; ".join(taken.reasons) or "no record"))
    return told


def silent_loss(root: Path, taken: Taken, held: Iterable[Record]) -> list[str]:
    """What the second count finds and no record has, unless the ledger says that some is unread."""
    if taken.unread or taken.reasons:
        return []
    text = "\n".join(f"{record.title}\n{record.text}\n{record.metadata}" for record in held)
    path = root / taken.file
    try:
        return [*checking.missing(text, extractors.held(path, path.name))]
    except Unreadable:  # it is read by another source than files
        return []


def rarest(record: Record, seen: Mapping[str, int]) -> str:
    """The words of the text that the fewest records have, in the order of the text."""
    words = [word for word in runs_of(record.text) if 2 < len(word) <= MAX_WORD_CHARS]
    chosen = sorted(dict.fromkeys(words), key=lambda word: (seen[word], -len(word)))[:RAREST]
    return (
        " ".join(word for word in dict.fromkeys(words) if word in chosen)
        or record.title
        or record.text[:40]
    )


async def _is_found(runtime: Runtime, question: str, held: Sequence[Record]) -> bool:
    page = await runtime.search.pipeline.search(SearchRequest(question, limit=FIRST))
    numbers = {record.number for record in held}
    wanted = set(runs_of(question))
    return any(
        result.record.number in numbers
        or wanted <= set(runs_of(f"{result.record.title} {result.record.text}"))
        for result in page.results
    )


def _part(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError("must be K/N with K from 1 to N, such as 1/4")
    return int(number), int(of)


async def main() -> int:
    told = "with awkward files"
    parser = options("ingest", __doc__, "home", "embedder", "json", data=told, default=DATA)
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="K/N", help="every Nth file")
    args = parser.parse_args()
    root, (number, of) = args.data.resolve(), args.part
    listed = tomllib.loads(WORDS.read_text("utf-8"))["words"]
    words = listed if root.name == DATA.name else {}
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    with folder(args.home) as home:
        async with opened(home, args.embedder) as runtime:
            read = await read_files(runtime, root, files[number - 1 :: of], home / LOG)
            found = await outcomes(runtime, [*read.values()], words, root)
    return _told([*read.values()], found, len(files), args.json)


def _told(read: Sequence[Taken], found: Sequence[Outcome], files: int, out: Path | None) -> int:
    silent = [each for each in found if each.silent]
    print(f"silent loss: {len(silent)} of {len(found)} files")
    for each in silent:
        print(f"  silent {each.file}: {'; '.join(each.silent[:_SHOWN])}")
    for each in found:
        if each.status != "found":
            print(f"  {each.status:6} {each.file}: {each.detail}")
    largest = sorted(read, key=lambda taken: -taken.megabytes)[:_SHOWN]
    slowest = sorted(read, key=lambda taken: -taken.cpu)[:_SHOWN]
    for taken in slowest:
        print(f"  {taken.cpu:6.1f} s of processors, {taken.seconds:.1f} s in all  {taken.file}")
    for taken in largest:
        print(f"  {taken.megabytes:6.0f} MB  {taken.file}")
    counts = Counter(each.status for each in found)
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    embedding = sum(taken.embedding for taken in read)
    print(f"{len(read)} of {files} files: {said}; embedded in {embedding:.0f} s more")
    over = [
        taken.file for taken in read if taken.cpu > MAX_SECONDS or taken.megabytes > MAX_MEGABYTES
    ]
    print(f"over {MAX_SECONDS:.0f} s or {MAX_MEGABYTES:.0f} MB: {', '.join(over) or 'none'}")
    if out:
        bars = {"slowest": asdict(slowest[0]), "largest": asdict(largest[0]), "over": over}
        write_json(out, {"silent": len(silent), "files": len(read), **counts, **bars})
    return 1 if silent or counts["lost"] or over else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
