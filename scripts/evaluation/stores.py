"""What evaluations share: their options, the stores that they ask, and their figures as a file."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from mem_search.errors import ModelUnavailable
from mem_search.model import Location
from mem_search.search.state import Stage
from mem_search.settings import Settings
from mem_search.wiring import Runtime, open_runtime

SHARED: Final = Path(__file__).parents[3] / "shared" / "data"
"""Data that is not part of the project: beside a checkout."""

_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "home": {"type": Path, "metavar": "DIR", "help": "keep the store here and reuse it"},
    "homes": {"type": Path, "metavar": "DIR", "help": "keep the stores here and reuse them"},
    "embedder": {"default": "bundled", "help": "hashing: by words alone"},
    "show": {"action": "store_true", "help": "name what is judged wrongly"},
    "json": {"type": Path, "metavar": "FILE", "help": "write the figures"},
}


def options(
    name: str, told: str | None, *names: str, data: str = "", default: Path = SHARED
) -> argparse.ArgumentParser:
    """The parser of ``scripts/evaluate NAME`` with the options ``names``, and with ``--data`` where
    ``data`` says what that folder has: ``with citations.tsv and reports``.
    """
    parser = argparse.ArgumentParser(
        prog=f"scripts/evaluate {name}".strip(),
        description=told,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if data:
        # A default that is a string is checked like a value that is given.
        parser.add_argument("--data", type=_folder, default=str(default), metavar="DIR", help=data)
    for each in names:
        parser.add_argument(f"--{each}", **_OPTIONS[each])
    return parser


def _folder(value: str) -> Path:
    if not (found := Path(value)).is_dir():
        raise argparse.ArgumentTypeError(f"{found} is no folder; name the one with the data")
    return found


@contextmanager
def folder(kept: Path | None = None) -> Iterator[Path]:
    """The folder ``kept``, made if it is new, or one that goes again."""
    with tempfile.TemporaryDirectory(prefix="mem-search-evaluate-") as temporary:
        place = kept.absolute() if kept else Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        yield place


@asynccontextmanager
async def opened(
    home: Path,
    embedder: str = "bundled",
    *,
    fill: Callable[[Runtime], Awaitable[object]] | None = None,
    stages: Sequence[Stage] | None = None,
    background: bool = True,
    **settings: Any,
) -> AsyncIterator[Runtime]:
    """The store in ``home``. ``fill`` fills it unless it is there, and then it is all indexed."""
    chosen = Settings(home=home, embedder=embedder, follow=0, **settings)
    is_new = not chosen.database.exists()
    async with open_runtime(chosen, background=background, stages=stages) as runtime:
        if fill and is_new:
            await fill(runtime)
        if fill:
            await indexed(runtime)
        yield runtime


async def indexed(runtime: Runtime) -> None:
    """Wait until every passage has its vectors, the sparse one too.

    Raises ModelUnavailable where none of these are made.
    """
    while sum((await runtime.store.indexing.outbox_counts()).values()):  # noqa: ASYNC110
        await asyncio.sleep(0.2)
    filling = runtime.ingest.filling
    while runtime.model.sparse and int.__lt__(*await filling.counts()):
        if filling.error:
            raise ModelUnavailable(filling.error)
        await asyncio.sleep(0.5)


async def import_lines(runtime: Runtime, lines: Iterable[Mapping[str, Any]], file: Path) -> None:
    """Import ``lines`` by way of ``file``. Raises ValueError when one could not be imported."""
    file.write_text(  # noqa: ASYNC240 - nothing else runs
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8"
    )
    taken = await runtime.ingest.reader.read(Location("jsonl", str(file)))
    if taken.failed:
        raise ValueError(f"{taken.failed} records of {file.name} could not be imported")


def write_json(file: Path | None, figures: object) -> None:
    """Write the figures of a run, if a file is named."""
    if file is not None:
        file.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
