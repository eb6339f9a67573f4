"""Commits, as ``git log`` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from mem_search.patterns import pattern

FORMAT: Final = "tformat:%x00%H%x00%P%x00%at%x00%aN%x00%ae%n%aE%x00%s%x00%b%x00"

_COUNTED: Final = pattern(r"(\d{1,10}|-)\t(\d{1,10}|-)\t")

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

    ``files`` has at most ``FILES_KEPT`` names; ``file_count`` is the number of all. ``insertions``
    and ``deletions`` are lines of all files; None where they were not counted. ``emails`` are the
    author's addresses, as the commit and the mailmap have them; they are compared and not stored.
    """

    sha: str
    parents: list[str]
    authored_at: int | None
    author: str
    subject: str
    body: str
    files: list[str] = field(default_factory=list)
    file_count: int = 0
    insertions: int | None = None
    deletions: int | None = None
    emails: tuple[str, ...] = ()
    is_own: bool = False
    """Whether the person whose settings git reads wrote it, as far as its address says."""


def parse(tokens: Iterator[str], *, counted: bool) -> Iterator[Commit]:
    """Commits from the tokens of ``git log -z`` in ``FORMAT``, with ``--name-only``, or where lines
    are ``counted`` with ``--numstat``.

    A commit is an empty token, seven fields, an empty token, and its files up to the empty token
    that begins the next commit: their names, with ``--numstat`` behind the numbers of lines that
    were added and deleted, and tabs. The first begins with a newline. Raises TooManyFiles.
    """
    opening = next(tokens, None)
    while opening is not None:
        sha, parents, seconds, author, emails, subject, body, _end = islice(tokens, 8)
        moment = int(seconds) * 1000 if seconds.removeprefix("-").isdecimal() else None
        commit = Commit(sha, parents.split(), moment, author, subject, body)
        commit.emails = tuple(emails.lower().split("\n"))
        opening = None
        for name in tokens:
            if not name:
                opening = name
                break
            if not commit.file_count:
                name = name.removeprefix("\n")
            if counted and (lines := _COUNTED.match(name)):
                name = name[lines.end() :]
                # Of a file that is no text git counts no lines and writes a dash.
                added, deleted = (0 if each == "-" else int(each) for each in lines.groups())
                commit.insertions = (commit.insertions or 0) + added
                commit.deletions = (commit.deletions or 0) + deleted
            if commit.file_count < FILES_KEPT:
                commit.files.append(name)
            commit.file_count += 1
            if commit.file_count > MAX_FILES:
                raise TooManyFiles(f"commit {sha} changes more than {MAX_FILES:,} files")
        yield commit
