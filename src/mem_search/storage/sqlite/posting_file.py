"""Posting lists in a file that is mapped: for each word the passages that have it, and how often.

The file is derived from the full-text index, beside the database, and readable by its owner only.
It has the hashes of words and not the words; the key of the hashes is in the database, and so is
the token of the file that belongs to it: a file of another time or another store is not used. Of
64 bits each, a million words collide once in forty million stores.

Rows come first, then words, where the rows of each begin, the lengths of passages, and a checksum
of each block of ``BLOCK`` bytes. A reader keeps its mapping while a new file takes the place.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mem_search.platform.memory import let_go
from mem_search.regular_file import open_regular_file, replacing

ROW: Final = np.dtype([("passage", "<u4"), ("count", "<u2")])
"""How often a passage has a word, weighted (``bm25.WEIGHTS``); one of 400 word pieces never fills
two bytes by half."""

META_KEY: Final = "posting_lists"
"""In ``meta``: the token of the file, and the key of its hashes, in hexadecimal."""

BLOCK: Final = 1 << 16
"""Bytes of one checksum: looked at once, in some tens of microseconds."""

MAX_COUNT: Final = np.iinfo(np.uint16).max
"""The largest count that a row holds."""

_PIECE: Final = 1 << 19
"""Rows that are merged at once: some tens of MB, and as many milliseconds."""

_HEAD: Final = struct.Struct("<8s16sqqqqII")
_MAGIC: Final = b"mswords1"

Rows = NDArray[Any]
Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]
Piece = tuple[Hashes, Places, Rows]
"""Some words, how many rows each of them has, and the rows, word by word."""


class ListsDamaged(Exception):
    """The file is not what was written, or not the one of this store."""


def hashed(term: str, key: bytes) -> int:
    """The number that stands for a word."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8, key=key).digest(), "little")


@dataclass(frozen=True, slots=True)
class _Sums:
    """The checksums of the blocks of a file, and which of these have been looked at."""

    content: mmap.mmap
    sums: NDArray[np.uint32]
    end: int
    whole: NDArray[np.bool_]

    def check(self, start: int, end: int) -> None:
        """Raises ListsDamaged unless the bytes from ``start`` to ``end`` are what was written."""
        first, last = start // BLOCK, -(-end // BLOCK)
        for place in (np.flatnonzero(~self.whole[first:last]) + first).tolist():
            block = memoryview(self.content)[place * BLOCK : min((place + 1) * BLOCK, self.end)]
            if zlib.crc32(block[_HEAD.size if place == 0 else 0 :]) != self.sums[place]:
                raise ListsDamaged(f"block {place} was changed")
            self.whole[place] = True


@dataclass(frozen=True, slots=True)
class Segment:
    """Posting lists: those of ``words[i]`` are ``rows[starts[i]:ends[i]]``, by passage number.

    ``words`` are in order. Rows of a file are checked when they are first read.
    """

    words: Hashes
    starts: Places
    ends: Places
    rows: Rows
    sums: _Sums | None = field(default=None, repr=False)

    def of(self, word: int) -> Rows:
        """The rows of a word, none where no passage has it. Raises ListsDamaged."""
        place = int(np.searchsorted(self.words, np.uint64(word)))
        if place == len(self.words) or self.words[place] != word:
            return self.rows[:0]
        return self._read(int(self.starts[place]), int(self.ends[place]))

    def _read(self, start: int, end: int) -> Rows:
        if self.sums is not None:
            offset = _HEAD.size
            self.sums.check(offset + start * ROW.itemsize, offset + end * ROW.itemsize)
        return self.rows[start:end]

    def release_pages(self) -> None:
        """Let the system have the pages of a file that were read."""
        if self.sums is not None:
            let_go(self.sums.content)

    def among(self, first: np.uint64, last: np.uint64) -> Piece:
        """The lists of the words from ``first`` to ``last``. Raises ListsDamaged."""
        low = np.searchsorted(self.words, first)
        high = np.searchsorted(self.words, last, side="right")
        starts = self.starts[low:high]
        sizes = self.ends[low:high] - starts
        before = np.cumsum(sizes) - sizes
        places = np.repeat(starts - before, sizes) + np.arange(sizes.sum())
        if len(places):
            self._read(int(places.min()), int(places.max()) + 1)
        return self.words[low:high], sizes, self.rows[places]


