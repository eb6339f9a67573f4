"""The systems that can search a judged set, by name: ours, and what one has without it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import tempfile
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, cast

from dataset import Dataset

from mem_search.contracts import Embedder
from mem_search.model import Filters, Kind, Mode, SearchRequest
from mem_search.search.pipeline import SearchPipeline
from mem_search.text.words import STOP_WORDS

MODES = ("keyword", "vector", "hybrid")
NAMES = ("grep", "fts5", "chroma", *MODES)

OPTIONS: dict[str, dict[str, Any]] = {
    "recency": {"boosts": ("recency",)},
    "importance": {"boosts": ("importance",)},
    "diversity": {"per_session": 3},
}
"""Part of ours → what a query asks for to have it."""

_SUFFIX = ".txt"
_ROWS = 500


class System(Protocol):
    """One way to search the judged documents of a set."""

    async def search(self, text: str, project: str) -> list[str]:
        """The ids of at most ten documents, best first, of ``project`` unless it is empty."""
        ...

    def close(self) -> None: ...


class Product:
    """One mode of the search, over the kinds that are judged."""

    def __init__(
        self,
        pipeline: SearchPipeline,
        mode: str,
        kinds: tuple[str, ...],
        extra: Sequence[str] = (),
        asked: Mapping[str, datetime | None] | None = None,
    ) -> None:
        """``asked``: question → when it is asked, so that "last week" is the week before."""
        self._pipeline = pipeline
        self._extra = list(extra)
        self._asked = asked or {}
        self._mode = cast(Mode, mode)
        self._kinds = cast(tuple[Kind, ...], kinds)
        # The engine remembers the vectors of the last questions. A trailing space, which no
        # model sees, keeps one mode from being quicker for coming after another.
        self._mark = " " * MODES.index(mode)

    async def search(self, text: str, project: str) -> list[str]:
        query = SearchRequest(
            text=text + self._mark,
            filters=Filters(kinds=self._kinds, project=project),
            mode=self._mode,
            limit=10,
            asked_at=self._asked.get(text),
        )
        page = await self._pipeline.search(with_options(query, self._extra))
        return [result.record.source_id for result in page.results]

    def close(self) -> None:
        """Does nothing: the runtime closes the search."""


def with_options(query: SearchRequest, names: list[str]) -> SearchRequest:
    """The request with the optional parts ``names``. Raises KeyError for an unknown one."""
    wanted = [OPTIONS[name] for name in names]
    boosts = tuple(boost for option in wanted for boost in option.get("boosts", ()))
    return replace(query, **{**{k: v for o in wanted for k, v in o.items()}, "boosts": boosts})


class Fts5:
    """SQLite FTS5, porter, OR of all words, all weights 1: the reference that every set names."""

    def __init__(self, data: Dataset) -> None:
        self._ids = [document["source_id"] for document in data.judged]
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "create virtual table f using fts5(title, text, project unindexed,"
            " tokenize='porter unicode61')"
        )
        self._db.executemany(
            "insert into f(rowid, title, text, project) values(?, ?, ?, ?)",
            [(i, d["title"], d["text"], d["project"]) for i, d in enumerate(data.judged)],
        )

    async def search(self, text: str, project: str) -> list[str]:
        words = dict.fromkeys(re.findall(r"[^\W_]+", text.lower()))
        if not words:
            return []
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = self._db.execute(
            "select rowid from f where f match ? and (? = '' or project = ?)"
            " order by bm25(f) limit 10",
            (expression, project, project),
        )
        return [self._ids[i] for (i,) in rows]

    def close(self) -> None:
        self._db.close()


class Grep:
    """What an agent without an index does: grep for the words of the query, most words first.

    The real ``grep`` over one file a record (title and text) and one folder a project:

        grep -r -a -i -o -F --null -e WORD -e WORD … FOLDER

    Any word may match, also inside a longer one, in any case. Stop words of the keyword leg are
    left out unless nothing else remains. Files are ranked by the number of different words, then by
    the number of matches, then by the order of the corpus. Of the recipes tried (whole words or
    not, stop words or not, ranked by words, matches or both) this one did best on average.
    Raises FileNotFoundError without a grep.
    """

    def __init__(self, data: Dataset) -> None:
        program = shutil.which("grep")
        if program is None:
            raise FileNotFoundError("there is no grep on PATH; leave it out with --modes")
        self._program = program
        self._ids = [document["source_id"] for document in data.judged]
        self._temporary = tempfile.TemporaryDirectory(prefix="mem-search-grep-")
        self._root = Path(self._temporary.name)
        # Names of projects may be no names of files.
        self._folders: dict[str, str] = {}
        for number, document in enumerate(data.judged):
            folder = self._folders.setdefault(document["project"], str(len(self._folders)))
            (self._root / folder).mkdir(exist_ok=True)
            file = self._root / folder / f"{number}{_SUFFIX}"
            file.write_text(f"{document['title']}\n{document['text']}", "utf-8")

    async def search(self, text: str, project: str) -> list[str]:
        wanted = words(text)
        if not wanted or (project and project not in self._folders):
            return []
        patterns = [part for word in wanted for part in ("-e", word)]
        process = await asyncio.create_subprocess_exec(
            self._program, "-r", "-a", "-i", "-o", "-F", "--null", *patterns,
            self._folders[project] if project else ".",
            cwd=self._root,
            # Case beyond ASCII is only folded where the locale knows it.
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, _ = await process.communicate()
        if process.returncode not in (0, 1):  # 1: nothing found
            raise RuntimeError(f"grep ended with {process.returncode}")
        return [self._ids[number] for number in ranked(output.decode("utf-8", "replace"))[:10]]

    def close(self) -> None:
        self._temporary.cleanup()


def words(question: str) -> list[str]:
    """The words to search for: letters and digits in lower case, each word once."""
    found = list(dict.fromkeys(re.findall(r"[^\W_]+", question.lower())))
    return [word for word in found if word not in STOP_WORDS] or found


def ranked(output: str) -> list[int]:
    """Numbers of the files in what ``grep -o --null`` printed, a match a line, best first."""
    matches: dict[int, Counter[str]] = defaultdict(Counter)
    for line in output.splitlines():
        path, _, match = line.partition("\0")
        matches[int(Path(path).name.removesuffix(_SUFFIX))][match.lower()] += 1
    return sorted(matches, key=lambda n: (-len(matches[n]), -matches[n].total(), n))


class RawChroma:
    """Chroma as most programs use it: one vector a record, made by the product's own model.

    In this process, in memory, with Chroma's default settings. A record is embedded whole, so the
    model cuts it at its window. Each project has a collection, and all records have one.
    """

    def __init__(self, data: Dataset, embedder: Embedder) -> None:
        import chromadb  # a second, only for who asks for it

        self._embedder = embedder
        self._client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
        # In-memory clients of one process share their collections.
        self._prefix = uuid.uuid4().hex
        self._collections: dict[str, Any] = {}
        for at in range(0, len(data.judged), _ROWS):
            some = data.judged[at : at + _ROWS]
            texts = [f"{d['title']}\n{d['text']}".strip() for d in some]
            vectors = embedder.embed(texts)
            for project in {"", *(d["project"] for d in some)}:
                rows = [row for row, d in enumerate(some) if project in ("", d["project"])]
                self._collection(project).add(
                    ids=[some[row]["source_id"] for row in rows],
                    embeddings=vectors[rows],
                    documents=[texts[row] for row in rows],
                )

    async def search(self, text: str, project: str) -> list[str]:
        if project not in self._collections:
            return []
        found = self._collections[project].query(
            query_embeddings=self._embedder.embed([text]), n_results=10
        )
        return list(found["ids"][0])

    def close(self) -> None:
        for collection in self._collections.values():
            self._client.delete_collection(collection.name)

    def _collection(self, project: str) -> Any:
        if project not in self._collections:
            self._collections[project] = self._client.create_collection(
                f"c{self._prefix}-{len(self._collections)}", embedding_function=None
            )
        return self._collections[project]


@contextmanager
def opened(
    names: Sequence[str],
    data: Dataset,
    pipeline: SearchPipeline,
    embedder: Embedder,
    extra: Sequence[str] = (),
) -> Iterator[Mapping[str, System]]:
    """The systems called ``names``, in that order, each filled with the judged documents.

    Ours also get the optional parts in ``extra`` (see ``OPTIONS``).
    """
    with ExitStack() as stack:
        systems: dict[str, System] = {}
        for name in names:
            systems[name] = _open(name, data, pipeline, embedder, extra)
            stack.callback(systems[name].close)
        yield systems


def _open(
    name: str, data: Dataset, pipeline: SearchPipeline, embedder: Embedder, extra: Sequence[str]
) -> System:
    match name:
        case "grep":
            return Grep(data)
        case "fts5":
            return Fts5(data)
        case "chroma":
            return RawChroma(data, embedder)
        case _:
            asked = {query.text: query.asked for query in data.queries}
            return Product(pipeline, name, data.judged_kinds, extra, asked)
