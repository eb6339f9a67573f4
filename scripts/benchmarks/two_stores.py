"""One store on SQLite and on PostgreSQL: searches and imports in turns, recall, several workers.

The store is moved to PostgreSQL by the product (``mem-search migrate store``), so both hold the
same records and vectors. The database has to be empty, or to hold this store from an earlier run.
The imports of a run stay in it.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import corpus
import psycopg
import real_vectors
import recall
import store
from figures import Bar, median, percentile, spread
from process import Worker, cpu_seconds, ps, worker

import questions
from mem_search.daemon.moving import move
from mem_search.errors import Conflict
from mem_search.storage.postgres.vector_index import MIN_INDEXED

QUESTIONS = 200
IMPORTED, TURNS = 500, 6
CLIENTS = 6
SECONDS = 20.0
_WARM = 120
"""Questions that both stores answer before the measured ones."""


def measure(
    home: Path,
    embedder: str,
    address: str,
    where: Path,
    texts: Path | None = None,
    real_questions: Path | None = None,
) -> tuple[dict[str, Any], Any]:
    """Figures and bars of the store in ``home``, and of a copy of it at ``address``.

    ``where`` is for temporary files: as much as the store has. With ``texts`` the vectors of the
    copy are replaced by those of texts (``real_vectors``). Recall is that of ``real_questions``, a
    file as ``scripts/evaluate`` reads it, or else of questions drawn from the store.
    """
    figures: dict[str, Any] = {}
    began = time.perf_counter()
    if _moved(home, embedder, address):
        figures["moved in s"] = time.perf_counter() - began
    began = time.perf_counter()
    if texts and real_vectors.put(home, embedder, address, texts):
        figures["vectors of texts in s"] = time.perf_counter() - began
    asked = questions.draw(home, _WARM + QUESTIONS)
    with _home_of(home, where) as there:
        figures["passages"] = passages = _passages(address)
        figures["index built in s"] = _until_indexed(there, embedder, address, passages)
        figures["bytes a passage"] = _sizes(address, passages)
        for_recall = questions.of(real_questions, QUESTIONS) if real_questions else asked
        found = recall.measure(there, embedder, address, for_recall[:QUESTIONS])
        figures["recall@10, vector leg"] = found
        with (
            store.copied(home, where) as copy,
            worker(copy, embedder) as here,
            worker(there, embedder, store=address) as other,
        ):
            both = {"SQLite": here, "PostgreSQL": other}
            for running in both.values():
                running.until_idle()
            times, costs = _searched(both, asked, address)
            rates = _imported(both, where)
        figures["search"] = {name: spread(each) | costs[name] for name, each in times.items()}
        figures["imported records/s"] = {name: median(each) for name, each in rates.items()}
        ratio = median([b / a for a, b in zip(*rates.values(), strict=True)])
        figures["imports, PostgreSQL / SQLite"] = ratio
        figures["searches/s"] = _together(address, home, where, embedder, asked)
    server = times["PostgreSQL"]
    return figures, [
        Bar("PostgreSQL: p50 ms", median(server), 150),
        Bar("PostgreSQL: p95 ms", percentile(server, 0.95), 400),
        Bar("PostgreSQL: imports / SQLite", ratio, 0.6, at_least=True),
        Bar("PostgreSQL: least recall@10", min(found.values()), 0.97, at_least=True),
    ]


def _moved(home: Path, embedder: str, address: str) -> bool:
    """Move the store, or finish that; False if it had been moved."""
    try:
        move(replace(store.settings(home, embedder), store=""), address)
    except Conflict as error:
        if "there is a store already" not in error.message:
            raise
        return False
    return True


@contextmanager
def _home_of(home: Path, where: Path) -> Iterator[Path]:
    """A home for a worker on PostgreSQL; all workers of a store redact with one key."""
    with tempfile.TemporaryDirectory(prefix="there-", dir=where) as folder:
        shutil.copy(home / "redaction.key", folder)
        yield Path(folder)


def _until_indexed(there: Path, embedder: str, address: str, passages: int) -> float:
    """Seconds until a worker has built the vector index; few vectors have none."""
    began = time.perf_counter()
    query = (
        "select count(*) from pg_index join pg_class c on c.oid = indexrelid"
        " join pg_am a on a.oid = c.relam where amname = 'hnsw' and indisvalid"
    )
    with (
        worker(there, embedder, store=address, is_filled=False),
        # Each look is a transaction of its own: an open one would hold up the index.
        psycopg.connect(address, autocommit=True) as asking,
    ):
        while passages >= MIN_INDEXED and not asking.execute(query).fetchone()[0]:
            time.sleep(0.5)
    return time.perf_counter() - began


def _passages(address: str) -> int:
    with psycopg.connect(address) as asking:
        asking.execute("select set_config('mem_search.owner', 'main', true)")
        (passages,) = asking.execute("select count(*) from mem_search.passages").fetchone()
    return int(passages)


def _sizes(address: str, passages: int) -> dict[str, float]:
    """Bytes of each large table with its indexes, for each passage."""
    with psycopg.connect(address) as asking:
        rows = asking.execute(
            "select relname, pg_total_relation_size(oid) from pg_class where relkind = 'r'"
            " and relnamespace = 'mem_search'::regnamespace order by 2 desc limit 6"
        ).fetchall()
    return {name: size / passages for name, size in rows}


def _searched(
    both: dict[str, Worker], asked: list[str], address: str
) -> tuple[dict[str, list[float]], dict[str, dict[str, float]]]:
    """Milliseconds of each search, in turns; what one costs in processor time and pages."""
    times: dict[str, list[float]] = {name: [] for name in both}
    for text in asked[:_WARM]:
        for running in both.values():
            questions.ask(running, text)
    with psycopg.connect(address, autocommit=True) as asking:
        server = _server(asking)
        spent = dict.fromkeys(both, 0.0)
        at_server, pages = 0.0, _pages(asking)
        for turn, text in enumerate(asked[_WARM:]):
            for name in both if turn % 2 else reversed(both):
                before = cpu_seconds(both[name].process.pid), cpu_seconds(server)
                times[name].append(questions.ask(both[name], text))
                spent[name] += cpu_seconds(both[name].process.pid) - before[0]
                at_server += cpu_seconds(server) - before[1]
        read = _pages(asking) - pages
    each = len(asked) - _WARM
    costs = {name: {"worker CPU ms": 1000 * total / each} for name, total in spent.items()}
    costs["PostgreSQL"] |= {"server CPU ms": 1000 * at_server / each, "pages": read / each}
    return times, costs


def _server(asking: psycopg.Connection[Any]) -> int:
    """The first process of the server, which has to be on this machine."""
    (parent,) = ps("-o", "ppid=", "-p", str(asking.info.backend_pid))
    return int(parent)


def _pages(asking: psycopg.Connection[Any]) -> int:
    """Pages of 8 kB that the server has used so far, from memory or not."""
    row = asking.execute(
        "select blks_hit + blks_read from pg_stat_database where datname = current_database()"
    ).fetchone()
    return int(row[0]) if row else 0


def _imported(both: dict[str, Worker], where: Path) -> dict[str, list[float]]:
    """Records a second until they are stored and found by their words, in turns.

    The next one begins when the vectors of the last are there, too.
    """
    rates: dict[str, list[float]] = {name: [] for name in both}
    seed = int(time.time())  # records that an earlier run did not import
    items = corpus.made_up(seed)
    for turn in range(TURNS):
        file = where / f"turn-{turn}.jsonl"
        corpus.write(file, islice(items, IMPORTED))
        for name in both if turn % 2 else reversed(both):
            running = both[name]
            running.reconnect()
            began = time.perf_counter()
            running.imported(file, every=0.02)
            rates[name].append(IMPORTED / (time.perf_counter() - began))
            running.until_indexed()
    return rates


def _together(
    address: str, home: Path, where: Path, embedder: str, asked: list[str]
) -> dict[str, float]:
    """Searches a second of one worker and of three on one server, with ``CLIENTS`` clients."""
    found: dict[str, float] = {}
    for workers in (1, 3):
        with ExitStack() as stack:
            team = []
            for _ in range(workers):
                own = stack.enter_context(_home_of(home, where))
                team.append(stack.enter_context(worker(own, embedder, store=address)))
            for running in team:
                running.until_idle()
                for text in asked[:_WARM]:
                    questions.ask(running, text)
            searches, busy = _rate(team, asked)
        found[f"{workers} worker(s)"] = searches
        found[f"{workers} worker(s), processors in use"] = busy
    return found


def _rate(team: list[Worker], asked: list[str]) -> tuple[float, float]:
    ends = time.perf_counter() + SECONDS
    done = [0] * CLIENTS

    def use(number: int) -> None:
        of = team[number % len(team)]
        own = Worker(of.home, of.port, of.process, of.spawned)  # a connection of its own
        for turn in count(number):
            if time.perf_counter() > ends:
                break
            questions.ask(own, asked[turn * 7 % len(asked)] + " " * (turn % 50))
            done[number] += 1

    clients = [threading.Thread(target=use, args=(number,)) for number in range(CLIENTS)]
    before, began = _busy(), time.perf_counter()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    took = time.perf_counter() - began
    return sum(done) / took, (_busy() - before) / took


def _busy() -> float:
    """Seconds of all processors of the machine that were not idle."""
    values = [int(value) for value in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    return (sum(values[:8]) - values[3] - values[4]) / 100
