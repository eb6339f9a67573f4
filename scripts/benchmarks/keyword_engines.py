"""Would tantivy or bm25s serve the keyword leg better, as an index derived from the store?

    pip install --no-deps --target DIR tantivy bm25s numba llvmlite
    PYTHONPATH=DIR:src .venv/bin/python scripts/benchmarks/keyword_engines.py HOME [--questions N]

HOME is a store that ``scripts/bench search --home`` has filled. Both engines get the words as FTS5
has cut and stemmed them, so that they differ in nothing but what they do with them. Questions are
asked of all in turns. A title's word counts threefold and a person's twice, as in the product, by
repeating it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

import questions
from mem_search.model.statistics import Corpus
from mem_search.storage.rules import bm25
from mem_search.storage.sqlite import words as fts5_words
from mem_search.storage.sqlite.database import Database
from mem_search.storage.sqlite.postings import Postings
from mem_search.text.words import WordQuery, any_of, read

try:
    import bm25s
    import tantivy
except ImportError:
    sys.exit(__doc__)

DEPTH = 200
RARE = "zyxwvutsrare"
"""A word that no passage has."""

SECRET = 10**9
"""A passage that no store has."""

Terms = tuple[tuple[str, ...], ...]
"""A question: phrases, each of one or more stemmed words."""


class Tokens:
    """The words of the store's passages, and of questions, as FTS5 stems them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._memory = sqlite3.connect(":memory:")
        self._memory.executescript(
            "create virtual table t using fts5(x, tokenize='porter unicode61 remove_diacritics 2');"
            "create virtual table v using fts5vocab(t, instance);"
        )
        self._connection = connection

    def of(self, text: str) -> tuple[str, ...]:
        self._memory.execute("delete from t")
        self._memory.execute("insert into t values (?)", (text,))
        rows = self._memory.execute("select term from v order by offset")
        return tuple(term for (term,) in rows)

    def question(self, query: WordQuery) -> Terms:
        phrases = [self.of(" ".join(phrase.words)) for phrase in bm25.phrases_of(query)]
        return tuple(phrase for phrase in dict.fromkeys(phrases) if phrase)

    def passages(self) -> list[tuple[int, list[str]]]:
        """Each passage's number and its words in order, those that count more repeated."""
        found: dict[int, list[list[tuple[int, str]]]] = {}
        self._connection.execute(
            "create virtual table temp.v using fts5vocab(main, passages_fts, instance)"
        )
        rows = self._connection.execute("select term, doc, col, offset from temp.v")
        for term, passage, column, place in rows:
            columns = found.setdefault(passage, [[] for _ in bm25.COLUMNS])
            columns[bm25.COLUMNS.index(column)].append((place, sys.intern(term)))
        return [
            (
                passage,
                [
                    word
                    for column, weight in zip(found[passage], bm25.WEIGHTS, strict=True)
                    for _, word in sorted(column) * weight
                ],
            )
            for passage in sorted(found)
        ]


class Tantivy:
    """An index on disk."""

    def __init__(self, folder: Path) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("passage", stored=True, indexed=True)
        builder.add_text_field("words", tokenizer_name="whitespace")
        self.schema, self.folder = builder.build(), folder
        folder.mkdir()
        self.index = tantivy.Index(self.schema, path=str(folder))
        self.writer = self.index.writer(64 << 20, 1)

    def add(self, passage: int, words: Sequence[str]) -> None:
        document = tantivy.Document()
        document.add_integer("passage", passage)
        document.add_text("words", " ".join(words))
        self.writer.add_document(document)

    def delete(self, passage: int) -> None:
        self.writer.delete_documents_by_term("passage", passage)

    def commit(self) -> None:
        self.writer.commit()
        self.index.reload()

    def best(self, terms: Terms, *, count: bool = False) -> list[int]:
        of = tantivy.Query
        query = of.boolean_query(
            [
                (
                    tantivy.Occur.Should,
                    of.term_query(self.schema, "words", phrase[0])
                    if len(phrase) == 1
                    else of.phrase_query(self.schema, "words", [*phrase]),
                )
                for phrase in terms
            ]
        )
        searcher = self.index.searcher()
        hits = searcher.search(query, DEPTH, count=count).hits
        return [searcher.doc(address)["passage"][0] for _, address in hits]


class Bm25s:
    """A matrix of scores in memory: words are its columns."""

    def __init__(self, passages: Sequence[tuple[int, list[str]]], backend: str) -> None:
        self.numbers = np.array([number for number, _ in passages])
        self.known = bm25s.BM25(k1=bm25.K1, b=bm25.B, method="robertson", backend=backend)
        self.known.index([words for _, words in passages], show_progress=False)

    def best(self, terms: Terms) -> list[int]:
        words = [word for phrase in terms for word in phrase if word in self.known.vocab_dict]
        if not words:
            return []
        found, scores = self.known.retrieve([words], k=DEPTH, show_progress=False)
        return self.numbers[found[0][scores[0] > 0]].tolist()

    @property
    def bytes(self) -> int:
        return sum(
            each.nbytes for each in self.known.scores.values() if isinstance(each, np.ndarray)
        )


async def made(file: Path) -> Postings:
    lists = Postings(await Database.open(file))
    await lists.keep_up()
    return lists


