"""A soak: searches, imports and deletes while the worker is killed, stopped, starved and restarted.

Two phases. In the first, two thirds of the time, every step may be a fault, restarts among them. A
slow machine that is behind with its restarts does these before anything else, for up to five sixths
of the time. In the second phase the worker is never ended, so that its memory and handles can be
compared; the disk still fills, Chroma is still killed and the worker is still paused.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from truth import State, Truth
from worker import Broken, Refused, Worker, faketime

MAX_RECORDS: Final = 3000
"""Stored at once; from then on as much is deleted as imported, so memory can be compared."""

_BATCH: Final = 20
_TOPICS: Final = "harbour engine garden ledger violin desert copper lantern".split()
_FIRST_PHASE_ENDS: Final = 1 / 3
"""The part of the run that is then left."""
_LATEST_END: Final = 1 / 6
"""The same for a first phase that is behind with its restarts."""
_MAX_BEHIND: Final = 2
"""Restarts; from there on nothing else is done."""
_MAX_GROWTH: Final = 0.10
_MAX_HANDLES: Final = 8
"""Handles that may be open more than after the warm-up: connections under way."""


@dataclass
class Soak:
    """One run; ``report`` tells how it went."""

    worker: Worker
    chance: random.Random
    truth: Truth = field(default_factory=Truth)
    faults: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    searches: int = 0
    leaked: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    handles: list[int] = field(default_factory=list)
    restarts: int = 0
    _number: int = 0
    _jobs: dict[str, list[str]] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)

    def write(self) -> None:
        """An import, and a deletion when there is enough."""
        if self._number == 0 or self.chance.random() < 0.5:
            self.import_batch()
        stored = self.truth.words(State.STORED)
        if len(stored) > 50 and self.chance.random() < 0.3:
            self.delete(self.chance.choice(stored))
        for word in self.chance.sample(stored, min(len(stored), _BATCH)):
            if len(stored) > MAX_RECORDS:
                self.delete(word)

    def import_batch(self, words: int = 30) -> None:
        """Import some notes of so many words; acknowledged when the job is done."""
        length = words
        words = [f"zq{self._number + n:08d}x" for n in range(_BATCH)]
        self._number += _BATCH
        lines = [
            {
                "kind": "note",
                "source_id": word,
                "title": f"{self.chance.choice(_TOPICS)} {word}",
                "text": f"{word} " + " ".join(self.chance.choices(_TOPICS, k=length)),
            }
            for word in words
        ]
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        self.truth.unsure(words)
        try:
            reply = self.worker.call("POST", "/api/import/jsonl", body, "application/x-ndjson")
            self._jobs[reply["job"]] = words
        except Refused as error:
            self.note(error)
        self.settle_jobs(patience=20)

    def settle_jobs(self, patience: float) -> None:
        """An import is acknowledged when its job says that it is done."""
        deadline = time.monotonic() + patience
        for job, words in list(self._jobs.items()):
            while True:
                try:
                    state = self.worker.call("GET", f"/api/jobs/{job}")
                except Refused as error:
                    self.note(error)
                    return
                if state["state"] in ("done", "failed", "cancelled"):
                    del self._jobs[job]
                    counts = (state["result"].get("locations") or [{}])[0]
                    if state["state"] == "done" and not counts.get("failed"):
                        self.truth.stored(words)
                    else:
                        self.refused[f"job {state['state']}"] += 1
                    break
                if time.monotonic() > deadline:
                    return
                time.sleep(0.02)

    def delete(self, word: str) -> None:
        if self.truth.of(word) is not State.STORED:
            return
        self.truth.unsure([word])
        try:
            page = self.search(word)
            refs = [each["ref"] for each in page["results"] if word in each["title"]]
            if not refs:
                self.truth.lost.append(f"{word}, when it was to be deleted")
                return
            self.worker.call("DELETE", f"/api/records/{refs[0]}")
        except Refused as error:
            self.note(error)
        else:
            self.truth.deleted(word)

    def search(self, text: str, mode: str = "keyword") -> Any:
        self.searches += 1
        return self.worker.call("GET", f"/api/search?query={text}&mode={mode}&format=json&limit=5")

    def check(self, words: list[str]) -> None:
        for word in words:
            before = self.truth.of(word)
            try:
                page = self.search(word)
            except Refused as error:
                self.note(error)
            else:
                self.truth.judge(word, before, page)

    def check_all(self) -> None:
        """Every acknowledged record is found and every deleted one is gone."""
        self.check(self.truth.words(State.STORED) + self.truth.words(State.DELETED))

    def note(self, error: Refused) -> None:
        self.refused[str(error)[:60]] += 1

    def ask_on(self) -> None:
        """What a second client does all the time: check, and search by meaning."""
        chance = random.Random(1)
        while not self._ended.wait(0.1):
            try:
                self.check(self.truth.sample(chance, 3))
                self.search("+".join(chance.sample(_TOPICS, 3)), "hybrid")
            except Refused as error:
                self.note(error)
            except Broken as error:
                self.truth.fault(str(error))

    # Faults that end the worker

    def kill(self) -> None:
        self.worker.kill()
        self.restart()

    def restart_orderly(self) -> None:
        self.worker.stop()
        self.restart()

    def jump(self) -> None:
        """Restart with another clock."""
        self.worker.kill()
        self.restart(self.chance.choice(["+40d", "-40d", "+3h", "-3h", "-2y"]))

    def restart(self, clock: str = "") -> None:
        self.leaked += [f"process {pid}" for pid in self.worker.orphans()]
        self.worker.start(clock)
        self.settle_jobs(patience=30)
        self.check(self.truth.sample(self.chance, 10))

    # Faults that it has to survive

    def pause(self) -> None:
        self.worker.pause(self.chance.uniform(0.2, 2.0))

    def fill(self) -> None:
        self.worker.fill_disk()
        try:
            self.import_batch()
            self.check(self.truth.sample(self.chance, 5))
        finally:
            self.worker.free_disk()

    def do(self, name: str) -> None:
        """One fault; ``name`` is the method."""
        self.faults[name] += 1
        action: Callable[[], None] = getattr(self, name)
        action()

    def kill_chroma(self) -> None:
        self.worker.kill_chroma()

    def guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Broken as error:
            self.truth.fault(str(error))

    def run(self, left: Callable[[], float], restarts: int, pace: float) -> None:
        """``left`` tells the part of the run that is left, 1 to 0."""
        ends = ["kill", "kill", "restart_orderly", *(["jump"] if faketime() else [])]
        survives = ["pause", "fill", "kill_chroma"]
        self.worker.start()
        asking = threading.Thread(target=self.ask_on, daemon=True)
        asking.start()
        while (part := left()) > _FIRST_PHASE_ENDS or (
            part > _LATEST_END and self.restarts < restarts
        ):
            behind = restarts * min(1.0, (1 - part) / (1 - _FIRST_PHASE_ENDS)) - self.restarts
            if behind < _MAX_BEHIND:
                self.guarded(self.write)
            if behind > 0:
                self.restarts += 1
                self.guarded(lambda: self.do(self.chance.choice(ends)))
            elif self.chance.random() < 0.1:
                self.guarded(lambda: self.do(self.chance.choice(survives)))
            time.sleep(pace)
        warm = part * 2 / 3  # in the first third of the phase caches fill
        while (part := left()) > 0:
            self.guarded(self.write)
            if self.chance.random() < 0.05:
                self.guarded(lambda: self.do(self.chance.choice(survives)))
            if part < warm:
                self.memory.append(self.worker.memory())
                self.handles.append(self.worker.handles())
            time.sleep(pace)
        self._ended.set()
        asking.join()
        self.settle_jobs(patience=60)
        self.guarded(self.check_all)
        self.restart_orderly()
        self.guarded(self.check_all)
        self.worker.stop()
        self.leaked += [f"process {pid}" for pid in self.worker.orphans()]

    def report(self) -> dict[str, Any]:
        tenth = max(1, len(self.memory) // 10)
        # The lowest of a tenth: a moment's garbage is no growth.
        first, last = (min(part, default=0) for part in (self.memory[:tenth], self.memory[-tenth:]))
        more = (min(self.handles[-tenth:]) - max(self.handles[:tenth])) if self.handles else 0
        return {
            "acknowledged": self.truth.acknowledged,
            "acknowledged_deletions": self.truth.deletions,
            "searches": self.searches,
            "checks": self.truth.checked,
            "starts": self.worker.starts,
            "restarts": self.restarts,
            "faults": dict(self.faults),
            "clocks": self.worker.clocks,
            "disk": "tmpfs" if self.worker.mounted else "file size limit",
            "refused": dict(self.refused.most_common(20)),
            "lost": self.truth.lost,
            "wrong": self.truth.wrong,
            "leaked_processes": self.leaked,
            "leaked_handles": max(0, more - _MAX_HANDLES),
            "handles": [self.handles[0], self.handles[-1]] if self.handles else [],
            "memory_mb": [round(first / 2**20, 1), round(last / 2**20, 1)],
            "memory_growth": round(last / first - 1, 4) if first else 0.0,
        }


def _left(minutes: float, operations: int) -> Callable[[], float]:
    """By the clock, or by how often it is asked."""
    began, asked = time.monotonic(), 0

    def left() -> float:
        nonlocal asked
        asked += 1
        if operations:
            return 1 - asked / operations
        return 1 - (time.monotonic() - began) / (minutes * 60)

    return left


def options(told: str | None) -> argparse.ArgumentParser:
    """The parser of a soak, with what each takes."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description=told)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path)
    return parser


def ended(report: Mapping[str, Any], bad: Sequence[str], file: Path | None) -> int:
    """Print the report, and write it to ``file``; the exit code, 1 where something is ``bad``."""
    text = json.dumps(report, indent=1)
    if file:
        file.write_text(text + "\n")
    print(text)
    if bad:
        print("FAILED: " + ", ".join(bad), file=sys.stderr)
    return 1 if bad else 0


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--operations", type=int, default=0, help="so many steps, not minutes")
    parser.add_argument("--restarts", type=int, default=50)
    parser.add_argument("--embedder", default="hashing")
    given = parser.parse_args()
    worker = Worker(Path(tempfile.mkdtemp(prefix="mem-search-soak-")), given.embedder)
    soak = Soak(worker, random.Random(given.seed))
    try:
        left = _left(given.minutes, given.operations)
        soak.run(left, given.restarts, 0.0 if given.operations else 0.1)
        logs = sorted((worker.home / "logs").glob("worker.log*"))
        lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
        tracebacks = [line[-400:] for line in lines if "Traceback (most" in line]
    finally:
        worker.close()
    report = soak.report() | {"tracebacks": tracebacks}
    # A short run has no warm-up to compare with.
    grew = not given.operations and report["memory_growth"] > _MAX_GROWTH
    bad = [n for n in ("lost", "wrong", "leaked_processes", "leaked_handles") if report[n]]
    bad += ["memory_growth"] * grew + ["restarts"] * (soak.restarts < given.restarts)
    return ended(report, bad, given.json)


if __name__ == "__main__":
    sys.exit(main())
