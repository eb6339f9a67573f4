"""What the worker has acknowledged, and whether its answers agree with it."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class State(Enum):
    """``UNSURE``: asked for, and the answer never came: found or not, both are right."""

    STORED = "stored"
    DELETED = "deleted"
    UNSURE = "unsure"


@dataclass
class Truth:
    """A record is known by a word that only it has. Safe for several threads."""

    acknowledged: int = 0
    deletions: int = 0
    checked: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    _states: dict[str, State] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stored(self, words: list[str]) -> None:
        with self._lock:
            self.acknowledged += len(words)
            self._states |= dict.fromkeys(words, State.STORED)

    def deleted(self, word: str) -> None:
        with self._lock:
            self.deletions += 1
            self._states[word] = State.DELETED

    def unsure(self, words: list[str]) -> None:
        with self._lock:
            self._states |= dict.fromkeys(words, State.UNSURE)

    def of(self, word: str) -> State:
        with self._lock:
            return self._states[word]

    def words(self, state: State) -> list[str]:
        with self._lock:
            return [word for word, known in self._states.items() if known is state]

    def sample(self, chance: random.Random, count: int) -> list[str]:
        """Words of records that are surely there or surely gone, most of them there."""
        stored, deleted = self.words(State.STORED), self.words(State.DELETED)
        some = chance.sample(stored, min(count, len(stored)))
        return some + chance.sample(deleted, min(count // 4 + 1, len(deleted)))

    def judge(self, word: str, before: State, page: Any) -> None:
        """Compare a page of results for ``word``, which was ``before`` when it was asked."""
        texts = [f"{each['title']} {each['snippet']}" for each in page["results"]]
        found = any(word in text for text in texts)
        with self._lock:
            self.checked += 1
            if self._states[word] is not before:
                return  # it changed while the worker looked
            if before is State.STORED and not found:
                self.lost.append(word)
            elif before is State.DELETED and found:
                self.wrong.append(f"{word} is found though its deletion was acknowledged")
            if any(word not in text for text in texts):
                self.wrong.append(f"a search for {word} finds another record: {texts}")

    def fault(self, text: str) -> None:
        with self._lock:
            self.wrong.append(text[:500])
