"""The source ``git``: a repository's history as observations, one a commit.

Every local branch and HEAD are read through the ``git`` command (``history``), each oldest
first and streamed, so that memory stays flat on any history; ``commits`` says what of a commit is
worth keeping. Only messages, author names and the names of changed files are taken: no e-mail
addresses, no contents. Commits that a rewrite dropped stay stored, because somebody once saw
them. Which project a directory belongs to is decided in ``mem_search.projects``.

Git does not keep which branch a commit was made on. A record says on which it was first read,
the main one before the others, and keeps saying so after a merge. Nor does git know of other
clones: a commit stays with the one it was first read in for as long as that is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.projects import identify, repository
from mem_search.sources.git.commits import Commit, draft_of
from mem_search.sources.git.history import History

BATCH: Final = 200


class Git:
    """Reads one repository per location; ``path`` is its main worktree or bare directory.

    ``source_id`` is the commit's hash: every clone of a repository gives the same records. The
    cursor holds ``tips``, the commits whose whole history was read.
    """

    name = "git"
    follows = True

    def discover(self, machine: Machine) -> Iterable[Location]:
        """The repository that the current directory is in, if any."""
        project = repository(machine.cwd)
        if project is not None:
            yield Location(self.name, project.root, project.name)

    def locate(self, path: str) -> Location:
        """The repository around ``path``: a worktree or a folder in it is no place of its own."""
        project = repository(path)
        return Location(
            self.name, project.root if project else path, project.name if project else ""
        )

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """New commits of the local branches and HEAD, parents before children.

        Nothing new yields nothing. Raises SourceError when git is missing or refuses, when
        there is no repository, and for a shallow clone, whose commits would get another
        identity once it is completed.
        """
        history = History(location.path)
        branches = history.branches()
        heads = {head for _, head in branches}
        tips = [tip for tip in cursor.get("tips", ()) if isinstance(tip, str)]
        if not history.has(tips):
            tips = []  # rewritten and pruned: read it all again, source ids make that harmless
        if not heads or heads == set(tips):
            return
        total = history.count(heads, tips)
        project = identify(location.path).name
        span = _span(heads, tips)
        outdated = (str(cursor["failed"]),) if cursor.get("failed") else ()

        # Parents come before children, so what was seen is always "everything below the
        # frontier": exact to resume from after any batch.
        frontier = set(tips)
        drafts: list[Draft] = []
        taken = left = done = 0
        try:
            for branch, commit in _each(history, branches, tips):
                done += 1
                frontier.difference_update(commit.parents)
                frontier.add(commit.sha)
                draft = draft_of(commit, project=project, branch=branch)
                if draft is None:
                    left += 1
                    continue
                taken += 1
                drafts.append(draft)
                if len(drafts) == BATCH:
                    state = {**cursor, "tips": sorted(frontier)}
                    yield Batch(tuple(drafts), cursor=state, done=done, total=total, shared=True)
                    drafts = []
        except SourceError as error:
            torn = (LedgerEntry(span, "failed", error.message, taken),)
            state = {"tips": sorted(frontier), "failed": span}
            yield Batch(tuple(drafts), (), torn, state, done, total, outdated, shared=True)
            raise
        state = {"tips": sorted(heads)}
        told = _ledger(span, taken, left)
        yield Batch(tuple(drafts), (), told, state, done, total, outdated, shared=True)


def _each(
    history: History, branches: Iterable[tuple[str, str]], tips: Iterable[str]
) -> Iterator[tuple[str, Commit]]:
    """Each commit that is not in ``tips`` once, with the first branch that it is on."""
    below = set(tips)
    for branch, head in branches:
        if head not in below:
            with history.commits([head], below) as commits:
                for commit in commits:
                    yield branch, commit
            below.add(head)


def _ledger(span: str, taken: int, left: int) -> tuple[LedgerEntry, ...]:
    entries = []
    if taken:
        entries.append(LedgerEntry(span, "taken", records=taken))
    if left:
        reason = f"{left} merges or empty commits that say nothing of their own"
        entries.append(LedgerEntry(f"{span} without words", "left", reason))
    return tuple(entries)


def _span(heads: Iterable[str], tips: Iterable[str]) -> str:
    """What one read covers, as people write it: ``old..new``, ``+2`` for two more commits."""

    def short(commits: Iterable[str]) -> str:
        first, *others = sorted(commits) or [""]
        return first[:10] + (f"+{len(others)}" if others else "")

    return f"{short(tips)}..{short(heads)}"
