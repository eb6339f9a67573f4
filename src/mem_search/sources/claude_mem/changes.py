"""Finding the rows of a table that changed since the last reading. Pure.

claude-mem changes rows without marking them: it renames projects, fills in session ids, deletes.
So for each block of 256 ids the cursor keeps which rows were taken and one digest of them. That
finds every insert, update and deletion and takes about 40 bytes a block, however long the rows are.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

BLOCK: Final = 256
_SHAPE: Final = b"2"
"""Raise this when the same rows give other drafts: everything is then read again."""

Row = tuple[Any, ...]
"""The row's id, then every value that its draft depends on; texts are UTF-8 bytes."""


@dataclass(frozen=True, slots=True)
class Block:
    """What is known of the ids ``[number * BLOCK, (number + 1) * BLOCK)``."""

    digest: str
    ids: frozenset[int]


NOTHING: Final = Block("", frozenset())


def changed_rows(known: Block, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of a block that are new or may have changed since ``known``.

    While the known rows have the same digest, these are the new rows only, so that each new row of
    a growing table does not store the rows before it again. Otherwise these are all rows, because
    one digest does not tell which row changed; storing an unchanged row again changes nothing.
    """
    before = [row for row in rows if row[0] in known.ids]
    if len(before) < len(known.ids) or digest(before) != known.digest:
        return rows
    return [row for row in rows if row[0] not in known.ids]


def block_of(rows: Sequence[Row]) -> Block:
    """The block after its ``rows``, in order of id, were taken."""
    return Block(digest(rows), frozenset(row[0] for row in rows))


def digest(rows: Iterable[Row]) -> str:
    """64 bits over the rows in their order."""
    # While claude-mem writes, every row passes through here every few seconds. marshal is the
    # cheapest exact form; its version 2 depends on the values alone.
    return hashlib.blake2b(marshal.dumps(list(rows), 2), digest_size=8, key=_SHAPE).hexdigest()


def load_blocks(state: object) -> dict[int, Block]:
    """Blocks by number, from a cursor. A block that is not understood is read again."""
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


def dump_blocks(blocks: Mapping[int, Block]) -> dict[str, list[Any]]:
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
