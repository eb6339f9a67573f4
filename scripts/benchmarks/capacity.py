"""What 100 million and a billion passages on PostgreSQL need, from what one run measured.

    python scripts/benchmarks/capacity.py FILE     the --json of scripts/bench store

A search reads the passages of one owner, so what it costs depends on the owner's passages alone;
disk and memory depend on the sum. See docs/scale.md for what this leaves out.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOTALS = (1_000_000, 100_000_000, 1_000_000_000)
SEARCHES_A_SECOND = {1_000_000: 1, 100_000_000: 20, 1_000_000_000: 200}
ACTIVE = 0.1
"""Share of the passages whose owners search within an hour: these should be in memory."""

SHARD_DISK, SHARD_MEMORY, SHARD_CORES = 2e12, 128e9, 16
"""A server as one rents it: bytes of disk and memory, processors."""

_PAGE = 8192

BUSY = 0.5
"""Share of a processor that is planned for; the rest is for imports and peaks."""

MONTHLY = {"core": 15.0, "GB memory": 2.5, "GB disk": 0.1}
"""Dollars: a plain assumption, to be replaced by one's own prices."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one run: bytes a passage, and for one search seconds of processors and pages of 8 kB."""

    passages: int
    disk: float
    searched: float
    worker: float
    server: float
    pages: float

    @classmethod
    def of(cls, figures: dict[str, Any]) -> Measured:
        sizes = figures["bytes a passage"]
        search = figures["search"]["PostgreSQL"]
        return cls(
            figures["passages"],
            sum(sizes.values()),
            sum(sizes.get(name, 0.0) for name in ("vectors", "postings", "passages")),
            search["worker CPU ms"] / 1000,
            search["server CPU ms"] / 1000,
            search["pages"],
        )


def needs(measured: Measured, total: int) -> dict[str, float]:
    """What ``total`` passages need, if each owner has as many as were measured."""
    searches = SEARCHES_A_SECOND[total]
    disk = total * measured.disk * 2  # a replica of each server
    memory = total * ACTIVE * measured.searched
    cores = searches * measured.server / BUSY
    shards = max(
        math.ceil(disk / 2 / SHARD_DISK), math.ceil(memory / SHARD_MEMORY),
        math.ceil(cores / SHARD_CORES), 1,
    )  # fmt: skip
    workers = searches * measured.worker / BUSY
    cost = (
        (cores + workers) * MONTHLY["core"]
        + memory / 1e9 * MONTHLY["GB memory"]
        + disk / 1e9 * MONTHLY["GB disk"]
    )
    return {
        "owners": total / measured.passages,
        "searches/s": searches,
        "disk with a replica, GB": disk / 1e9,
        "memory for active owners, GB": memory / 1e9,
        "read from memory or disk, MB/s": searches * measured.pages * _PAGE / 1e6,
        "processors of servers": cores,
        "processors of workers": workers,
        "servers, each with a replica": shards,
        "dollars a month": cost,
    }


def main() -> int:
    """Print a table for each stage of the file."""
    report = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    for name, figures in report["stages"].items():
        measured = Measured.of(figures)
        print(f"{name}: {measured.disk:.0f} bytes a passage; ms of processors for a search:")
        print(f"worker {measured.worker * 1000:.0f}, server {measured.server * 1000:.0f}")
        columns = [needs(measured, total) for total in TOTALS]
        print("passages".ljust(32), *(f"{total:>16,}" for total in TOTALS))
        for row in columns[0]:
            print(row.ljust(32), *(f"{column[row]:>16,.1f}" for column in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