def segment(pieces: Iterable[Piece], rows: Rows | None = None) -> Segment:
    """The lists of ``pieces``, whose words come in any order; their rows may lie in ``rows``."""
    words, sizes, held = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)], [np.zeros(0, ROW)]
    for some, their, of in pieces:
        words.append(some)
        sizes.append(their)
        if rows is None:
            held.append(of)
    ends = np.cumsum(np.concatenate(sizes))
    starts = ends - np.concatenate(sizes)
    every = np.concatenate(words)
    order = np.argsort(every)
    return Segment(
        every[order], starts[order], ends[order], np.concatenate(held) if rows is None else rows
    )


def merged(segments: Sequence[tuple[int, Segment]], home: NDArray[np.int8]) -> Iterator[Piece]:
    """The lists of numbered segments as one, in the order of words, without what is not at home.

    ``home`` has for each passage the number of the segment that has its words. Raises ListsDamaged.
    """
    words = np.unique(np.concatenate([each.words for _, each in segments]))
    sizes = np.zeros(len(words), np.int64)
    for _, each in segments:
        sizes[np.searchsorted(words, each.words)] += each.ends - each.starts
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, np.arange(_PIECE, ends[-1] if len(ends) else 0, _PIECE))
    for low, high in pairwise(np.unique([0, *cuts, len(words)]).tolist()):
        at_home, of = [], []
        for number, each in segments:
            some, their, rows = each.among(words[low], words[high - 1])
            kept = home[rows["passage"]] == number
            at_home.append(rows[kept])
            of.append(np.repeat(np.searchsorted(words, some) - low, their)[kept])
        rows, owners = np.concatenate(at_home), np.concatenate(of)
        if len(segments) > 1:
            order = np.lexsort((rows["passage"], owners))
            rows, owners = rows[order], owners[order]
        counts = np.bincount(owners, minlength=high - low)
        yield words[low:high][counts > 0], counts[counts > 0], rows


def write(
    file: Path, token: bytes, revision: int, pieces: Iterable[Piece], lengths: NDArray[np.int32]
) -> None:
    """Write lists, whose words are in order, in the place of ``file``. Raises OSError."""
    words, sizes, count = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)], 0
    with replacing(file, survives_power_cut=False) as opened:
        opened.write(bytes(_HEAD.size))
        for some, their, rows in pieces:
            words.append(some)
            sizes.append(their)
            opened.write(rows.tobytes())
            count += len(rows)
        opened.write(bytes(-opened.tell() % 8))
        every, ends = np.concatenate(words), np.cumsum(np.concatenate(sizes))
        for column in (every, np.concatenate([[0], ends]).astype("<i8"), lengths):
            opened.write(column.tobytes())
        opened.flush()
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as body:
            starts = range(0, len(body), BLOCK)
            blocks = (body[start or _HEAD.size : start + BLOCK] for start in starts)
            sums = np.array([zlib.crc32(block) for block in blocks], "<u4").tobytes()
        opened.write(sums)
        opened.seek(0)
        head = (_MAGIC, token, revision, len(every), count, len(lengths), zlib.crc32(sums))
        opened.write(_HEAD.pack(*head, zlib.crc32(repr(head).encode())))


def opened(file: Path, token: bytes) -> tuple[Segment, NDArray[np.int32], int]:
    """The lists of ``file``, the lengths of passages in words, and the revision of both.

    Raises ListsDamaged; FileNotFoundError where there is none, or another OSError.
    """
    with open_regular_file(file, follow=False, own=True) as source:
        try:
            content = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
            *head, crc = _HEAD.unpack_from(content)
        except (ValueError, struct.error) as error:
            raise ListsDamaged("it is cut") from error
    magic, ours, revision, words, rows, passages, of_sums = head
    if magic != _MAGIC or ours != token or crc != zlib.crc32(repr(tuple(head)).encode()):
        raise ListsDamaged("it is of another store, or of another time")
    first = _HEAD.size + rows * ROW.itemsize
    first += -first % 8
    end = first + 16 * words + 8 + 4 * passages
    blocks = -(-end // BLOCK)
    if len(content) != end + 4 * blocks or zlib.crc32(content[end:]) != of_sums:
        raise ListsDamaged("it is cut, or its checksums are changed")
    sums = np.frombuffer(content, "<u4", blocks, end)
    checked = _Sums(content, sums, end, np.zeros(len(sums), np.bool_))
    checked.check(first, end)
    starts = np.frombuffer(content, "<i8", words + 1, first + 8 * words)
    lists = Segment(
        np.frombuffer(content, "<u8", words, first),
        starts[:-1],
        starts[1:],
        np.frombuffer(content, ROW, rows, _HEAD.size),
        checked,
    )
    return lists, np.frombuffer(content, "<i4", passages, first + 16 * words + 8), revision
