"""What machines tell each other about a record, and which of two versions counts. Pure.

A version is a last-writer-wins register (Shapiro et al., "A comprehensive study of Convergent and
Commutative Replicated Data Types", INRIA RR-7506, 2011, 3.2.1): versions have a total order, and
every machine keeps the highest that it has met. So nothing depends on the order in which files
arrive, on how often, or on clocks. Forgetting is not a write among others: it ends a *life* of the
record. What is edited elsewhere meanwhile is of that life and stays forgotten; only a person who
stores the record again begins the next one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from mem_search.model import Draft, Record
from mem_search.model.records import READING
from mem_search.patterns import pattern
from mem_search.storage.rules.summaries import SUMMARY
from mem_search.text.embedded_data import begins_alike

Fate = Literal["stored", "gone", "forgotten"]
"""``gone``: its source has it no more, which forbids nothing."""

CONFLICT: Final = "conflict"
"""The tag of a version that lost, kept as a record of its own."""

_MARKER: Final = pattern(r"\[redacted:[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Version:
    """What became of a record, in the order of ``rank``.

    ``life`` counts how often it was stored again after it was forgotten. A write has a higher
    ``revision`` than all that its machine knew of the life (Lamport, 1978); ``machine`` made it,
    and ``seen`` has for each machine the last revision that it was made with knowledge of. ``at``
    is in ms since 1970, ``said`` the hash of what is stored.
    """

    life: int
    fate: Fate
    revision: int
    at: int
    said: str = ""
    machine: str = ""
    seen: Mapping[str, int] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[int, bool, int, int, str]:
        return self.life, self.fate == "forgotten", self.revision, self.at, self.said

    def is_beside(self, other: Version) -> bool:
        """Whether both were written without knowledge of each other, and differ."""
        return (
            self.life == other.life
            and self.fate == other.fate == "stored"
            and self.said != other.said
            and self.seen.get(other.machine, 0) < other.revision
            and other.seen.get(self.machine, 0) < self.revision
        )

    def seen_with(self, other: Version) -> dict[str, int]:
        """What a write that follows both is made with knowledge of."""
        both = {**self.seen}
        for machine, revision in other.seen.items():
            both[machine] = max(revision, both.get(machine, 0))
        return both


@dataclass(frozen=True, slots=True)
class Change:
    """A version as a file of the folder has it. Of what is not stored it has the ``digest`` of the
    identity under ``key`` (``storage.rules.identities.digest``), both in hex.
    """

    version: Version
    digest: str = ""
    key: str = ""


def hash_of(line: str) -> str:
    """The hash of a line of the exchange format, whatever its order of keys: 128 bits in hex."""
    same = json.dumps(json.loads(line), sort_keys=True)
    return hashlib.blake2b(same.encode(), digest_size=16).hexdigest()


def next_revision(before: int, record: Record) -> int:
    """The revision of a write. A reading of more events of a session counts more than several
    readings of fewer, as it does on one machine.
    """
    reading = record.metadata.get(READING)
    events = reading.get("events", 0) if isinstance(reading, Mapping) else 0
    return max(before + 1, events if isinstance(events, int) else 0)


def says_more(loser: Draft, winner: Draft) -> bool:
    """Whether ``loser`` has words that ``winner`` lacks, so that it is kept as well.

    Secrets have another marker in each home. What is read of a session grows at its end, and its
    summary is joined again by whoever reads it.
    """
    if READING in loser.metadata and READING in winner.metadata:
        return loser.kind != SUMMARY and not begins_alike(_said(loser), _said(winner))
    texts = (f"{each.title}\n{each.text}" for each in (loser, winner))
    mine, other = (" ".join(_MARKER.sub(" ", text).split()) for text in texts)
    return mine not in other


def _said(draft: Draft) -> str:
    text = draft.title if draft.kind == "observation" else draft.text
    return str(draft.metadata.get("narrative", text))


def kept_beside(loser: Draft, machine: str) -> Draft:
    """The record that keeps what ``machine`` wrote: the same one wherever the conflict is met."""
    tags = tuple(sorted({*loser.tags, CONFLICT}))
    return replace(loser, source_id=f"{loser.source_id}~{machine}", tags=tags)