def best_of(passages: np.ndarray, scores: np.ndarray) -> list[int]:
    order = np.lexsort((passages, -scores))[:DEPTH]
    return passages[order].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("home", type=Path)
    parser.add_argument("--questions", type=int, default=240)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    temporary = tempfile.TemporaryDirectory()
    file = Path(temporary.name) / "mem-search.db"
    shutil.copyfile(given.home / "mem-search.db", file)
    connection = sqlite3.connect(file)
    tokens = Tokens(connection)
    asked = [any_of(read(text)) for text in questions.draw(given.home, given.questions)]
    queries = [(query, tokens.question(query)) for query in asked if query is not None]
    passages = tokens.passages()
    figures: dict[str, Any] = {"passages": len(passages), "questions": len(queries)}

    with temporary:
        started, before = time.perf_counter(), resident()
        segments = Tantivy(file.parent / "tantivy")
        for number, words in passages:
            segments.add(number, words)
        segments.commit()
        figures["tantivy"] = {
            "build_s": time.perf_counter() - started,
            "disk_mb": size(segments.folder),
        }
        figures["tantivy"]["resident_mb"] = resident() - before
        before, matrices = resident(), {}
        for backend in ("numpy", "numba"):
            started = time.perf_counter()
            matrices[f"bm25s, {backend}"] = known = Bm25s(passages, backend)
            figures[f"bm25s, {backend}"] = {
                "build_s": time.perf_counter() - started,
                "arrays_mb": known.bytes / 1e6,
                "resident_mb": resident() - before,
            }
            before = resident()
        started = time.perf_counter()
        lists = asyncio.run(made(file))
        figures["posting lists"] = {
            "build_s": time.perf_counter() - started,
            "disk_mb": lists.file.stat().st_size / 1e6,
        }
        corpus = Corpus({}, {}, 0)

        def fts5(query: WordQuery, _: Terms) -> list[int]:
            return best_of(*fts5_words.scores(connection, query))

        def posting_lists(query: WordQuery, _: Terms) -> list[int]:
            return best_of(*lists.scores(connection, query, corpus))

        systems: dict[str, Callable[[WordQuery, Terms], list[int]]] = {
            "fts5": fts5,
            "posting lists": posting_lists,
            "tantivy": lambda _, terms: segments.best(terms),
            "tantivy, with the number of matches": lambda _, terms: segments.best(
                terms, count=True
            ),
            **{
                name: lambda _, terms, known=known: known.best(terms)
                for name, known in matrices.items()
            },
        }
        for system in systems.values():  # compiles what is compiled at the first use
            system(*queries[0])
        for turn in ("first", "again"):
            timed = ask(systems, queries)
            for name, row in timed.items():
                figures.setdefault(name, {}).update({f"{turn} {k}": v for k, v in row.items()})
        timed = ask(
            {"fts5": fts5, "posting lists": posting_lists}, queries, partial(write, connection)
        )
        for name, row in timed.items():
            figures[name] |= {f"after a write {k}": v for k, v in row.items()}
        figures["tantivy"] |= staleness(segments, passages)
        started = time.perf_counter()
        Bm25s(passages[: len(passages) - 1], "numpy")
        figures["bm25s, numpy"]["one write, s"] = time.perf_counter() - started
    show(figures)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def ask(
    systems: dict[str, Callable[[WordQuery, Terms], list[int]]],
    queries: Sequence[tuple[WordQuery, Terms]],
    before: Callable[[], None] = lambda: None,
) -> dict[str, dict[str, float]]:
    """System → milliseconds and CPU of a question, and the share of FTS5's best that it has."""
    ms: dict[str, list[tuple[float, float, float]]] = {name: [] for name in systems}
    names = list(systems)
    for turn, query in enumerate(queries):
        before()
        reference = set(systems["fts5"](*query))
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            wall, cpu = time.perf_counter(), time.process_time()
            found = systems[name](*query)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            same = len(reference & set(found)) / max(1, len(reference))
            ms[name].append((wall * 1000, cpu * 1000, same))
    return {
        name: {
            "p50_ms": float(np.percentile([w for w, _, _ in each], 50)),
            "p95_ms": float(np.percentile([w for w, _, _ in each], 95)),
            "cpu_ms": float(np.mean([c for _, c, _ in each])),
            "same": float(np.mean([s for _, _, s in each])),
        }
        for name, each in ms.items()
    }


def write(connection: sqlite3.Connection) -> None:
    """Note one record as changed: the lists have to read its passages again."""
    with connection:
        connection.execute(
            "insert into record_changes (record_id)"
            " select id from records"
            " where id > abs(random()) % (select max(id) from records) limit 1"
        )


def staleness(index: Tantivy, passages: Sequence[tuple[int, list[str]]]) -> dict[str, Any]:
    """Milliseconds until a write is seen, and whether the index still knows a deleted word."""
    took = []
    for number, words in passages[:20]:
        started = time.perf_counter()
        index.delete(number)
        index.add(number, words)
        index.commit()
        took.append((time.perf_counter() - started) * 1000)
    files = len(list(index.folder.iterdir()))
    index.add(SECRET, [RARE])
    for number, words in passages[:100]:
        index.delete(number)
        index.add(number, words)
    index.commit()
    index.delete(SECRET)
    index.commit()
    index.writer.garbage_collect_files()
    index.index.reload()
    left = index.index.searcher().doc_freq("words", RARE)
    return {
        "one write, ms": float(np.median(took)),
        "files after 20 writes": files,
        "a deleted word is in the dictionary": bool(left),
    }


def size(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e6


def resident() -> float:
    """Megabytes of this process."""
    gc.collect()
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.split("VmRSS:")[1].split()[0]) / 1000


def show(figures: dict[str, Any]) -> None:
    for name, row in figures.items():
        if isinstance(row, dict):
            print(name)
            for key, value in row.items():
                print(
                    f"  {key:32} {value:.3f}" if isinstance(value, float) else f"  {key:32} {value}"
                )
        else:
            print(f"{name}: {row}")


if __name__ == "__main__":
    main()
