"""Add every file of a folder as ``mem-search add`` does, and ask for each by its own words.

A file is right when one of its records, or another record that has all of the words, is among the
first five, or when the ledger says why it has no record. Each file is also read alone, for its time
and memory: none may take over a minute of processor time or 500 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mem_search import sources
from mem_search.model import Draft, Location, SearchRequest
from mem_search.settings import Settings
from mem_search.text.words import runs_of
from mem_search.wiring import Runtime, open_runtime

WORDS = Path(__file__).parent / "ingest.toml"
DATA = Path(__file__).parents[3] / "shared" / "data" / "ingest"
FIRST, RAREST, LONGEST_WORD = 5, 6, 25


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file: ``found``, ``named`` in the ledger, or ``lost``; and what it took."""

    file: str
    status: str
    detail: str
    seconds: float


def alone(path: Path) -> tuple[list[Draft], list[str], float]:
    """The drafts of one file, what the ledger says against it, and the seconds that it took."""
    (name,) = sources.at(path)
    started = time.monotonic()
    drafts, reasons = [], []
    for batch in sources.by_name(name).read(Location(name, str(path)), {}):
        drafts += batch.drafts
        reasons += [f"{e.outcome}: {e.reason}" for e in batch.ledger if e.outcome != "taken"]
    return drafts, reasons, time.monotonic() - started


def rarest(draft: Draft, seen: Mapping[str, int]) -> str:
    """The words of the text that the fewest files have, in the order of the text."""
    words = [word for word in runs_of(draft.text) if 2 < len(word) <= LONGEST_WORD]
    chosen = sorted(dict.fromkeys(words), key=lambda word: (seen[word], -len(word)))[:RAREST]
    return (
        " ".join(word for word in dict.fromkeys(words) if word in chosen)
        or draft.title
        or draft.text[:40]
    )


def _each_alone(root: Path) -> dict[Path, tuple[list[Draft], list[str], float]]:
    return {path: alone(path) for path in sorted(root.rglob("*")) if path.is_file()}


async def outcomes(
    runtime: Runtime, root: Path, words: Mapping[str, str]
) -> tuple[list[Outcome], dict[str, float]]:
    """Of each file below ``root``; and the megabytes of the largest reader."""
    read = await asyncio.to_thread(_each_alone, root)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    seen = Counter(
        word for drafts, _, _ in read.values() for d in drafts for word in set(runs_of(d.text))
    )
    for source in sources.at(root):
        await runtime.ingest.reader.read(Location(source, str(root)), follow=False)
    while sum((await runtime.store.indexing.outbox_counts()).values()):  # noqa: ASYNC110
        await asyncio.sleep(0.5)
    found = []
    for path, (drafts, reasons, seconds) in read.items():
        file = path.relative_to(root).as_posix()
        if not drafts:
            status, detail = ("named", "; ".join(reasons)) if reasons else ("lost", "no record")
        else:
            question = words.get(file) or rarest(drafts[0], seen) or path.stem
            status = "found" if await _is_found(runtime, question, drafts) else "lost"
            detail = question
        found.append(Outcome(file, status, detail, seconds))
    return found, {"reader_megabytes": round(used)}


async def _is_found(runtime: Runtime, question: str, drafts: Iterable[Draft]) -> bool:
    page = await runtime.search.pipeline.search(SearchRequest(question, limit=FIRST))
    ids = {draft.source_id for draft in drafts}
    wanted = set(runs_of(question))
    return any(
        result.record.source_id in ids
        or wanted <= set(runs_of(f"{result.record.title} {result.record.text}"))
        for result in page.results
    )


async def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/evaluate ingest", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="default ../shared/data/ingest")
    parser.add_argument("--embedder", default="bundled")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    if not args.data.is_dir():
        parser.error(f"--data: {args.data} is no directory")
    with WORDS.open("rb") as file:
        words = tomllib.load(file)["words"] if args.data.resolve().name == DATA.name else {}
    with tempfile.TemporaryDirectory(prefix="mem-search-evaluate-") as home:
        settings = Settings(home=Path(home), embedder=args.embedder, follow=0)
        async with open_runtime(settings) as runtime:
            found, used = await outcomes(runtime, args.data.resolve(), words)
    for each in found:
        if each.status != "found":
            print(f"  {each.status:6} {each.file}: {each.detail}")
    counts = Counter(each.status for each in found)
    slowest = max(found, key=lambda each: each.seconds)
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    print(f"slowest {slowest.file} {slowest.seconds:.1f} s; reader {used['reader_megabytes']} MB")
    if args.json:
        report = {"slowest_seconds": round(slowest.seconds, 1), **counts, **used}
        args.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 1 if counts["lost"] else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
