"""What changed in a table since it was last read, told from a few bytes per 256 rows. Pure.

claude-mem changes rows without marking them (a project renamed, a session id filled in, a row
deleted), so there is nothing to ask "what is new?". Per block of 256 ids the cursor keeps
which rows were taken and one digest over them: enough to find every insert, update and
deletion, and small (about 40 bytes a block) however large the rows are.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

BLOCK: Final = 256
_SHAPE: Final = b"1"
"""Counts up when rows become different drafts, so that everything is read again."""

Row = tuple[Any, ...]
"""The row's id, and then everything that its draft depends on; texts are UTF-8 bytes."""


@dataclass(frozen=True, slots=True)
class Block:
    """What is known of the ids ``[number * BLOCK, (number + 1) * BLOCK)``."""

    digest: str
    ids: frozenset[int]


NOTHING: Final = Block("", frozenset())


def fresh(known: Block, rows: Sequence[Row]) -> Sequence[Row]:
    """Those of a block's rows that are new or may have changed since ``known``.

    As long as the known rows are as they were, only new ones are fresh: the last block of a
    growing table is not read anew with each row. Otherwise the whole block is fresh, because
    one digest cannot tell which row it was; storing an unchanged row again changes nothing.
    """
    before = [row for row in rows if row[0] in known.ids]
    if len(before) < len(known.ids) or digest(before) != known.digest:
        return rows
    return [row for row in rows if row[0] not in known.ids]


def remember(rows: Sequence[Row]) -> Block:
    """What to know of a block once its ``rows``, in order of id, are taken."""
    return Block(digest(rows), frozenset(row[0] for row in rows))


def digest(rows: Iterable[Row]) -> str:
    """64 bits over the rows in their order."""
    # Every row of a store that is being written to passes here every few seconds. marshal is
    # the cheapest exact form; version 2 of it depends on the values alone.
    return hashlib.blake2b(marshal.dumps(list(rows), 2), digest_size=8, key=_SHAPE).hexdigest()


def load(state: object) -> dict[int, Block]:
    """Blocks by number from a cursor; what cannot be understood is unknown, so read again."""
    blocks: dict[int, Block] = {}
    if not isinstance(state, Mapping):
        return blocks
    for number, entry in state.items():
        try:
            value, ranges = entry
            ids = frozenset(n for first, last in ranges for n in range(int(first), int(last) + 1))
            blocks[int(number)] = Block(str(value), ids)
        except (TypeError, ValueError):
            continue
    return blocks


def dump(blocks: Mapping[int, Block]) -> dict[str, list[Any]]:
    """The JSON form of ``blocks``: ``{"0": ["3f…", [[1, 255]]]}``."""
    return {
        str(number): [block.digest, _ranges(block.ids)] for number, block in sorted(blocks.items())
    }


def _ranges(ids: Iterable[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for number in sorted(ids):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges
