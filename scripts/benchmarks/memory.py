"""Memory of the worker and its Chroma while the worker imports and indexes.

Chroma holds its vectors in memory, so it grows with the store by design; the worker must not.
Mapped pages of files are the system's cache. Where the system can tell them apart (Linux), the
process's own memory is shown beside the total.
"""

from __future__ import annotations

import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import corpus
from figures import Bar
from process import worker

_SHARES = (0.1, 0.5, 1.0)
_EVERY = 0.5


def measure(
    home: Path, count: int, source: Path | None, embedder: str
) -> tuple[dict[str, Any], list[Bar]]:
    """MB at each share of ``count`` indexed records, and the peak."""
    home.mkdir(parents=True, exist_ok=True)
    file = home / "corpus.jsonl"
    corpus.write(file, corpus.records(count, source))
    samples: list[tuple[float, dict[str, float]]] = []
    with worker(home, embedder, is_filled=False) as running:
        pids = running.pids()
        while "chroma" not in pids:
            time.sleep(_EVERY)
            pids = running.pids()
        samples.append((0.0, _megabytes(pids)))
        store = sqlite3.connect(home / "mem-search.db", isolation_level=None)
        started = time.perf_counter()
        running.json("POST", "/api/import", {"source": "jsonl", "path": str(file)})
        done = 0.0
        while done < 1:
            time.sleep(_EVERY)
            stored, waiting, passages = store.execute(
                "select (select count(*) from records), (select count(*) from outbox),"
                " (select count(*) from passages)"
            ).fetchone()
            # Half of the way is storing, the other half indexing.
            done = 0.5 * stored / count + 0.5 * (stored / count) * (1 - waiting / max(1, passages))
            samples.append((done, _megabytes(pids)))
        seconds = time.perf_counter() - started
        store.close()
    at = {
        f"at {share:.0%}": next(held for done, held in samples if done >= share)
        for share in _SHARES
    }
    most = {name: max(held[name] for _, held in samples) for name in samples[-1][1]}
    figures = {
        "records": count,
        "seconds": seconds,
        "MB before": samples[0][1],
        **{f"MB {name}": held for name, held in at.items()},
        "MB most": most,
    }
    name = "worker own" if "worker own" in most else "worker"
    growth = at["at 100%"][name] / at["at 50%"][name]
    return figures, [Bar("memory: worker at the end / half way", growth, 1.1)]


def _megabytes(pids: dict[str, int]) -> dict[str, float]:
    held: dict[str, float] = {}
    for name, pid in pids.items():
        status = Path(f"/proc/{pid}/status")
        if status.exists():
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
            held[name] = int(fields["VmRSS"].split()[0]) / 1024
            held[f"{name} own"] = int(fields["RssAnon"].split()[0]) / 1024
        else:
            listed = subprocess.run(
                ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True
            )
            held[name] = int(listed.stdout) / 1024
    return held
