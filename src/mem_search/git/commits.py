"""Commits, as ``git log`` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

FORMAT: Final = "tformat:%x00%H%x00%P%x00%at%x00%aN%x00%s%x00%b%x00"

FILES_KEPT: Final = 500
"""A commit of thousands of files (a vendored tree) is about none of them."""

MAX_FILES: Final = 2_000_000
"""Names of one commit that are counted; the first commit of the largest known trees has 500,000.
A tree that contains itself many times over, on each of ten levels, has more than ever end."""


class TooManyFiles(Exception):
    """A commit changes more files than are counted; the message names it."""


@dataclass(slots=True)
class Commit:
    """One commit from ``git log``; ``authored_at`` is in milliseconds.

    ``files`` has at most ``FILES_KEPT`` names; ``file_count`` is the number of all.
    """

    sha: str
    parents: list[str]
    authored_at: int | None
    author: str
    subject: str
    body: str
    files: list[str] = field(default_factory=list)
    file_count: int = 0


def parse(tokens: Iterator[str]) -> Iterator[Commit]:
    """Commits from the tokens of ``git log -z --name-only`` in ``FORMAT``.

    A commit is an empty token, six fields, an empty token, and the names of its files up to the
    empty token that begins the next commit. The first name begins with a newline. Raises
    TooManyFiles.
    """
    opening = next(tokens, None)
    while opening is not None:
        sha, parents, seconds, author, subject, body, _end = islice(tokens, 7)
        moment = int(seconds) * 1000 if seconds.removeprefix("-").isdecimal() else None
        commit = Commit(sha, parents.split(), moment, author, subject, body)
        opening = None
        for name in tokens:
            if not name:
                opening = name
                break
            if commit.file_count < FILES_KEPT:
                commit.files.append(name if commit.files else name.removeprefix("\n"))
            commit.file_count += 1
            if commit.file_count > MAX_FILES:
                raise TooManyFiles(f"commit {sha} changes more than {MAX_FILES:,} files")
        yield commit
