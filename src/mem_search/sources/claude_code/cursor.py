"""The cursor of a location: how far each transcript was read, small however many there are.

    {"version": 1,
     "files": {"<relative path>": {"offset", "line", "inode", "size", "modified", "check",
                                   "first", "cut", "known", "state"?}},
     "left": {"<relative path>": "<why, as the ledger was told>"}}

``state`` is the open fold of a file and the account of it. Only the files changed last keep
theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from mem_search.sources.claude_code.following import Place

VERSION: Final = 2
"""Raised whenever the state changes shape: transcripts are then read from the start."""

WARM: Final = 16
"""Files that keep their state. A session rarely grows after this many newer ones."""


class Cursor:
    """What was stored with the last batch, brought up to date while reading goes on."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        known = stored if stored.get("version") == VERSION else {}
        self._places = {name: dict(entry) for name, entry in known.get("files", {}).items()}
        self._left: dict[str, str] = dict(known.get("left", {}))
        self._warm = {name for name, entry in self._places.items() if "state" in entry}

    def place(self, relative: str) -> Place:
        """How far the file was read; the start for a new one."""
        entry = self._places.get(relative, {})
        return Place(**{name: value for name, value in entry.items() if name != "state"})

    def state(self, relative: str) -> Mapping[str, Any] | None:
        """The state of the file's fold, None if it is new or was not kept."""
        state: Mapping[str, Any] | None = self._places.get(relative, {}).get("state")
        return state

    def reached(self, relative: str, place: Place, state: Mapping[str, Any]) -> None:
        """The file was read up to ``place``."""
        self._left.pop(relative, None)
        self._places[relative] = {**asdict(place), "state": state}
        self._warm.add(relative)
        if len(self._warm) > WARM:
            others = self._warm - {relative}
            coldest = min(others, key=lambda name: (self._places[name]["modified"], name))
            self._cool(coldest)

    def _cool(self, relative: str) -> None:
        self._warm.discard(relative)
        self._places[relative].pop("state", None)

    def leaves(self, relative: str, reason: str) -> bool:
        """Note why a path is left; False if that is known already."""
        known = self._left.get(relative)
        self._left[relative] = reason
        return known != reason

    def forget_all_but(self, present: Iterable[str]) -> tuple[list[str], list[str]]:
        """Drop what is gone from the location: transcripts, and paths that were left."""
        keep = set(present)
        gone = sorted(set(self._places) - keep)
        for name in gone:
            self._cool(name)
            del self._places[name]
        no_longer_left = sorted(set(self._left) - keep - set(gone))
        self._left = {name: reason for name, reason in self._left.items() if name in keep}
        return gone, no_longer_left

    @property
    def value(self) -> dict[str, Any]:
        """The JSON value to store, independent of what is read afterwards."""
        return {
            "version": VERSION,
            "files": {name: dict(entry) for name, entry in self._places.items()},
            "left": dict(self._left),
        }
