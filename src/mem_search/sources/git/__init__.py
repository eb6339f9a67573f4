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
from typing import Any

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Batch, LedgerEntry, Location
from mem_search.projects import identify, repository
from mem_search.sources.base import BaseSource, BatchBuilder
from mem_search.sources.git.commits import Commit, draft_of
from mem_search.sources.git.history import History


class Git(BaseSource):
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
        found = BatchBuilder(total=history.count(heads, tips), shared=True)
        project = identify(location.path).name
        span = _span(heads, tips)

        # Parents come before children, so what was seen is always "everything below the
        # frontier": exact to resume from after any batch.
        frontier = set(tips)
        done = left = 0
        try:
            for done, (branch, commit) in enumerate(_each(history, branches, tips), 1):
                frontier.difference_update(commit.parents)
                frontier.add(commit.sha)
                draft = draft_of(commit, project=project, branch=branch)
                if draft is None:
                    left += 1
                    continue
                found.take(draft)
                if found.is_full:
                    yield found.build({**cursor, "tips": sorted(frontier)}, done)
        except SourceError as error:
            _mend(found, cursor)
            found.note(LedgerEntry(span, "failed", error.message, found.taken))
            yield found.build({"tips": sorted(frontier), "failed": span}, done)
            raise
        _mend(found, cursor)
        if found.taken:
            found.note(LedgerEntry(span, "taken", records=found.taken))
        if left:
            found.leave(
                f"{span} without words",
                f"{left} merges or empty commits that say nothing of their own",
            )
        yield found.build({"tips": sorted(heads)}, done)


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


def _mend(found: BatchBuilder, cursor: Mapping[str, Any]) -> None:
    """An earlier failure no longer holds: the history that broke off was read again."""
    if failed := cursor.get("failed"):
        found.outdate(str(failed))


def _span(heads: Iterable[str], tips: Iterable[str]) -> str:
    """What one read covers, as people write it: ``old..new``, ``+2`` for two more commits."""

    def short(commits: Iterable[str]) -> str:
        first, *others = sorted(commits) or [""]
        return first[:10] + (f"+{len(others)}" if others else "")

    return f"{short(tips)}..{short(heads)}"
